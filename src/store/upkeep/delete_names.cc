// Delete, part 2: names nobody uses any more, and getting the bytes off the disk.
//
// Ids are dense, so a name that goes leaves a blank row with its id behind; once a dictionary has
// no profiles at all, its rows go. Only dictionaries that nobody writes to any more are looked at:
// if one that was touched is still written to, the store goes on under the next writer number
// first, and what the log holds under the old one is inserted. So no name is ever found by the hash
// of a row that was blanked, no cache can mistake a new name for an old one, and nothing that comes
// in meanwhile uses a name that is about to go.
//
// The file `deleting` lists the dictionaries from before the first row goes until the last byte is
// off the disk. Every step looks at what is there instead of remembering what it did, so repeating
// all of them after a crash at any moment, in the background of the next start, finishes the work.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

constexpr std::int64_t kPartPatience = 10 * kNsPerSecond;

using Keys = std::set<DictionaryKey>;

// Of one bucket: a name by its dictionary and its id.
std::string IdOf(std::string_view id) {
  return fmt::format("tenant, service, writer, {}", id);
}

// SELECT of ids that rows of these dictionaries hold in a column, for IN.
std::string Ids(std::string_view column, Table table, const Keys& keys) {
  return fmt::format("SELECT {} FROM {} WHERE {}", IdOf(column), PhysicalName(table), InKeys(keys));
}

std::string UsedByMeasurements(std::string_view column, const Keys& keys) {
  return fmt::format("{} UNION ALL {} UNION ALL {}", Ids(column, Table::kSamples, keys),
                     Ids(column, Table::kLinks, keys), Ids(column, Table::kDetails, keys));
}

// Names that nothing uses, and what becomes of their rows.
struct Unused {
  Table table;
  std::string_view id;
  std::string change;
  std::string_view is_named;  // false for rows that are blank already
  std::string used;           // SELECT of the ids that stay
};

// In this order: a blank stack uses no frame, a blank frame no function.
std::vector<std::vector<Unused>> UnusedNames(const Keys& keys) {
  const std::string used_series = UsedByMeasurements("series", keys);
  return {
      {{Table::kTypes, "type", "DELETE", "1",
        fmt::format("{} UNION ALL {} UNION ALL {}", Ids("type", Table::kProfiles, keys),
                    Ids("type", Table::kSamples, keys), Ids("type", Table::kStackHours, keys))},
       {Table::kStacks, "stack", "UPDATE frames = emptyArrayUInt32()", "notEmpty(frames)",
        fmt::format("{} UNION ALL {}", UsedByMeasurements("stack", keys),
                    Ids("stack", Table::kStackHours, keys))},
       {Table::kSeries, "series",
        "UPDATE parent = 0, names = emptyArrayString(), `values` = emptyArrayString(), encoded = "
        "''",
        "(parent != 0 OR notEmpty(names) OR notEmpty(encoded))",
        fmt::format("{} UNION ALL {} UNION ALL {} AND ({}) IN ({})",
                    Ids("series", Table::kProfiles, keys), used_series,
                    Ids("parent", Table::kSeries, keys), IdOf("series"), used_series)}},
      {{Table::kFrames, "frame",
        "UPDATE mapping = 0, address = 0, functions = emptyArrayUInt32(), lines = "
        "emptyArrayUInt32(), columns = emptyArrayUInt32(), attributes = ''",
        "(mapping != 0 OR address != 0 OR notEmpty(functions) OR notEmpty(attributes))",
        Ids("arrayJoin(frames)", Table::kStacks, keys)}},
      {{Table::kFunctions, "function",
        "UPDATE name = '', system_name = '', file = '', start_line = 0",
        "(notEmpty(name) OR notEmpty(system_name) OR notEmpty(file) OR start_line != 0)",
        Ids("arrayJoin(functions)", Table::kFrames, keys)},
       {Table::kMappings, "mapping",
        "UPDATE start = 0, `limit` = 0, file_offset = 0, file = '', build_id = '', attributes = ''",
        "(start != 0 OR `limit` != 0 OR notEmpty(file) OR notEmpty(build_id) OR "
        "notEmpty(attributes))",
        Ids("mapping", Table::kFrames, keys)}},
  };
}

