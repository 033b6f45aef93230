// MemoryReader: traces and spans.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "store/engine/ids.h"
#include "store/engine/schema.h"
#include "store/memory/memory_reader.h"
#include "store/memory/scan_rows.h"
#include "store/memory/span_rows.h"
#include "store/read/reader.h"

namespace wherefore::store::memory {
namespace {

using Spans = std::vector<const StoredSpan*>;

void InTraceOrder(Spans& spans) {
  std::ranges::stable_sort(spans, {}, [](const StoredSpan* span) {
    return std::tuple(span->row.start_ns, span->row.id);
  });
}

std::map<std::uint64_t, std::string> ServiceNames(const Tables& tables, std::uint32_t tenant,
                                                  TimeRange range) {
  const BucketRange buckets = BucketsOf(range.from_ns, range.to_ns);
  return ServiceNames(tables, tenant,
                      [buckets](std::uint32_t bucket) { return buckets.Has(bucket); });
}

std::string NameOf(const std::map<std::uint64_t, std::string>& names, std::uint64_t service) {
  const auto found = names.find(service);
  return found == names.end() ? std::string() : found->second;
}

// As the engine's quantileExact has it.
std::int64_t AtLevel(const std::vector<std::int64_t>& sorted, double level) {
  return sorted[static_cast<std::size_t>(level * static_cast<double>(sorted.size()))];
}

}  // namespace

Result<std::vector<SpanRow>> MemoryReader::Trace(std::uint32_t tenant,
                                                 const profile::TraceId& trace,
                                                 const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(Spans spans, SpansOf(tables_, tenant, {trace}, cancel));
  InTraceOrder(spans);
  return Charged(WholeRows(tables_, tenant, spans), cancel);
}

Result<std::vector<SpanRow>> MemoryReader::TraceShape(std::uint32_t tenant,
                                                      const profile::TraceId& trace,
                                                      const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<SpanRow> rows, Trace(tenant, trace, cancel));
  for (SpanRow& row : rows) {
    const std::string id(ProfileIdOf(row));
    row.status_message.clear();
    row.attributes.clear();
    if (!id.empty()) row.attributes.emplace_back(kProfileId, id);
    row.resource.clear();
    row.encoded.clear();
  }
  return rows;
}

Result<std::vector<SpanRow>> MemoryReader::ShapesOfTraces(
    std::uint32_t tenant, const std::vector<profile::TraceId>& traces, const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(Spans spans,
                             SpansOf(tables_, tenant, {traces.begin(), traces.end()}, cancel));
  InTraceOrder(spans);
  std::ranges::stable_sort(spans, {}, [](const StoredSpan* span) { return span->row.trace; });
  std::vector<SpanRow> rows = WholeRows(tables_, tenant, spans);
  const auto keep = [](auto& pairs, const auto& wanted) {
    std::erase_if(pairs, [&](const auto& pair) {
      return std::ranges::find(wanted, pair.first) == std::ranges::end(wanted);
    });
  };
  for (SpanRow& row : rows) {
    row.status_message.clear();
    row.encoded.clear();
    keep(row.attributes, kTimingAttributes);
    keep(row.resource, kInstanceLabels);
  }
  return Charged(std::move(rows), cancel);
}

Result<std::vector<SpanRow>> MemoryReader::SearchSpans(const SpanSearch& search,
                                                       const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  Spans spans;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    if (Matches(search, span)) spans.push_back(&span);
  }));
  std::ranges::stable_sort(spans, [](const StoredSpan* a, const StoredSpan* b) {
    return std::tuple(-a->row.start_ns, a->row.id) < std::tuple(-b->row.start_ns, b->row.id);
  });
  if (search.most_per_trace > 0) {
    std::map<profile::TraceId, std::size_t> taken;
    std::erase_if(spans, [&](const StoredSpan* span) {
      return ++taken[span->row.trace] > search.most_per_trace;
    });
  }
  if (spans.size() > search.limit) spans.resize(search.limit);
  return Charged(WholeRows(tables_, search.tenant, spans), cancel);
}

Result<std::vector<SpanRow>> MemoryReader::SpansById(std::uint32_t tenant, TimeRange range,
                                                     const std::vector<profile::SpanId>& ids,
                                                     const CancelToken& cancel) {
  const std::set<profile::SpanId> wanted(ids.begin(), ids.end());
  ReaderLock lock(mutex_);
  Spans spans;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    if (span.key.tenant == tenant && wanted.contains(span.row.id) &&
        span.row.start_ns >= range.from_ns && span.row.start_ns < range.to_ns)
      spans.push_back(&span);
  }));
  InTraceOrder(spans);
  return Charged(WholeRows(tables_, tenant, spans), cancel);
}

