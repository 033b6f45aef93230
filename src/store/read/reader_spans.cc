// Reader: traces and spans.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "store/engine/ids.h"
#include "store/engine/schema.h"
#include "store/read/reader.h"

namespace wherefore::store {
namespace {

// What every query about spans reads.
constexpr auto kShape = Columns<SpanRow>(
    Col("service", &SpanRow::service), Col("trace", &SpanRow::trace), Col("span", &SpanRow::id),
    Col("parent", &SpanRow::parent), Col("name", &SpanRow::name), Col("kind", &SpanRow::kind),
    Col("status", &SpanRow::status_code), Col("start", &SpanRow::start_ns),
    Col("duration", &SpanRow::duration_ns));

constexpr auto kWhole =
    Columns<SpanRow>(kShape, Col("status_message", &SpanRow::status_message),
                     Pairs("names", "`values`", &SpanRow::attributes),
                     Pairs("resource_names", "resource_values", &SpanRow::resource),
                     Col("encoded", &SpanRow::encoded));

// The name of a row's service; empty: it is lost.
template <typename Row>
auto ServiceName(const std::unordered_map<std::uint64_t, std::string>& names,
                 std::string Row::* field) {
  return Col<std::uint64_t>("service", [&names, field](Row& row, std::uint64_t service) {
    if (const auto found = names.find(service); found != names.end()) row.*field = found->second;
  });
}

}  // namespace

Result<ReaderImpl::NamesByHash> ReaderImpl::ServiceNames(const std::string& where,
                                                         const CancelToken& cancel) {
  using Named = std::pair<std::uint64_t, std::string>;
  NamesByHash names;
  WHEREFORE_RETURN_IF_ERROR(
      Run(Columns<Named>(Col("service", &Named::first), Col("any(name)", &Named::second)),
          fmt::format("FROM {} WHERE {} GROUP BY service", PhysicalName(Table::kServices), where),
          cancel, [&](Named&& named) { names.insert(std::move(named)); }));
  return names;
}

Result<> ReaderImpl::NameServices(std::vector<SpanRow>& rows,
                                  const std::set<std::uint32_t>& buckets, std::uint32_t tenant,
                                  const CancelToken& cancel) {
  if (rows.empty()) return {};
  std::set<std::uint64_t> services;
  for (const SpanRow& row : rows) services.insert(row.service);
  WHEREFORE_ASSIGN_OR_RETURN(
      const NamesByHash names,
      ServiceNames(fmt::format("tenant = {} AND bucket IN ({}) AND service IN ({})", tenant,
                               fmt::join(buckets, ","), fmt::join(services, ",")),
                   cancel));
  for (SpanRow& row : rows) {
    if (const auto found = names.find(row.service); found != names.end())
      row.service_name = found->second;
  }
  return {};
}

template <typename... Parts>
Result<std::vector<SpanRow>> ReaderImpl::RunSpans(const ColumnList<SpanRow, Parts...>& columns,
                                                  const std::string& where, std::string_view tail,
                                                  std::uint32_t tenant, const CancelToken& cancel) {
  struct Row {
    std::uint32_t bucket = 0;
    SpanRow span;
  };
  std::vector<SpanRow> rows;
  std::set<std::uint32_t> buckets;
  WHEREFORE_RETURN_IF_ERROR(
      Run(Columns<Row>(Col("bucket", &Row::bucket), In(&Row::span, columns)),
          fmt::format("FROM {} WHERE {} {}", PhysicalName(Table::kSpans), where, tail), cancel,
          [&](Row&& row) {
            buckets.insert(row.bucket);
            rows.push_back(std::move(row.span));
          }));
  WHEREFORE_RETURN_IF_ERROR(NameServices(rows, buckets, tenant, cancel));
  return rows;
}

Result<std::vector<SpanRow>> ReaderImpl::WholeSpans(const std::string& where, std::string_view tail,
                                                    std::uint32_t tenant,
                                                    const CancelToken& cancel) {
  return RunSpans(kWhole, where, tail, tenant, cancel);
}

constexpr std::string_view kTraceOrder = "ORDER BY start, span";

Result<std::vector<SpanRow>> ReaderImpl::Trace(std::uint32_t tenant, const profile::TraceId& trace,
                                               const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto place, SpansOfTraces(tenant, QuoteId(trace), cancel));
  if (place.buckets.empty()) return std::vector<SpanRow>();
  return WholeSpans(place.where, kTraceOrder, tenant, cancel);
}

