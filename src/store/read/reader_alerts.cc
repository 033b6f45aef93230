// Reader: events of alerts.
#include <fmt/format.h>

#include "store/engine/schema.h"
#include "store/read/reader.h"

namespace wherefore::store {

Result<std::vector<AlertEvent>> ReaderImpl::AlertEvents(const AlertEventQuery& query,
                                                        const CancelToken& cancel) {
  using Row = AlertEvent;
  std::string where = fmt::format("time >= {} AND time < {}", query.from_ns, query.to_ns);
  // A condition on buckets only where there is a beginning: without one all of them are read.
  if (query.from_ns > 0) where += " AND " + BucketCondition(query.from_ns, query.to_ns);
  if (query.tenant) where += fmt::format(" AND tenant = {}", *query.tenant);
  std::string kinds;
  for (const std::string& kind : query.kinds) kinds += (kinds.empty() ? "" : ", ") + Quote(kind);
  if (!kinds.empty()) where += fmt::format(" AND kind IN ({})", kinds);
  std::string rest = " ORDER BY time DESC, number DESC";
  if (query.latest) rest += " LIMIT 1 BY tenant, kind, fingerprint, id";
  if (query.limit != 0) rest += fmt::format(" LIMIT {}", query.limit);
  return All(
      Columns<Row>(Col("tenant", &Row::tenant), Col("time", &Row::time_ns),
                   Col("number", &Row::number), Col("kind", &Row::kind), Col("state", &Row::state),
                   Col("fingerprint", &Row::fingerprint), Col("starts", &Row::starts_ns),
                   Col("ends", &Row::ends_ns), Col("id", &Row::id), Col("rule_group", &Row::group),
                   Col("alert", &Row::alert), Col("service", &Row::service),
                   Col("value", &Row::value), Col("low", &Row::low), Col("high", &Row::high),
                   Pairs("names", "values", &Row::labels), Col("detail", &Row::detail)),
      fmt::format("FROM {} WHERE {}{}", PhysicalName(Table::kAlertEvents), where, rest), cancel);
}

}  // namespace wherefore::store
