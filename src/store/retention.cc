// Retention: whole buckets go, from every table, as soon as their last nanosecond is too old.
#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "store/query_rows.h"
#include "store/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {

Result<> StoreImpl::DropOldBuckets(std::int64_t now_ns) {
  MutexLock insert(insert_mutex_);
  std::vector<std::pair<std::string, std::uint32_t>> found;  // table, bucket
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      *transport_,
      "SELECT table, partition FROM system.parts WHERE active AND database = currentDatabase() "
      "GROUP BY table, partition",
      2, {}, CancelToken(), [&](const std::vector<NativeColumn>& c, std::size_t row) -> Result<> {
        if (const auto bucket = ParseUint(c[1].Text(row))) {
          found.emplace_back(c[0].Text(row), static_cast<std::uint32_t>(*bucket));
        }
        return {};
      }));
  const auto drop = [&](const TableDef& table) -> Result<> {
    for (const auto& [name, bucket] : found) {
      if (name != PhysicalName(table.id) || SpanOf(bucket).to_ns > now_ns - options_.retention_ns)
        continue;
      // First: what is dropped and still counted would be missed.
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
  return {};
}

}  // namespace wherefore::store