Result<std::vector<SpanRow>> ReaderImpl::TraceShape(std::uint32_t tenant,
                                                    const profile::TraceId& trace,
                                                    const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto place, SpansOfTraces(tenant, QuoteId(trace), cancel));
  if (place.buckets.empty()) return std::vector<SpanRow>();
  const auto columns = Columns<SpanRow>(
      kShape, Col<std::string_view>(ProfileIdText(), [](SpanRow& span, std::string_view id) {
        if (!id.empty()) span.attributes.emplace_back(kProfileId, id);
      }));
  return RunSpans(columns, place.where, kTraceOrder, tenant, cancel);
}

Result<std::vector<SpanRow>> ReaderImpl::ShapesOfTraces(std::uint32_t tenant,
                                                        const std::vector<profile::TraceId>& traces,
                                                        const CancelToken& cancel) {
  // Those of the pairs whose name is in the list, in their order.
  const auto only = [](std::string_view names, std::string_view values, const auto& wanted) {
    std::string list;
    for (const std::string_view name : wanted) list += (list.empty() ? "" : ",") + Quote(name);
    return std::pair(fmt::format("arrayFilter(k -> k IN ({}), {})", list, names),
                     fmt::format("arrayFilter((v, k) -> k IN ({}), {}, {})", list, values, names));
  };
  const auto [names, values] = only("names", "`values`", kTimingAttributes);
  const auto [labels, label_values] = only("resource_names", "resource_values", kInstanceLabels);
  const auto columns = Columns<SpanRow>(kShape, Pairs(names, values, &SpanRow::attributes),
                                        Pairs(labels, label_values, &SpanRow::resource));
  std::vector<SpanRow> rows;
  WHEREFORE_RETURN_IF_ERROR(InParts(traces, kTracesAtOnce, [&](const std::string& ids) -> Result<> {
    WHEREFORE_ASSIGN_OR_RETURN(const Place place, SpansOfTraces(tenant, ids, cancel));
    if (place.buckets.empty()) return {};
    WHEREFORE_ASSIGN_OR_RETURN(
        auto some, RunSpans(columns, place.where, "ORDER BY trace, start, span", tenant, cancel));
    std::ranges::move(some, std::back_inserter(rows));
    return {};
  }));
  // Traces come in parts, whose order is that of the request.
  std::ranges::stable_sort(rows, {}, &SpanRow::trace);
  return rows;
}

namespace {

// Served or consumed (kinds 2 and 5), or begun by nobody else.
std::string IsRequest() {
  return fmt::format("(kind IN (2, 5) OR parent = {})", QuoteId(profile::SpanId{}));
}

}  // namespace

std::string SearchCondition(const SpanSearch& search) {
  std::string where =
      fmt::format("tenant = {} AND {} AND start >= {} AND start < {}", search.tenant,
                  BucketCondition(search.range.from_ns, search.range.to_ns), search.range.from_ns,
                  search.range.to_ns);
  if (!search.service.empty()) where += fmt::format(" AND service = {}", Hash64(search.service));
  if (!search.name.empty()) where += fmt::format(" AND name = {}", Quote(search.name));
  if (search.min_duration_ns > 0)
    where += fmt::format(" AND duration >= {}", search.min_duration_ns);
  if (search.max_duration_ns > 0)
    where += fmt::format(" AND duration <= {}", search.max_duration_ns);
  if (search.status_code >= 0) where += fmt::format(" AND status = {}", search.status_code);
  if (search.kind >= 0) where += fmt::format(" AND kind = {}", search.kind);
  if (search.requests_only) where += " AND " + IsRequest();
  if (search.roots_only) where += fmt::format(" AND parent = {}", QuoteId(profile::SpanId{}));
  for (const auto& [name, value] : search.attributes) {
    where += fmt::format(
        " AND (arrayExists((k, v) -> k = {0} AND v = {1}, names, `values`) OR "
        "arrayExists((k, v) -> k = {0} AND v = {1}, resource_names, resource_values))",
        Quote(name), Quote(value));
  }
  if (!search.traces.empty()) where += fmt::format(" AND trace IN ({})", QuoteIds(search.traces));
  return where;
}