std::map<std::uint32_t, Keys> ByBucketOf(const Keys& keys) {
  std::map<std::uint32_t, Keys> buckets;
  for (const DictionaryKey& key : keys) buckets[key.bucket].insert(key);
  return buckets;
}

}  // namespace

Result<> StoreImpl::WriteDeleteJournal(const std::set<DictionaryKey>& dictionaries) {
  std::string text;
  for (const DictionaryKey& key : dictionaries) {
    text += fmt::format("{} {} {} {}\n", key.tenant, key.service, key.bucket, key.writer);
  }
  return journal::ReplaceFile(paths_.deleting, text);
}

Result<std::set<DictionaryKey>> StoreImpl::ReadDeleteJournal() const {
  std::set<DictionaryKey> dictionaries;
  if (!std::filesystem::exists(paths_.deleting)) return dictionaries;
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, journal::ReadWholeFile(paths_.deleting));
  std::istringstream lines(text);
  for (DictionaryKey key; lines >> key.tenant >> key.service >> key.bucket >> key.writer;) {
    dictionaries.insert(key);
  }
  return dictionaries;
}

Result<> StoreImpl::FinishDelete(const std::set<DictionaryKey>& dictionaries) {
  // Mutations that were asked for before a restart may still run; names are counted after them.
  WHEREFORE_RETURN_IF_ERROR(WaitForMutations(*transport_, StillDeleting()));
  if (!dictionaries.empty()) {
    SetDeleteProgress("names", 0);
    WHEREFORE_RETURN_IF_ERROR(DropForgottenHours(dictionaries));
    WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t writer, StopWritingTo(dictionaries));
    Result<> dropped = RecountProfiles(dictionaries);
    if (dropped) dropped = DropUnusedNames(dictionaries, writer);
    generation_.fetch_add(1);  // also after an error: some may be gone
    WHEREFORE_RETURN_IF_ERROR(std::move(dropped));
  }
  SetDeleteProgress("old files", 0);
  WHEREFORE_RETURN_IF_ERROR(PurgeOldParts());
  {
    // While the journal exists, the ledger takes what its buckets hold now as correct.
    MutexLock insert(insert_mutex_);
    WHEREFORE_RETURN_IF_ERROR(CompareWithLedger());
    WHEREFORE_RETURN_IF_ERROR(ledger_.Save());
  }
  std::error_code error;
  std::filesystem::remove(paths_.deleting, error);
  if (error) return journal::ErrnoError(error.value(), "cannot remove", paths_.deleting);
  return journal::SyncDirectory(paths_.root);
}

Result<> StoreImpl::FinishInterruptedDelete() {
  MutexLock upkeep(upkeep_mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const std::set<DictionaryKey> dictionaries, ReadDeleteJournal());
  if (dictionaries.empty()) return {};
  Log(LogLevel::kInfo, "finishing a delete that was interrupted",
      {{"dictionaries", dictionaries.size()}});
  Result<> finished = FinishDelete(dictionaries);
  SetDeleteProgress("", 0);
  return finished;
}

Result<std::uint32_t> StoreImpl::StopWritingTo(const std::set<DictionaryKey>& dictionaries) {
  std::uint32_t writer = 0;
  {
    MutexLock intern(intern_mutex_);
    const std::uint32_t current = dictionaries_->writer();
    const bool written_to = std::ranges::any_of(
        dictionaries, [&](const DictionaryKey& key) { return key.writer >= current; });
    if (written_to) {
      WHEREFORE_RETURN_IF_ERROR(LogCarriedRows());
      WHEREFORE_RETURN_IF_ERROR(RetireWriter());
    }
    writer = dictionaries_->writer();
  }
  WHEREFORE_RETURN_IF_ERROR(Flush());
  return writer;
}

