// Reader: traces and spans.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "store/ids.h"
#include "store/reader.h"
#include "store/schema.h"

namespace wherefore::store {
namespace {

void TakePairs(const NativeColumn& names, const NativeColumn& values, std::size_t row,
               std::vector<std::pair<std::string, std::string>>& out) {
  for (std::size_t i = names.ArrayBegin(row); i < names.ArrayEnd(row); ++i) {
    out.emplace_back(names.Text(i), values.Text(i));
  }
}

}  // namespace

Result<std::vector<std::pair<std::uint64_t, std::string>>> ReaderImpl::ServiceNames(
    const std::string& where, const CancelToken& cancel) {
  std::vector<std::pair<std::uint64_t, std::string>> names;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT service, any(name) FROM {} WHERE {} GROUP BY service",
                      PhysicalName(Table::kServices), where),
          2, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            names.emplace_back(c[0].Uint(row), c[1].Text(row));
            return {};
          }));
  return names;
}

Result<> ReaderImpl::NameServices(std::vector<SpanRow>& rows,
                                  const std::set<std::uint32_t>& buckets, std::uint32_t tenant,
                                  const CancelToken& cancel) {
  if (rows.empty()) return {};
  std::set<std::uint64_t> services;
  for (const SpanRow& row : rows) services.insert(row.service);
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto names,
      ServiceNames(fmt::format("tenant = {} AND bucket IN ({}) AND service IN ({})", tenant,
                               fmt::join(buckets, ","), fmt::join(services, ",")),
                   cancel));
  const std::unordered_map<std::uint64_t, std::string> by_hash(names.begin(), names.end());
  for (SpanRow& row : rows) {
    if (const auto found = by_hash.find(row.service); found != by_hash.end())
      row.service_name = found->second;
  }
  return {};
}

// What every question about spans reads; `more` are further columns, which `take` reads.
Result<std::vector<SpanRow>> ReaderImpl::RunSpans(const MoreColumns& more, const std::string& where,
                                                  std::string_view tail, std::uint32_t tenant,
                                                  const CancelToken& cancel) {
  std::vector<SpanRow> rows;
  std::set<std::uint32_t> buckets;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT bucket, service, trace, span, parent, name, kind, status, start, "
                      "duration, {} FROM {} WHERE {} {}",
                      more.names, PhysicalName(Table::kSpans), where, tail),
          kShapeColumns + more.count, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            buckets.insert(c[0].U32(row));
            SpanRow& span = rows.emplace_back();
            span.service = c[1].Uint(row);
            span.trace = AsId<profile::TraceId>(c[2].Text(row));
            span.id = AsId<profile::SpanId>(c[3].Text(row));
            span.parent = AsId<profile::SpanId>(c[4].Text(row));
            span.name = c[5].Text(row);
            span.kind = static_cast<std::uint8_t>(c[6].U32(row));
            span.status_code = static_cast<std::uint8_t>(c[7].U32(row));
            span.start_ns = c[8].Int(row);
            span.duration_ns = c[9].Int(row);
            more.take(c, row, span);
            return {};
          }));
  WHEREFORE_RETURN_IF_ERROR(NameServices(rows, buckets, tenant, cancel));
  return rows;
}

Result<std::vector<SpanRow>> ReaderImpl::WholeSpans(const std::string& where, std::string_view tail,
                                                    std::uint32_t tenant,
                                                    const CancelToken& cancel) {
  static const MoreColumns kEverything = {
      .names = "status_message, names, `values`, resource_names, resource_values, encoded",
      .count = 6,
      .take = [](const Columns& c, std::size_t row, SpanRow& span) {
        span.status_message = c[kShapeColumns].Text(row);
        TakePairs(c[kShapeColumns + 1], c[kShapeColumns + 2], row, span.attributes);
        TakePairs(c[kShapeColumns + 3], c[kShapeColumns + 4], row, span.resource);
        span.encoded = c[kShapeColumns + 5].Text(row);
      }};
  return RunSpans(kEverything, where, tail, tenant, cancel);
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
  static const MoreColumns kOnlyProfileId = {
      .names = ProfileIdText(),
      .count = 1,
      .take = [](const Columns& c, std::size_t row, SpanRow& span) {
        if (const std::string_view value = c[kShapeColumns].Text(row); !value.empty())
          span.attributes.emplace_back(kProfileId, value);
      }};
  return RunSpans(kOnlyProfileId, place.where, kTraceOrder, tenant, cancel);
}

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

Result<std::vector<LatencyRow>> ReaderImpl::Latencies(std::uint32_t tenant, TimeRange range,
                                                      const CancelToken& cancel) {
  const std::string buckets = BucketCondition(range.from_ns, range.to_ns);
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto names, ServiceNames(fmt::format("tenant = {} AND {}", tenant, buckets), cancel));
  const std::unordered_map<std::uint64_t, std::string> by_hash(names.begin(), names.end());
  std::vector<LatencyRow> rows;
  // Served or consumed (kinds 2 and 5), or begun by nobody else.
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format("SELECT service, toInt64(count()), toInt64(countIf(status = 2)), "
                  "toInt64(quantileExact(0.5)(duration)), toInt64(quantileExact(0.99)(duration)) "
                  "FROM {} WHERE tenant = {} AND {} AND start >= {} AND start < {} AND "
                  "(kind IN (2, 5) OR parent = {}) GROUP BY service",
                  PhysicalName(Table::kSpans), tenant, buckets, range.from_ns, range.to_ns,
                  QuoteBytes(std::string(8, '\0'))),
      5, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        const auto found = by_hash.find(c[0].Uint(row));
        rows.push_back({found == by_hash.end() ? "" : found->second, c[1].Int(row), c[2].Int(row),
                        c[3].Int(row), c[4].Int(row)});
        return {};
      }));
  return rows;
}

Result<std::vector<std::pair<std::string, std::string>>> ReaderImpl::SpanNames(
    std::uint32_t tenant, TimeRange range, const CancelToken& cancel) {
  const std::string buckets = BucketCondition(range.from_ns, range.to_ns);
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto names, ServiceNames(fmt::format("tenant = {} AND {}", tenant, buckets), cancel));
  const std::unordered_map<std::uint64_t, std::string> by_hash(names.begin(), names.end());
  std::vector<std::pair<std::string, std::string>> rows;
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format(
          "SELECT service, name FROM {} WHERE tenant = {} AND {} AND start >= {} AND start < {} "
          "GROUP BY service, name",
          PhysicalName(Table::kSpans), tenant, buckets, range.from_ns, range.to_ns),
      2, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        const auto found = by_hash.find(c[0].Uint(row));
        rows.emplace_back(found == by_hash.end() ? "" : found->second, c[1].Text(row));
        return {};
      }));
  std::ranges::sort(rows);
  return rows;
}

}  // namespace wherefore::store