namespace {

bool Means(const ServiceSpansQuery& query, const StoredSpan& span) {
  return span.key.tenant == query.tenant && span.row.start_ns >= query.range.from_ns &&
         span.row.start_ns < query.range.to_ns && query.share.Has(span.row.trace) &&
         std::ranges::find(query.services, span.row.service) != query.services.end();
}

}  // namespace

Result<std::int64_t> MemoryReader::CountRequests(const ServiceSpansQuery& query,
                                                 const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::int64_t count = 0;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    if (Means(query, span) && IsRequest(span.row)) ++count;
  }));
  return count;
}

Result<ServiceSpans> MemoryReader::SpansOfServices(const ServiceSpansQuery& query,
                                                   const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  ServiceSpans out;
  std::map<std::vector<std::pair<std::string, std::string>>, std::uint32_t> numbers;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    if (!Means(query, span)) return;
    const SpanRow& row = span.row;
    auto resource = row.resource;
    std::ranges::sort(resource);
    const auto [at, fresh] =
        numbers.try_emplace(resource, static_cast<std::uint32_t>(out.resources.size()));
    if (fresh) out.resources.push_back(std::move(resource));
    out.spans.push_back({row.service, row.trace, row.id, row.parent, row.name, row.kind,
                         row.start_ns, row.duration_ns, SpanIdOf(ProfileIdOf(row)), at->second});
  }));
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(out.spans.size() * sizeof(ServiceSpan)));
  return out;
}

Result<std::vector<LatencyRow>> MemoryReader::Latencies(std::uint32_t tenant, TimeRange range,
                                                        const CancelToken& cancel) {
  struct Requests {
    std::vector<std::int64_t> durations;
    std::int64_t errors = 0;
  };
  ReaderLock lock(mutex_);
  std::map<std::uint64_t, Requests> by_service;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    const SpanRow& row = span.row;
    if (span.key.tenant != tenant || row.start_ns < range.from_ns || row.start_ns >= range.to_ns)
      return;
    if (!IsRequest(row)) return;
    Requests& requests = by_service[row.service];
    requests.durations.push_back(row.duration_ns);
    if (row.status_code == 2) ++requests.errors;
  }));
  const auto names = ServiceNames(tables_, tenant, range);
  std::vector<LatencyRow> rows;
  rows.reserve(by_service.size());
  for (auto& [service, requests] : by_service) {
    std::ranges::sort(requests.durations);
    rows.push_back({NameOf(names, service), static_cast<std::int64_t>(requests.durations.size()),
                    requests.errors, AtLevel(requests.durations, 0.5),
                    AtLevel(requests.durations, 0.99)});
  }
  return Charged(std::move(rows), cancel);
}

Result<std::vector<DurationCell>> MemoryReader::Durations(const SpanSearch& search,
                                                          const Steps& steps,
                                                          const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::map<std::pair<std::int64_t, std::int64_t>, DurationCell> cells;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    if (!Matches(search, span)) return;
    const std::int64_t step =
        (span.row.start_ns - steps.phase_ns) / steps.width_ns * steps.width_ns + steps.phase_ns;
    const std::int64_t row = DurationRow(span.row.duration_ns);
    DurationCell& cell = cells[{step, row}];
    cell = {step, row, cell.count + 1, cell.errors + (span.row.status_code == 2 ? 1 : 0)};
  }));
  return Charged(std::move(cells), cancel);
}

Result<std::vector<std::pair<std::string, std::string>>> MemoryReader::SpanNames(
    std::uint32_t tenant, TimeRange range, const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::set<std::pair<std::uint64_t, std::string>> seen;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    if (span.key.tenant == tenant && span.row.start_ns >= range.from_ns &&
        span.row.start_ns < range.to_ns)
      seen.emplace(span.row.service, span.row.name);
  }));
  const auto names = ServiceNames(tables_, tenant, range);
  std::vector<std::pair<std::string, std::string>> rows;
  rows.reserve(seen.size());
  for (const auto& [service, name] : seen) rows.emplace_back(NameOf(names, service), name);
  std::ranges::sort(rows);
  return Charged(std::move(rows), cancel);
}

}  // namespace wherefore::store::memory
