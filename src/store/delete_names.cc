// Delete, part 2: names nobody uses any more, and getting the bytes off the disk.
//
// Ids are dense, so a name that goes leaves a blank row with its id behind; once a dictionary has
// no profiles at all, its rows go. Whatever is removed from a dictionary this store still writes
// to, the store goes on under the next writer number first: no name is ever found by the hash of a
// row that was blanked, and no cache can mistake a new name for an old one.
//
// The file `deleting` lists the dictionaries from before the first row goes until the last byte is
// off the disk. Every step looks at what is there instead of remembering what it did, so repeating
// all of them after a crash at any moment, here or at start, finishes the work.
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/query_rows.h"
#include "store/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

constexpr std::int64_t kMutationPatience = 600 * kNsPerSecond;
constexpr std::int64_t kPartPatience = 10 * kNsPerSecond;

std::string ServiceCondition(const DictionaryKey& key) {
  return fmt::format("tenant = {} AND service = {} AND bucket = {}", key.tenant, key.service,
                     key.bucket);
}

// SELECT of one column of a dictionary's rows, for IN.
std::string Ids(std::string_view column, Table table, const DictionaryKey& key) {
  return fmt::format("SELECT {} FROM {} WHERE {}", column, PhysicalName(table), KeyCondition(key));
}

std::string UsedByMeasurements(std::string_view column, const DictionaryKey& key) {
  return fmt::format("{} UNION ALL {} UNION ALL {}", Ids(column, Table::kSamples, key),
                     Ids(column, Table::kLinks, key), Ids(column, Table::kDetails, key));
}

struct Blanking {
  Table table;
  std::string_view id;
  std::string_view blank;     // SET clause
  std::string_view is_named;  // false for rows that are blank already
  std::string used;           // SELECT of the ids that stay
};

// In this order: a blank stack uses no frame, a blank frame no function.
std::vector<Blanking> Blankings(const DictionaryKey& key) {
  const std::string used_series = UsedByMeasurements("series", key);
  return {
      {Table::kStacks, "stack", "frames = emptyArrayUInt32()", "notEmpty(frames)",
       UsedByMeasurements("stack", key)},
      {Table::kFrames, "frame",
       "mapping = 0, address = 0, functions = emptyArrayUInt32(), lines = emptyArrayUInt32(), "
       "columns = emptyArrayUInt32(), attributes = ''",
       "(mapping != 0 OR address != 0 OR notEmpty(functions) OR notEmpty(attributes))",
       Ids("arrayJoin(frames)", Table::kStacks, key)},
      {Table::kFunctions, "function", "name = '', system_name = '', file = '', start_line = 0",
       "(notEmpty(name) OR notEmpty(system_name) OR notEmpty(file) OR start_line != 0)",
       Ids("arrayJoin(functions)", Table::kFrames, key)},
      {Table::kMappings, "mapping",
       "start = 0, `limit` = 0, file_offset = 0, file = '', build_id = '', attributes = ''",
       "(start != 0 OR `limit` != 0 OR notEmpty(file) OR notEmpty(build_id) OR "
       "notEmpty(attributes))",
       Ids("mapping", Table::kFrames, key)},
      {Table::kSeries, "series",
       "parent = 0, names = emptyArrayString(), `values` = emptyArrayString(), encoded = ''",
       "(parent != 0 OR notEmpty(names) OR notEmpty(encoded))",
       fmt::format("{} UNION ALL {} UNION ALL {} AND series IN ({})",
                   Ids("series", Table::kProfiles, key), used_series,
                   Ids("parent", Table::kSeries, key), used_series)},
  };
}

}  // namespace

Result<> StoreImpl::WriteDeleteJournal(const std::set<DictionaryKey>& dictionaries) {
  std::string text;
  for (const DictionaryKey& key : dictionaries) {
    text += fmt::format("{} {} {} {}\n", key.tenant, key.service, key.bucket, key.writer);
  }
  return ReplaceFile(paths_.deleting, text);
}

Result<std::set<DictionaryKey>> StoreImpl::ReadDeleteJournal() const {
  std::set<DictionaryKey> dictionaries;
  if (!std::filesystem::exists(paths_.deleting)) return dictionaries;
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(paths_.deleting));
  std::istringstream lines(text);
  for (DictionaryKey key; lines >> key.tenant >> key.service >> key.bucket >> key.writer;) {
    dictionaries.insert(key);
  }
  return dictionaries;
}

Result<> StoreImpl::FinishDelete(const std::set<DictionaryKey>& dictionaries) {
  // What an earlier life of this process asked for may still run: names are counted after it.
  WHEREFORE_RETURN_IF_ERROR(WaitForMutations());
  Result<> dropped;
  for (const DictionaryKey& key : dictionaries) {
    if (dropped) dropped = RecountProfiles(key);
    if (dropped) dropped = DropUnusedNames(key);
  }
  generation_.fetch_add(1);  // also after an error: some may be gone
  WHEREFORE_RETURN_IF_ERROR(std::move(dropped));
  WHEREFORE_RETURN_IF_ERROR(PurgeOldParts());
  std::error_code error;
  std::filesystem::remove(paths_.deleting, error);
  if (error) return ErrnoError(error.value(), "cannot remove", paths_.deleting);
  return SyncDirectory(paths_.root);
}

