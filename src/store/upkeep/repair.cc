// Repair: what can be brought back of damaged data, and giving up the rest. It says what it would
// do before it does anything.
//
// A part that was set aside may be whole but for a small file about it (checksums, columns, count),
// which the engine makes again from the data if it is missing. So each is tried again, if needed
// without those, and stays only if it passes the engine's check and makes up for rows that
// are missing: what came again from the log must not count twice. Nothing is removed from the disk.
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/text.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

namespace fs = std::filesystem;

struct Detached {
  const TableDef* table = nullptr;
  std::uint32_t bucket = 0;
  std::string name;  // of its folder: the part's name, perhaps with a reason before it
  std::string path;
};

Result<std::vector<Detached>> DetachedParts(Transport& transport) {
  struct Row {
    std::string_view table;
    std::string_view partition;
    std::string name;
    std::string path;
  };
  constexpr auto kColumns =
      Columns<Row>(Col("table", &Row::table), Col("ifNull(partition_id, '')", &Row::partition),
                   Col("name", &Row::name), Col("path", &Row::path));
  std::vector<Detached> parts;
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      transport, kColumns,
      "FROM system.detached_parts WHERE database = currentDatabase() ORDER BY table, name",
      [&](const Row& row) {
        const auto bucket = ParseUint(row.partition);
        for (const TableDef& table : Tables()) {
          if (bucket && PhysicalName(table.id) == row.table)
            parts.push_back({&table, static_cast<std::uint32_t>(*bucket), row.name, row.path});
        }
      }));
  return parts;
}

// "broken-on-start_20261116_3_3_0" -> "20261116_3_3_0"
std::string PartName(const Detached& part) {
  const std::size_t at = part.name.find(std::to_string(part.bucket) + "_");
  return at == std::string::npos ? part.name : part.name.substr(at);
}

}  // namespace

// For a file that is the same in every part of a table.
Result<> StoreImpl::CopyFromAnyPart(const std::string& table, const fs::path& folder,
                                    const std::string& file) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::string from,
      QueryValue<std::string>(*transport_,
                              fmt::format("SELECT path FROM system.parts WHERE active AND database "
                                          "= currentDatabase() AND table = '{}' LIMIT 1",
                                          table)));
  std::error_code error;
  if (!from.empty())
    fs::copy_file(fs::path(from) / file, folder / file, fs::copy_options::overwrite_existing,
                  error);
  if (error) return journal::ErrnoError(error.value(), "cannot copy", (folder / file).string());
  return {};
}

// Tries the part under its plain name, then without the files that the engine can make again; true
// when the engine took it.
Result<bool> StoreImpl::TryToAttach(const std::string& table, const std::string& folder,
                                    const std::string& part, std::uint32_t bucket) {
  const fs::path plain = fs::path(folder).parent_path() / part;
  std::error_code error;
  if (plain != fs::path(folder)) {
    if (fs::exists(plain, error)) return false;
    fs::rename(folder, plain, error);
    if (error) return journal::ErrnoError(error.value(), "cannot rename", folder);
  }
  const auto attach = [&] {
    return transport_->Execute(fmt::format("ALTER TABLE {} ATTACH PART {}", table, Quote(part)))
        .has_value();
  };
  WriteBucketRange(plain, bucket);
  if (attach()) return true;
  WHEREFORE_RETURN_IF_ERROR(CopyFromAnyPart(table, plain, "columns.txt"));
  if (attach()) return true;
  for (const char* made_anew : {"checksums.txt", "count.txt"}) {
    fs::rename(plain / made_anew, plain.string() + "." + made_anew, error);
    if (attach()) return true;
  }
  return false;
}

Result<std::vector<std::string>> StoreImpl::Repair(bool really) {
  MutexLock upkeep(upkeep_mutex_);
  std::vector<std::string> steps;
  {
    MutexLock insert(insert_mutex_);
    WHEREFORE_RETURN_IF_ERROR(CompareWithLedger());
    WHEREFORE_RETURN_IF_ERROR(BringBackParts(really, steps));
    for (const auto& [where, rows] : ledger_.lost()) {
      steps.push_back(
          fmt::format("{} {} rows of {} of bucket {}: answers are no longer marked as incomplete; "
                      "the files that "
                      "could not be read stay in the folder detached of their table",
                      really ? "gave up" : "give up", FormatCount(static_cast<std::int64_t>(rows)),
                      Definition(where.first).name, where.second));
    }
    if (really && !ledger_.lost().empty()) {
      ledger_.ForgetLost();
      WHEREFORE_RETURN_IF_ERROR(ledger_.Save());
      ReportDamage({});
    }
  }
  MutexLock lock(state_mutex_);
  if (!retention_held_.empty()) {
    steps.push_back(fmt::format("{} data older than the retention although {}",
                                really ? "dropping" : "drop", retention_held_));
    retention_confirmed_ |= really;
  }
  if (really) {
    damage_.clear();
    flush_asked_ = true;
    work_changed_.NotifyAll();
  }
  return steps;
}

Result<> StoreImpl::BringBackParts(bool really, std::vector<std::string>& steps) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<Detached> parts, DetachedParts(*transport_));
  for (const Detached& part : parts) {
    const TableBucket where{part.table->id, part.bucket};
    const auto lost = ledger_.lost().find(where);
    if (lost == ledger_.lost().end()) continue;
    if (!really) {
      steps.push_back(
          fmt::format("try to bring back part {} of {}, which was set aside; it stays "
                      "only if it passes the engine's check",
                      PartName(part), part.table->name));
      continue;
    }
    const std::uint64_t before = lost->second;
    const std::string table = PhysicalName(part.table->id);
    WHEREFORE_ASSIGN_OR_RETURN(const bool attached,
                               TryToAttach(table, part.path, PartName(part), part.bucket));
    if (attached) transport_->CheckParts(table);
    WHEREFORE_RETURN_IF_ERROR(CompareWithLedger());
    const auto left = ledger_.lost().find(where);
    const std::uint64_t back = before - (left == ledger_.lost().end() ? 0 : left->second);
    steps.push_back(fmt::format("part {} of {}: {} rows are back", PartName(part), part.table->name,
                                FormatCount(static_cast<std::int64_t>(back))));
    if (back > 0) Log(LogLevel::kInfo, "rows were brought back", {{"what", steps.back()}});
  }
  return {};
}

}  // namespace wherefore::store
