// Reader: traces and spans.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "store/reader.h"
#include "store/schema.h"

namespace wherefore::store {
namespace {

template <typename Id>
Id AsId(std::string_view bytes) {
  Id id{};
  bytes.copy(reinterpret_cast<char*>(id.data()), id.size());  // at most what there is
  return id;
}

template <typename Id>
std::string QuoteId(const Id& id) {
  return QuoteBytes({reinterpret_cast<const char*>(id.data()), id.size()});
}

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

Result<std::vector<SpanRow>> ReaderImpl::RunSpans(const std::string& where, const std::string& tail,
                                                  std::uint32_t tenant, const CancelToken& cancel) {
  std::vector<SpanRow> rows;
  std::set<std::uint32_t> buckets;
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format("SELECT bucket, service, trace, span, parent, name, kind, status, "
                  "status_message, start, duration, "
                  "names, `values`, resource_names, resource_values, encoded FROM {} WHERE {} {}",
                  PhysicalName(Table::kSpans), where, tail),
      16, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        buckets.insert(c[0].U32(row));
        SpanRow& span = rows.emplace_back();
        span.service = c[1].Uint(row);
        span.trace = AsId<profile::TraceId>(c[2].Text(row));
        span.id = AsId<profile::SpanId>(c[3].Text(row));
        span.parent = AsId<profile::SpanId>(c[4].Text(row));
        span.name = c[5].Text(row);
        span.kind = static_cast<std::uint8_t>(c[6].U32(row));
        span.status_code = static_cast<std::uint8_t>(c[7].U32(row));
        span.status_message = c[8].Text(row);
        span.start_ns = c[9].Int(row);
        span.duration_ns = c[10].Int(row);
        TakePairs(c[11], c[12], row, span.attributes);
        TakePairs(c[13], c[14], row, span.resource);
        span.encoded = c[15].Text(row);
        return {};
      }));
  WHEREFORE_RETURN_IF_ERROR(NameServices(rows, buckets, tenant, cancel));
  return rows;
}

// The index says where to look; without it a trace would be searched in every service.
Result<std::string> ReaderImpl::SpansOfTraces(std::uint32_t tenant, const std::string& traces,
                                              const CancelToken& cancel) {
  std::set<std::uint32_t> buckets;
  std::set<std::uint64_t> services;
  std::int64_t first = INT64_MAX;
  std::int64_t last = 0;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT bucket, service, min(start), max(last) FROM {} WHERE tenant = {} AND "
                      "trace IN ({}) GROUP BY bucket, service",
                      PhysicalName(Table::kTraceIndex), tenant, traces),
          4, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            buckets.insert(c[0].U32(row));
            services.insert(c[1].Uint(row));
            first = std::min(first, c[2].Int(row));
            last = std::max(last, c[3].Int(row));
            return {};
          }));
  if (buckets.empty()) return std::string();
  return fmt::format(
      "tenant = {} AND bucket IN ({}) AND service IN ({}) AND start >= {} AND start <= {} AND "
      "trace IN ({})",
      tenant, fmt::join(buckets, ","), fmt::join(services, ","), first, last, traces);
}

constexpr std::string_view kTraceOrder = "ORDER BY start, span";

Result<std::vector<SpanRow>> ReaderImpl::Trace(std::uint32_t tenant, const profile::TraceId& trace,
                                               const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string where,
                             SpansOfTraces(tenant, QuoteId(trace), cancel));
  if (where.empty()) return std::vector<SpanRow>();
  return RunSpans(where, std::string(kTraceOrder), tenant, cancel);
}