Result<> StoreImpl::FinishInterruptedDelete() {
  WHEREFORE_ASSIGN_OR_RETURN(const std::set<DictionaryKey> dictionaries, ReadDeleteJournal());
  if (dictionaries.empty()) return {};
  Log(LogLevel::kInfo, "finishing a delete that was interrupted",
      {{"dictionaries", dictionaries.size()}});
  return FinishDelete(dictionaries);
}

Result<> StoreImpl::DropUnusedNames(const DictionaryKey& key) {
  const auto count = [&](Table table, const std::string& where) {
    return CountRows(fmt::format("SELECT count() FROM {} WHERE {}", PhysicalName(table), where));
  };
  const auto drop = [&](Table table, const std::string& where) -> Result<> {
    WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t rows, count(table, where));
    if (rows == 0) return {};
    if (key.writer == dictionaries_->writer()) WHEREFORE_RETURN_IF_ERROR(RetireWriter());
    WHEREFORE_RETURN_IF_ERROR(DeleteRows(table, where));
    return {};
  };
  const std::string service = ServiceCondition(key);
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t spans, count(Table::kSpans, service));
  if (spans == 0) {
    WHEREFORE_RETURN_IF_ERROR(drop(Table::kServices, service + " AND signal = 2"));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t profiles,
                             count(Table::kProfiles, KeyCondition(key)));
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t samples,
                             count(Table::kSamples, KeyCondition(key)));
  if (profiles == 0 && samples == 0) {
    for (const TableDef& table : Tables()) {
      if (!table.is_dictionary) continue;
      std::string where = KeyCondition(key);
      if (table.id == Table::kServices) where += " AND signal = 1";
      WHEREFORE_RETURN_IF_ERROR(drop(table.id, where));
    }
    return {};
  }
  WHEREFORE_RETURN_IF_ERROR(
      drop(Table::kTypes,
           fmt::format("{} AND type NOT IN ({} UNION ALL {})", KeyCondition(key),
                       Ids("type", Table::kProfiles, key), Ids("type", Table::kSamples, key))));
  for (const Blanking& b : Blankings(key)) {
    const std::string where =
        fmt::format("{} AND {} AND {} NOT IN ({})", KeyCondition(key), b.is_named, b.id, b.used);
    WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t unused, count(b.table, where));
    if (unused == 0) continue;
    if (key.writer == dictionaries_->writer()) WHEREFORE_RETURN_IF_ERROR(RetireWriter());
    WHEREFORE_RETURN_IF_ERROR(Mutate(
        fmt::format("ALTER TABLE {} UPDATE {} WHERE {}", PhysicalName(b.table), b.blank, where)));
  }
  return {};
}

Result<> StoreImpl::WaitForMutations() {
  const std::int64_t deadline = MonotonicNs() + kMutationPatience;
  while (true) {
    WHEREFORE_ASSIGN_OR_RETURN(
        const std::uint64_t running,
        CountRows("SELECT count() FROM system.mutations WHERE is_done = 0 AND database = "
                  "currentDatabase()"));
    if (running == 0) return {};
    if (MonotonicNs() > deadline) {
      return Error(Code::kUnavailable,
                   fmt::format("{} deletions still run in the engine", running));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// The engine keeps the parts it rewrote for eight minutes, against a crash before the new ones are
// on disk. Here they are synced, and then the old ones must not stay.
Result<> StoreImpl::PurgeOldParts() {
  WHEREFORE_RETURN_IF_ERROR(SyncFileSystem(paths_.root));
  // What a failed write left is mended with the old parts, so before they go.
  WHEREFORE_RETURN_IF_ERROR(transport_->Mend());
  if (transport_->version() < kHasInsertTokens) return {};
  const std::int64_t deadline = MonotonicNs() + kPartPatience;  // for all: senders are waiting
  for (const TableDef& table : Tables()) {
    const std::string name = PhysicalName(table.id);
    const auto old_parts = [&] {
      return CountRows(
          fmt::format("SELECT count() FROM system.parts WHERE NOT active AND database "
                      "= currentDatabase() AND table = '{}'",
                      name));
    };
    WHEREFORE_ASSIGN_OR_RETURN(std::uint64_t left, old_parts());
    if (left == 0) continue;
    WHEREFORE_RETURN_IF_ERROR(transport_->Execute(
        fmt::format("ALTER TABLE {} MODIFY SETTING old_parts_lifetime = 0", name)));
    Result<> purged;
    while (purged && left > 0 && MonotonicNs() < deadline) {
      // Dropping a partition, here one that never exists, makes the engine clear up at once.
      purged = transport_->Execute(fmt::format("ALTER TABLE {} DROP PARTITION 0", name));
      if (auto counted = old_parts()) left = *counted;
      // A query that reads an old part keeps it until it ends.
      if (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    WHEREFORE_RETURN_IF_ERROR(
        transport_->Execute(fmt::format("ALTER TABLE {} RESET SETTING old_parts_lifetime", name)));
    WHEREFORE_RETURN_IF_ERROR(std::move(purged));
    if (left > 0) {
      Log(LogLevel::kWarn, "a running query still reads deleted rows; their files go after it",
          {{"table", table.name}, {"parts", left}});
    }
  }
  return {};
}

}  // namespace wherefore::store