Result<std::vector<SpanRow>> ReaderImpl::SearchSpans(const SpanSearch& search,
                                                     const CancelToken& cancel) {
  const std::string where = SearchCondition(search);
  // Which ones first: all of them are sorted, and only those that are wanted are read whole.
  const std::string order = fmt::format(
      "ORDER BY start DESC, span {} LIMIT {}",
      search.most_per_trace > 0 ? fmt::format("LIMIT {} BY trace", search.most_per_trace) : "",
      search.limit);
  return WholeSpans(
      fmt::format(
          "{0} AND (start, span, trace) IN (SELECT start, span, trace FROM {1} WHERE {0} {2})",
          where, PhysicalName(Table::kSpans), order),
      order, search.tenant, cancel);
}

Result<std::vector<SpanRow>> ReaderImpl::SpansById(std::uint32_t tenant, TimeRange range,
                                                   const std::vector<profile::SpanId>& spans,
                                                   const CancelToken& cancel) {
  std::vector<SpanRow> rows;
  WHEREFORE_RETURN_IF_ERROR(InParts(spans, kSpansAtOnce, [&](const std::string& some) -> Result<> {
    WHEREFORE_ASSIGN_OR_RETURN(
        auto part,
        WholeSpans(fmt::format("tenant = {} AND {} AND start >= {} AND start < {} AND span IN ({})",
                               tenant, BucketCondition(range.from_ns, range.to_ns), range.from_ns,
                               range.to_ns, some),
                   kTraceOrder, tenant, cancel));
    std::ranges::move(part, std::back_inserter(rows));
    return {};
  }));
  return rows;
}

namespace {

std::string OfServices(const ServiceSpansQuery& query) {
  return fmt::format(
      "FROM {} WHERE tenant = {} AND {} AND service IN ({}) AND start >= {} AND start < {} AND {}",
      PhysicalName(Table::kSpans), query.tenant,
      BucketCondition(query.range.from_ns, query.range.to_ns), fmt::join(query.services, ","),
      query.range.from_ns, query.range.to_ns, ShareCondition(query.share));
}

constexpr std::string_view kResourceHash = "cityHash64(resource_names, resource_values)";

}  // namespace

Result<std::int64_t> ReaderImpl::CountRequests(const ServiceSpansQuery& query,
                                               const CancelToken& cancel) {
  if (query.services.empty()) return 0;
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto count, RunColumn<std::int64_t>(fmt::format("SELECT toInt64(count()) {} AND {}",
                                                            OfServices(query), IsRequest()),
                                                cancel));
  return count.empty() ? 0 : count.front();
}

// Resources are few and long: they are read apart.
Result<ServiceSpans> ReaderImpl::SpansOfServices(const ServiceSpansQuery& query,
                                                 const CancelToken& cancel) {
  ServiceSpans out;
  if (query.services.empty()) return out;
  struct Resource {
    std::uint64_t hash = 0;
    std::vector<std::pair<std::string, std::string>> labels;
  };
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  WHEREFORE_RETURN_IF_ERROR(Run(
      Columns<Resource>(Col(fmt::format("{} AS r", kResourceHash), &Resource::hash),
                        Pairs("any(resource_names)", "any(resource_values)", &Resource::labels)),
      OfServices(query) + " GROUP BY r", cancel, [&](Resource&& resource) {
        numbers.emplace(resource.hash, static_cast<std::uint32_t>(out.resources.size()));
        std::ranges::sort(resource.labels);
        out.resources.push_back(std::move(resource.labels));
      }));
  using Row = ServiceSpan;
  const auto columns = Columns<Row>(
      Col("service", &Row::service), Col("trace", &Row::trace), Col("span", &Row::id),
      Col("parent", &Row::parent), Col("name", &Row::name), Col("kind", &Row::kind),
      Col("start", &Row::start_ns), Col("duration", &Row::duration_ns),
      Col<std::string_view>(ProfileIdText(),
                            [](Row& row, std::string_view id) { row.holder = SpanIdOf(id); }),
      Col<std::uint64_t>(std::string(kResourceHash), [&](Row& row, std::uint64_t hash) {
        // One that came between the two statements.
        const auto [at, fresh] =
            numbers.try_emplace(hash, static_cast<std::uint32_t>(out.resources.size()));
        if (fresh) out.resources.emplace_back();
        row.resource = at->second;
      }));
  WHEREFORE_ASSIGN_OR_RETURN(out.spans, All(columns, OfServices(query), cancel));
  return out;
}