Result<std::vector<SpanRow>> ReaderImpl::TraceShape(std::uint32_t tenant,
                                                    const profile::TraceId& trace,
                                                    const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string where,
                             SpansOfTraces(tenant, QuoteId(trace), cancel));
  std::vector<SpanRow> rows;
  if (where.empty()) return rows;
  constexpr std::string_view kProfileId = "pyroscope.profile.id";
  std::set<std::uint32_t> buckets;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT bucket, service, span, parent, name, kind, status, start, duration, "
                      "`values`[indexOf(names, {})] FROM {} WHERE {} {}",
                      Quote(kProfileId), PhysicalName(Table::kSpans), where, kTraceOrder),
          10, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            buckets.insert(c[0].U32(row));
            SpanRow& span = rows.emplace_back();
            span.service = c[1].Uint(row);
            span.trace = trace;
            span.id = AsId<profile::SpanId>(c[2].Text(row));
            span.parent = AsId<profile::SpanId>(c[3].Text(row));
            span.name = c[4].Text(row);
            span.kind = static_cast<std::uint8_t>(c[5].U32(row));
            span.status_code = static_cast<std::uint8_t>(c[6].U32(row));
            span.start_ns = c[7].Int(row);
            span.duration_ns = c[8].Int(row);
            if (const std::string_view value = c[9].Text(row); !value.empty())
              span.attributes.emplace_back(kProfileId, value);
            return {};
          }));
  WHEREFORE_RETURN_IF_ERROR(NameServices(rows, buckets, tenant, cancel));
  return rows;
}

Result<std::vector<TraceTime>> ReaderImpl::TraceTimes(std::uint32_t tenant,
                                                      const std::vector<profile::TraceId>& traces,
                                                      const CancelToken& cancel) {
  constexpr std::size_t kAtOnce = 1000;  // a statement's length is limited
  std::vector<TraceTime> rows;
  for (std::size_t from = 0; from < traces.size(); from += kAtOnce) {
    std::vector<std::string> literals;
    for (std::size_t i = from; i < std::min(from + kAtOnce, traces.size()); ++i) {
      literals.push_back(QuoteId(traces[i]));
    }
    WHEREFORE_ASSIGN_OR_RETURN(
        const std::string where,
        SpansOfTraces(tenant, fmt::format("{}", fmt::join(literals, ",")), cancel));
    if (where.empty()) continue;
    WHEREFORE_RETURN_IF_ERROR(Run(
        fmt::format("SELECT trace, min(start), max(start + duration) FROM {} WHERE {} GROUP BY "
                    "trace",
                    PhysicalName(Table::kSpans), where),
        3, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
          rows.push_back({AsId<profile::TraceId>(c[0].Text(row)), c[1].Int(row), c[2].Int(row)});
          return {};
        }));
  }
  return rows;
}

Result<std::vector<SpanRow>> ReaderImpl::SearchSpans(const SpanSearch& search,
                                                     const CancelToken& cancel) {
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
  if (search.roots_only) where += fmt::format(" AND parent = {}", QuoteBytes(std::string(8, '\0')));
  for (const auto& [name, value] : search.attributes) {
    where += fmt::format(
        " AND (arrayExists((k, v) -> k = {0} AND v = {1}, names, `values`) OR "
        "arrayExists((k, v) -> k = {0} AND v = {1}, resource_names, resource_values))",
        Quote(name), Quote(value));
  }
  return RunSpans(
      where,
      fmt::format(
          "ORDER BY start DESC, span {} LIMIT {}",
          search.most_per_trace > 0 ? fmt::format("LIMIT {} BY trace", search.most_per_trace) : "",
          search.limit),
      search.tenant, cancel);
}

Result<std::vector<SpanRow>> ReaderImpl::SpansById(std::uint32_t tenant, TimeRange range,
                                                   const std::vector<profile::SpanId>& spans,
                                                   const CancelToken& cancel) {
  if (spans.empty()) return std::vector<SpanRow>();
  std::vector<std::string> literals;
  literals.reserve(spans.size());
  for (const profile::SpanId& span : spans) {
    literals.push_back(QuoteId(span));
  }
  return RunSpans(fmt::format("tenant = {} AND {} AND start >= {} AND start < {} AND span IN ({})",
                              tenant, BucketCondition(range.from_ns, range.to_ns), range.from_ns,
                              range.to_ns, fmt::join(literals, ",")),
                  "ORDER BY start, span", tenant, cancel);
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