Result<> StoreImpl::Queue(Mutation mutation) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::uint64_t rows,
      CountRows(fmt::format("SELECT count() FROM {} WHERE bucket = {} AND ({})",
                            PhysicalName(mutation.table), mutation.bucket, mutation.where)));
  if (rows > 0) pending_.push_back(std::move(mutation));
  return {};
}

Result<> StoreImpl::DropUnusedNames(const std::set<DictionaryKey>& keys, std::uint32_t writer) {
  std::set<DictionaryKey> used;
  for (const Table table : {Table::kProfiles, Table::kSamples, Table::kStackHours}) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto found, ByDictionary("count()", table, InKeys(keys)));
    for (const auto& [key, rows] : found) used.insert(key);
  }
  std::set<DictionaryKey> empty;
  std::ranges::set_difference(keys, used, std::inserter(empty, empty.end()));
  for (const auto& [bucket, all] : ByBucketOf(keys)) {
    WHEREFORE_RETURN_IF_ERROR(DropSpanServices(bucket, all, writer));
  }
  for (const auto& [bucket, some] : ByBucketOf(empty)) {
    for (const TableDef& table : Tables()) {
      if (!table.is_dictionary) continue;
      std::string where = InKeys(some);
      if (table.id == Table::kServices) where += " AND signal = 1";
      WHEREFORE_RETURN_IF_ERROR(Queue({table.id, "DELETE", bucket, std::move(where)}));
    }
  }
  WHEREFORE_RETURN_IF_ERROR(RunPending());
  const std::map<std::uint32_t, Keys> buckets = ByBucketOf(used);
  for (std::size_t round = 0; !buckets.empty(); ++round) {
    bool more = false;
    for (const auto& [bucket, some] : buckets) {
      const auto rounds = UnusedNames(some);
      if (round >= rounds.size()) continue;
      more = true;
      for (const Unused& u : rounds[round]) {
        WHEREFORE_RETURN_IF_ERROR(Queue({u.table, u.change, bucket,
                                         fmt::format("{} AND {} AND ({}) NOT IN ({})", InKeys(some),
                                                     u.is_named, IdOf(u.id), u.used)}));
      }
    }
    if (!more) break;
    WHEREFORE_RETURN_IF_ERROR(RunPending());
  }
  return {};
}

// A service is named for its spans once by every writer. Those of the current one stay: its spans
// may be on their way.
Result<> StoreImpl::DropSpanServices(std::uint32_t bucket, const std::set<DictionaryKey>& keys,
                                     std::uint32_t writer) {
  std::set<std::string> services;
  for (const DictionaryKey& k : keys) services.insert(fmt::format("({},{})", k.tenant, k.service));
  const std::string theirs =
      fmt::format("bucket = {} AND (tenant, service) IN ({}) AND writer < {}", bucket,
                  fmt::join(services, ","), writer);
  return Queue({Table::kServices, "DELETE", bucket,
                fmt::format("{0} AND signal = 2 AND (tenant, service) NOT IN (SELECT tenant, "
                            "service FROM {1} WHERE {0})",
                            theirs, PhysicalName(Table::kSpans))});
}

// The engine keeps the parts it rewrote for eight minutes, against a crash before the new ones are
// on disk. Here they are synced, and then the old ones must not stay.
Result<> StoreImpl::PurgeOldParts() {
  WHEREFORE_RETURN_IF_ERROR(journal::SyncFileSystem(paths_.root));
  // What a failed write left is mended with the old parts, so before they go.
  WHEREFORE_RETURN_IF_ERROR(transport_->Mend());
  if (transport_->version() < kHasInsertTokens) return {};
  const std::int64_t begin = NowUnixNs() / kNsPerSecond;
  const std::int64_t deadline = MonotonicNs() + kPartPatience;  // for all
  for (const TableDef& table : Tables()) {
    const std::string name = PhysicalName(table.id);
    const auto old_parts = [&] {
      // Only those of before: merges of what comes in make new ones all the time.
      return CountRows(
          fmt::format("SELECT count() FROM system.parts WHERE NOT active AND database "
                      "= currentDatabase() AND table = '{}' AND toUnixTimestamp(remove_time) <= {}",
                      name, begin));
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
