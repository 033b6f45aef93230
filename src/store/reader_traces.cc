// Reader: what a list of traces says of each of them, without reading its spans one by one.
#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/ids.h"
#include "store/reader.h"
#include "store/schema.h"

namespace wherefore::store {

std::string ProfileIdText() {
  return fmt::format("`values`[indexOf(names, {})]", Quote(kProfileId));
}

// The index says where to look; without it a trace would be searched in every service.
Result<ReaderImpl::Place> ReaderImpl::SpansOfTraces(std::uint32_t tenant, const std::string& traces,
                                                    const CancelToken& cancel) {
  Place place;
  std::set<std::uint64_t> services;
  std::int64_t first = INT64_MAX;
  std::int64_t last = 0;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT bucket, service, min(start), max(last) FROM {} WHERE tenant = {} AND "
                      "trace IN ({}) GROUP BY bucket, service",
                      PhysicalName(Table::kTraceIndex), tenant, traces),
          4, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            place.buckets.insert(c[0].U32(row));
            services.insert(c[1].Uint(row));
            first = std::min(first, c[2].Int(row));
            last = std::max(last, c[3].Int(row));
            return {};
          }));
  if (place.buckets.empty()) return place;
  place.where = fmt::format(
      "tenant = {} AND bucket IN ({}) AND service IN ({}) AND start >= {} AND start <= {} AND "
      "trace IN ({})",
      tenant, fmt::join(place.buckets, ","), fmt::join(services, ","), first, last, traces);
  return place;
}

Result<std::vector<profile::TraceId>> ReaderImpl::FindTraces(const SpanSearch& search,
                                                             const CancelToken& cancel) {
  std::vector<profile::TraceId> traces;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT trace FROM {} WHERE {} GROUP BY trace ORDER BY max({}) DESC, trace "
                      "LIMIT {}",
                      PhysicalName(Table::kSpans), SearchCondition(search),
                      search.slowest ? "duration" : "start", search.limit),
          1, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            traces.push_back(AsId<profile::TraceId>(c[0].Text(row)));
            return {};
          }));
  return traces;
}

Result<> ReaderImpl::AddTraces(std::uint32_t tenant, const Place& place,
                               std::vector<TraceRow>& rows, const CancelToken& cancel) {
  std::vector<std::uint64_t> services;
  const std::size_t before = rows.size();
  // Spans without a parent first, the earliest of them: one number, because the engine compares
  // tuples slowly.
  const std::string no_parent = QuoteId(profile::SpanId{});
  const std::string root_first =
      fmt::format("toUInt64(start) + if(parent = {}, 0, toUInt64(9223372036854775808))", no_parent);
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT trace, min(start), max(start + duration), toInt64(count()), "
                      "toInt64(countIf(status = 2)), argMin(service, {0}), argMin(name, {0}), "
                      "toInt64(countIf(parent = {3})) FROM {1} WHERE {2} GROUP BY trace",
                      root_first, PhysicalName(Table::kSpans), place.where, no_parent),
          8, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            TraceRow& trace = rows.emplace_back();
            trace.trace = AsId<profile::TraceId>(c[0].Text(row));
            trace.start_ns = c[1].Int(row);
            trace.end_ns = c[2].Int(row);
            trace.spans = c[3].Int(row);
            trace.errors = c[4].Int(row);
            services.push_back(c[5].Uint(row));
            trace.root_name = c[6].Text(row);
            trace.root_missing = c[7].Int(row) == 0;
            return {};
          }));
  if (services.empty()) return {};
  WHEREFORE_ASSIGN_OR_RETURN(const auto names,
                             ServiceNames(fmt::format("tenant = {} AND bucket IN ({})", tenant,
                                                      fmt::join(place.buckets, ",")),
                                          cancel));
  const std::unordered_map<std::uint64_t, std::string> by_hash(names.begin(), names.end());
  for (std::size_t i = 0; i < services.size(); ++i) {
    if (const auto found = by_hash.find(services[i]); found != by_hash.end())
      rows[before + i].root_service = found->second;
  }
  return {};
}

Result<std::vector<TraceRow>> ReaderImpl::Traces(std::uint32_t tenant,
                                                 const std::vector<profile::TraceId>& traces,
                                                 const CancelToken& cancel) {
  std::vector<TraceRow> rows;
  WHEREFORE_RETURN_IF_ERROR(InParts(traces, kTracesAtOnce, [&](const std::string& ids) -> Result<> {
    WHEREFORE_ASSIGN_OR_RETURN(const Place place, SpansOfTraces(tenant, ids, cancel));
    if (place.buckets.empty()) return {};
    return AddTraces(tenant, place, rows, cancel);
  }));
  return rows;
}

