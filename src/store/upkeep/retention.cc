// Retention: whole buckets go, from every table, as soon as their last nanosecond is too old.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {

Result<> StoreImpl::DropOldBuckets(std::int64_t now_ns) {
  MutexLock insert(insert_mutex_);
  struct Row {
    std::string table;
    std::string_view partition;
  };
  constexpr auto kColumns =
      Columns<Row>(Col("table", &Row::table), Col("partition", &Row::partition));
  std::vector<std::pair<std::string, std::uint32_t>> found;  // table, bucket
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      *transport_, kColumns,
      "FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table, partition",
      [&](Row&& row) {
        if (const auto bucket = ParseUint(row.partition))
          found.emplace_back(std::move(row.table), static_cast<std::uint32_t>(*bucket));
      }));
  const std::set<std::uint32_t> expired = Expired(found, now_ns);
  const auto drop = [&](const TableDef& table) REQUIRES(insert_mutex_) -> Result<> {
    for (const auto& [name, bucket] : found) {
      if (name != PhysicalName(table.id) || !expired.contains(bucket)) continue;
      // Before the drop: what is gone but still counted would be reported as lost.
      ledger_.Set({table.id, bucket}, 0);
      WHEREFORE_RETURN_IF_ERROR(ledger_.Save());
      WHEREFORE_RETURN_IF_ERROR(
          transport_->Execute(fmt::format("ALTER TABLE {} DROP PARTITION {}", name, bucket)));
      generation_.fetch_add(1);
      Log(LogLevel::kInfo, "dropped old data", {{"table", table.name}, {"bucket", bucket}});
    }
    return {};
  };
  // Names last, so that whatever is still there can be read.
  for (const TableDef& table : Tables()) {
    if (!table.is_dictionary) WHEREFORE_RETURN_IF_ERROR(drop(table));
  }
  for (const TableDef& table : Tables()) {
    if (table.is_dictionary) WHEREFORE_RETURN_IF_ERROR(drop(table));
  }
  MutexLock lock(state_mutex_);
  if (!expired.empty()) retention_confirmed_ = false;
  return {};
}

// A clock that is wrong at one start must not cost everything. Age is measured from the newest
// data, and where most of it would go at once, somebody is asked first.
std::set<std::uint32_t> StoreImpl::Expired(
    const std::vector<std::pair<std::string, std::uint32_t>>& found, std::int64_t now_ns) {
  constexpr std::size_t kUsual = 2;
  std::set<std::uint32_t> all;
  std::int64_t newest_ns = 0;
  for (const auto& [table, bucket] : found) {
    all.insert(bucket);
    // Not data that anybody sent: they are written by this machine's clock, right or wrong.
    if (table == PhysicalName(Table::kAlertEvents)) continue;
    newest_ns = std::max(newest_ns, std::min(SpanOf(bucket).to_ns, now_ns));
  }
  const auto older = [&](std::int64_t than_ns) {
    std::set<std::uint32_t> old;
    for (const std::uint32_t bucket : all) {
      if (SpanOf(bucket).to_ns <= than_ns - options_.retention_ns) old.insert(bucket);
    }
    return old;
  };
  std::set<std::uint32_t> by_clock = older(now_ns);
  std::set<std::uint32_t> by_data = older(newest_ns);
  MutexLock lock(state_mutex_);
  const std::string before = std::exchange(retention_held_, "");
  if (retention_confirmed_) return by_clock;
  if (by_data.size() > kUsual && by_data.size() * 2 > all.size()) {
    retention_held_ =
        fmt::format("{} of {} days or months would go at once", by_data.size(), all.size());
    by_data.clear();
  } else if (by_data.size() < by_clock.size()) {
    retention_held_ = fmt::format("the newest data is from {}, and this machine's clock says {}",
                                  FormatTime(newest_ns), FormatTime(now_ns));
  }
  if (!retention_held_.empty() && before.empty()) {
    Log(LogLevel::kWarn, "old data is kept although it is older than the retention",
        {{"why", retention_held_}});
  }
  return by_data;
}

}  // namespace wherefore::store
