// Reader: events of regressions.
#include <fmt/format.h>

#include "store/engine/schema.h"
#include "store/read/reader.h"

namespace wherefore::store {

Result<std::vector<RegressionEvent>> ReaderImpl::RegressionEvents(const RegressionEventQuery& query,
                                                                  const CancelToken& cancel) {
  using Row = RegressionEvent;
  const std::string where = query.tenant ? fmt::format(" WHERE tenant = {}", *query.tenant) : "";
  std::string rest = " ORDER BY time DESC, number DESC";
  if (query.latest) rest += " LIMIT 1 BY tenant, kind, id";
  return All(
      Columns<Row>(Col("tenant", &Row::tenant), Col("time", &Row::time_ns),
                   Col("number", &Row::number), Col("kind", &Row::kind), Col("event", &Row::event),
                   Col("state", &Row::state), Col("id", &Row::id), Col("service", &Row::service),
                   Col("type", &Row::type), Col("function", &Row::function),
                   Col("module", &Row::module), Col("label", &Row::label),
                   Col("version_before", &Row::version_before), Col("version", &Row::version),
                   Col("since", &Row::since_ns), Col("until", &Row::until_ns),
                   Col("value", &Row::value), Col("low", &Row::low), Col("high", &Row::high),
                   Col("why", &Row::why), Pairs("names", "values", &Row::facts)),
      fmt::format("FROM {}{}{}", PhysicalName(Table::kRegressionEvents), where, rest), cancel);
}

Result<std::vector<std::uint32_t>> ReaderImpl::Tenants(const CancelToken& cancel) {
  struct Row {
    std::uint32_t tenant = 0;
  };
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto rows,
      All(Columns<Row>(Col("tenant", &Row::tenant)),
          fmt::format("FROM {} GROUP BY tenant ORDER BY tenant", PhysicalName(Table::kServices)),
          cancel));
  std::vector<std::uint32_t> tenants;
  for (const Row& row : rows) tenants.push_back(row.tenant);
  return tenants;
}

}  // namespace wherefore::store