Result<std::vector<LatencyRow>> ReaderImpl::Latencies(std::uint32_t tenant, TimeRange range,
                                                      const CancelToken& cancel) {
  const std::string buckets = BucketCondition(range.from_ns, range.to_ns);
  WHEREFORE_ASSIGN_OR_RETURN(
      const NamesByHash names,
      ServiceNames(fmt::format("tenant = {} AND {}", tenant, buckets), cancel));
  using Row = LatencyRow;
  const auto columns =
      Columns<Row>(ServiceName(names, &Row::service_name), Col("toInt64(count())", &Row::requests),
                   Col("toInt64(countIf(status = 2))", &Row::errors),
                   Col("toInt64(quantileExact(0.5)(duration))", &Row::median_ns),
                   Col("toInt64(quantileExact(0.99)(duration))", &Row::p99_ns));
  return All(columns,
             fmt::format("FROM {} WHERE tenant = {} AND {} AND start >= {} AND start < {} AND {} "
                         "GROUP BY service",
                         PhysicalName(Table::kSpans), tenant, buckets, range.from_ns, range.to_ns,
                         IsRequest()),
             cancel);
}

Result<std::vector<DurationCell>> ReaderImpl::Durations(const SpanSearch& search,
                                                        const Steps& steps,
                                                        const CancelToken& cancel) {
  using Row = DurationCell;
  // DurationRow() in whole numbers, so that both agree on every duration.
  const std::string length = fmt::format("toUInt64(greatest(duration, {}))", kShortestRow);
  const std::string octave = fmt::format("roundToExp2({})", length);
  return All(Columns<Row>(Col(fmt::format("toInt64(intDiv(start - {0}, {1}) * {1} + {0}) AS step",
                                          steps.phase_ns, steps.width_ns),
                              &Row::step_start_ns),
                          Col(fmt::format("toInt64({1} + intDiv({0} - {1}, intDiv({1}, 4)) * "
                                          "intDiv({1}, 4)) AS row",
                                          length, octave),
                              &Row::from_ns),
                          Col("toInt64(count())", &Row::count),
                          Col("toInt64(countIf(status = 2))", &Row::errors)),
             fmt::format("FROM {} WHERE {} GROUP BY step, row ORDER BY step, row",
                         PhysicalName(Table::kSpans), SearchCondition(search)),
             cancel);
}

Result<std::vector<std::pair<std::string, std::string>>> ReaderImpl::SpanNames(
    std::uint32_t tenant, TimeRange range, const CancelToken& cancel) {
  const std::string buckets = BucketCondition(range.from_ns, range.to_ns);
  WHEREFORE_ASSIGN_OR_RETURN(
      const NamesByHash names,
      ServiceNames(fmt::format("tenant = {} AND {}", tenant, buckets), cancel));
  using Row = std::pair<std::string, std::string>;  // service, name
  const auto columns = Columns<Row>(ServiceName(names, &Row::first), Col("name", &Row::second));
  WHEREFORE_ASSIGN_OR_RETURN(
      std::vector<Row> rows,
      All(columns,
          fmt::format("FROM {} WHERE tenant = {} AND {} AND start >= {} AND start < {} "
                      "GROUP BY service, name",
                      PhysicalName(Table::kSpans), tenant, buckets, range.from_ns, range.to_ns),
          cancel));
  std::ranges::sort(rows);
  return rows;
}

}  // namespace wherefore::store