// `sql` selects service, bucket, writer, trace, span, type, value, n and how many samples.
Result<> ReaderImpl::AddSamples(const std::string& sql, std::uint32_t tenant,
                                std::vector<TraceSamples>& rows, const CancelToken& cancel) {
  return Run(sql, 9, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
    rows.push_back({{tenant, c[0].Uint(row), c[1].U32(row), c[2].U32(row)},
                    AsId<profile::TraceId>(c[3].Text(row)),
                    AsId<profile::SpanId>(c[4].Text(row)),
                    c[5].Uint(row),
                    c[6].Int(row),
                    c[7].Int(row),
                    c[8].Int(row)});
    return {};
  });
}

Result<bool> ReaderImpl::HasSpanOnlyLinks(std::uint32_t tenant, const CancelToken& cancel) {
  bool some = false;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT tenant FROM {} WHERE tenant = {} AND trace = {} "
                      "LIMIT 1",
                      PhysicalName(Table::kLinks), tenant, QuoteId(profile::TraceId{})),
          1, cancel, [&](const Columns&, std::size_t) -> Result<> {
            some = true;
            return {};
          }));
  return some;
}

Result<std::vector<TraceSamples>> ReaderImpl::SamplesOfTraces(
    std::uint32_t tenant, const std::vector<profile::TraceId>& traces, bool by_span,
    const CancelToken& cancel) {
  std::vector<TraceSamples> rows;
  if (traces.empty()) return rows;
  WHEREFORE_ASSIGN_OR_RETURN(const bool span_only, HasSpanOnlyLinks(tenant, cancel));
  const std::string links = PhysicalName(Table::kLinks);
  const std::string no_span = QuoteId(profile::SpanId{});
  const auto count = [&](const std::string& ids) -> Result<> {
    WHEREFORE_RETURN_IF_ERROR(AddSamples(
        fmt::format("SELECT service, bucket, writer, trace, {} AS of, type, value, n, "
                    "toInt64(count()) FROM {} WHERE tenant = {} AND trace IN ({}) GROUP BY "
                    "service, bucket, writer, trace, of, type, value, n",
                    by_span ? "span" : no_span, links, tenant, ids),
        tenant, rows, cancel));
    if (!span_only) return {};
    WHEREFORE_ASSIGN_OR_RETURN(const Place place, SpansOfTraces(tenant, ids, cancel));
    if (place.buckets.empty()) return {};
    // Under which ids a profiler that knows only spans may have filed samples of these traces.
    const std::string holders = fmt::format(
        "SELECT DISTINCT trace, holder FROM (SELECT trace, arrayJoin([span, toFixedString("
        "if(match({0}, '^[0-9a-fA-F]{{16}}$'), unhex({0}), ''), 8)]) AS holder FROM {1} WHERE {2}) "
        "WHERE holder != {3}",
        ProfileIdText(), PhysicalName(Table::kSpans), place.where, QuoteId(profile::SpanId{}));
    return AddSamples(
        fmt::format(
            "SELECT l.service, l.bucket, l.writer, o.trace, {4} AS of, l.type, l.value, l.n, "
            "toInt64(count()) FROM (SELECT * FROM {0} WHERE tenant = {1} AND trace = {2} "
            "AND span IN (SELECT holder FROM ({3}))) AS l INNER JOIN ({3}) AS o ON l.span "
            "= o.holder GROUP BY l.service, l.bucket, l.writer, o.trace, of, l.type, "
            "l.value, l.n",
            links, tenant, QuoteId(profile::TraceId{}), holders, by_span ? "l.span" : no_span),
        tenant, rows, cancel);
  };
  WHEREFORE_RETURN_IF_ERROR(InParts(traces, kTracesAtOnce, count));
  return rows;
}

Result<std::vector<SpanTime>> ReaderImpl::SpanTimes(std::uint32_t tenant,
                                                    const std::vector<profile::TraceId>& traces,
                                                    const std::vector<profile::SpanId>& spans,
                                                    const CancelToken& cancel) {
  std::vector<SpanTime> rows;
  const auto read = [&](const std::string& where) {
    return Run(fmt::format("SELECT trace, span, parent, start, duration, {} != '' FROM {} WHERE {}",
                           ProfileIdText(), PhysicalName(Table::kSpans), where),
               6, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
                 rows.push_back({AsId<profile::TraceId>(c[0].Text(row)),
                                 AsId<profile::SpanId>(c[1].Text(row)),
                                 AsId<profile::SpanId>(c[2].Text(row)), c[3].Int(row),
                                 c[4].Int(row), c[5].Uint(row) != 0});
                 return {};
               });
  };
  WHEREFORE_RETURN_IF_ERROR(
      InParts(traces, kTracesAtOnce, [&](const std::string& some_traces) -> Result<> {
        WHEREFORE_ASSIGN_OR_RETURN(const Place place, SpansOfTraces(tenant, some_traces, cancel));
        if (place.buckets.empty()) return {};
        // Named twice in a statement.
        return InParts(spans, kSpansAtOnce / 2, [&](const std::string& some) -> Result<> {
          return read(fmt::format("{0} AND (span IN ({1}) OR parent IN ({1}))", place.where, some));
        });
      }));
  return rows;
}

}  // namespace wherefore::store
