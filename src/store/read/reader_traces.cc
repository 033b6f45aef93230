// Reader: what a list of traces says of each of them, without reading its spans one by one.
#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/engine/ids.h"
#include "store/engine/schema.h"
#include "store/read/key_columns.h"
#include "store/read/reader.h"

namespace wherefore::store {

namespace {

// A hash that the engine has too (intHash64).
std::uint64_t Mixed(std::uint64_t x) {
  x ^= 0x4cf2d2baae6da887U;
  x ^= x >> 33U;
  x *= 0xff51afd7ed558ccdU;
  x ^= x >> 33U;
  x *= 0xc4ceb9fe1a85ec53U;
  return x ^ x >> 33U;
}

}  // namespace

bool TraceShare::Has(const profile::TraceId& trace) const {
  std::uint64_t last = 0;  // the half that is random with every tracer
  std::memcpy(&last, trace.data() + sizeof(last), sizeof(last));
  return Mixed(last) % one_in == 0;
}

std::string ShareCondition(TraceShare share) {
  if (share.one_in == 1) return "1";
  return fmt::format("intHash64(reinterpretAsUInt64(substring(trace, 9, 8))) % {} = 0",
                     share.one_in);
}

std::string ProfileIdText() {
  return fmt::format("`values`[indexOf(names, {})]", Quote(kProfileId));
}

// The index says where to look; without it a trace would be searched in every service.
Result<ReaderImpl::Place> ReaderImpl::SpansOfTraces(std::uint32_t tenant, const std::string& traces,
                                                    const CancelToken& cancel) {
  struct Row {
    std::uint32_t bucket = 0;
    std::uint64_t service = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  constexpr auto kColumns =
      Columns<Row>(Col("bucket", &Row::bucket), Col("service", &Row::service),
                   Col("min(start)", &Row::first), Col("max(last)", &Row::last));
  Place place;
  std::set<std::uint64_t> services;
  std::int64_t first = INT64_MAX;
  std::int64_t last = 0;
  WHEREFORE_RETURN_IF_ERROR(
      Run(kColumns,
          fmt::format("FROM {} WHERE tenant = {} AND trace IN ({}) GROUP BY bucket, service",
                      PhysicalName(Table::kTraceIndex), tenant, traces),
          cancel, [&](const Row& row) {
            place.buckets.insert(row.bucket);
            services.insert(row.service);
            first = std::min(first, row.first);
            last = std::max(last, row.last);
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
  return RunColumn<profile::TraceId>(
      fmt::format("SELECT trace FROM {} WHERE {} GROUP BY trace ORDER BY max({}) DESC, trace "
                  "LIMIT {}",
                  PhysicalName(Table::kSpans), SearchCondition(search),
                  search.slowest ? "duration" : "start", search.limit),
      cancel);
}

Result<> ReaderImpl::AddTraces(std::uint32_t tenant, const Place& place,
                               std::vector<TraceRow>& rows, const CancelToken& cancel) {
  // Spans without a parent first, the earliest of them: one number, because the engine compares
  // tuples slowly.
  const std::string no_parent = QuoteId(profile::SpanId{});
  const std::string root_first =
      fmt::format("toUInt64(start) + if(parent = {}, 0, toUInt64(9223372036854775808))", no_parent);
  using Row = std::pair<std::uint64_t, TraceRow>;  // the root's service, and the trace
  const auto trace = Columns<TraceRow>(
      Col("trace", &TraceRow::trace), Col("min(start)", &TraceRow::start_ns),
      Col("max(start + duration)", &TraceRow::end_ns), Col("toInt64(count())", &TraceRow::spans),
      Col("toInt64(countIf(status = 2))", &TraceRow::errors),
      Col(fmt::format("argMin(name, {})", root_first), &TraceRow::root_name),
      Col<std::int64_t>(fmt::format("toInt64(countIf(parent = {}))", no_parent),
                        [](TraceRow& row, std::int64_t roots) { row.root_missing = roots == 0; }));
  WHEREFORE_ASSIGN_OR_RETURN(
      std::vector<Row> found,
      All(Columns<Row>(Col(fmt::format("argMin(service, {})", root_first), &Row::first),
                       In(&Row::second, trace)),
          fmt::format("FROM {} WHERE {} GROUP BY trace", PhysicalName(Table::kSpans), place.where),
          cancel));
  if (found.empty()) return {};
  WHEREFORE_ASSIGN_OR_RETURN(const NamesByHash names,
                             ServiceNames(fmt::format("tenant = {} AND bucket IN ({})", tenant,
                                                      fmt::join(place.buckets, ",")),
                                          cancel));
  for (auto& [service, row] : found) {
    if (const auto name = names.find(service); name != names.end()) row.root_service = name->second;
    rows.push_back(std::move(row));
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

Result<bool> ReaderImpl::HasSpanOnlyLinks(std::uint32_t tenant, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::vector<std::uint32_t> some,
      RunColumn<std::uint32_t>(
          fmt::format("SELECT tenant FROM {} WHERE tenant = {} AND trace = {} LIMIT 1",
                      PhysicalName(Table::kLinks), tenant, QuoteId(profile::TraceId{})),
          cancel));
  return !some.empty();
}

// Counts the samples of `links`, a table or a join; `trace` is its column, `span` that or a
// literal.
Result<> ReaderImpl::AddSamples(std::uint32_t tenant, const std::string& trace,
                                const std::string& span, const std::string& links,
                                std::vector<TraceSamples>& rows, const CancelToken& cancel) {
  using Row = TraceSamples;
  const auto columns = Columns<Row>(In(&Row::dictionary, KeyColumnsOf(tenant)),
                                    Col(trace, &Row::trace), Col(span + " AS of", &Row::span),
                                    Col("type", &Row::type), Col("value", &Row::value),
                                    Col("n", &Row::count), Col("toInt64(count())", &Row::samples));
  return Run(
      columns,
      fmt::format("FROM {} GROUP BY service, bucket, writer, {}, of, type, value, n", links, trace),
      cancel, [&](const Row& row) { rows.push_back(row); });
}

std::string ReaderImpl::HoldersOf(const Place& place) {
  return fmt::format(
      "SELECT DISTINCT trace, holder FROM (SELECT trace, arrayJoin([span, toFixedString("
      "if(match({0}, '^[0-9a-fA-F]{{16}}$'), unhex({0}), ''), 8)]) AS holder FROM {1} WHERE {2}) "
      "WHERE holder != {3}",
      ProfileIdText(), PhysicalName(Table::kSpans), place.where, QuoteId(profile::SpanId{}));
}

Result<> ReaderImpl::AddSpanOnlySamples(std::uint32_t tenant, const std::string& traces,
                                        bool by_span, std::vector<TraceSamples>& rows,
                                        const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const Place place, SpansOfTraces(tenant, traces, cancel));
  if (place.buckets.empty()) return {};
  const std::string no_span = QuoteId(profile::SpanId{});
  const std::string holders = HoldersOf(place);
  const std::string join = fmt::format(
      "(SELECT * FROM {0} WHERE tenant = {1} AND trace = {2} AND span IN (SELECT holder FROM "
      "({3}))) AS l INNER JOIN ({3}) AS o ON l.span = o.holder",
      PhysicalName(Table::kLinks), tenant, QuoteId(profile::TraceId{}), holders);
  return AddSamples(tenant, "o.trace", by_span ? "l.span" : no_span, join, rows, cancel);
}

Result<std::vector<TraceSamples>> ReaderImpl::SamplesOfTraces(
    std::uint32_t tenant, const std::vector<profile::TraceId>& traces, bool by_span,
    const CancelToken& cancel) {
  std::vector<TraceSamples> rows;
  if (traces.empty()) return rows;
  WHEREFORE_ASSIGN_OR_RETURN(const bool span_only, HasSpanOnlyLinks(tenant, cancel));
  const auto count = [&](const std::string& ids) -> Result<> {
    WHEREFORE_RETURN_IF_ERROR(AddSamples(tenant, "trace",
                                         by_span ? "span" : QuoteId(profile::SpanId{}),
                                         fmt::format("{} WHERE tenant = {} AND trace IN ({})",
                                                     PhysicalName(Table::kLinks), tenant, ids),
                                         rows, cancel));
    if (!span_only) return {};
    return AddSpanOnlySamples(tenant, ids, by_span, rows, cancel);
  };
  WHEREFORE_RETURN_IF_ERROR(InParts(traces, kTracesAtOnce, count));
  return rows;
}

Result<std::vector<SpanTime>> ReaderImpl::SpanTimes(std::uint32_t tenant,
                                                    const std::vector<profile::TraceId>& traces,
                                                    const std::vector<profile::SpanId>& spans,
                                                    const CancelToken& cancel) {
  using Row = SpanTime;
  const auto columns =
      Columns<Row>(Col("trace", &Row::trace), Col("span", &Row::id), Col("parent", &Row::parent),
                   Col("start", &Row::start_ns), Col("duration", &Row::duration_ns),
                   Col(ProfileIdText() + " != ''", &Row::names_holder));
  std::vector<SpanTime> rows;
  const auto read = [&](const std::string& where) {
    return Run(columns, fmt::format("FROM {} WHERE {}", PhysicalName(Table::kSpans), where), cancel,
               [&](const Row& row) { rows.push_back(row); });
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

Result<std::vector<SpanTime>> ReaderImpl::FindSpans(const SpanSearch& search,
                                                    const CancelToken& cancel) {
  using Row = SpanTime;
  return All(
      Columns<Row>(Col("trace", &Row::trace), Col("span", &Row::id), Col("parent", &Row::parent),
                   Col("start", &Row::start_ns), Col("duration", &Row::duration_ns),
                   Col(ProfileIdText() + " != ''", &Row::names_holder)),
      fmt::format("FROM {} WHERE {} ORDER BY start DESC, span LIMIT {}",
                  PhysicalName(Table::kSpans), SearchCondition(search), search.limit),
      cancel);
}

Result<std::vector<LinkRow>> ReaderImpl::LinksOfTraces(std::uint32_t tenant,
                                                       const std::vector<profile::TraceId>& traces,
                                                       const CancelToken& cancel) {
  std::vector<LinkRow> rows;
  if (traces.empty()) return rows;
  WHEREFORE_ASSIGN_OR_RETURN(const bool span_only, HasSpanOnlyLinks(tenant, cancel));
  const auto add = [&](const std::string& where) -> Result<> {
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto some,
        RunLinks(fmt::format("tenant = {} AND {}", tenant, where), tenant, cancel));
    rows.insert(rows.end(), some.begin(), some.end());
    return {};
  };
  const auto add_all = [&](const std::string& ids) -> Result<> {
    WHEREFORE_RETURN_IF_ERROR(add(fmt::format("trace IN ({})", ids)));
    if (!span_only) return {};
    WHEREFORE_ASSIGN_OR_RETURN(const Place place, SpansOfTraces(tenant, ids, cancel));
    if (place.buckets.empty()) return {};
    return add(fmt::format("trace = {} AND span IN (SELECT holder FROM ({}))",
                           QuoteId(profile::TraceId{}), HoldersOf(place)));
  };
  WHEREFORE_RETURN_IF_ERROR(InParts(traces, kTracesAtOnce, add_all));
  return rows;
}

}  // namespace wherefore::store
