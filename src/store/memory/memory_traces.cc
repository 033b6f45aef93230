// MemoryReader: what a list of traces says of each of them.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "store/engine/ids.h"
#include "store/memory/memory_reader.h"
#include "store/memory/scan_rows.h"
#include "store/memory/span_rows.h"

namespace wherefore::store::memory {

Result<std::vector<profile::TraceId>> MemoryReader::FindTraces(const SpanSearch& search,
                                                               const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::map<profile::TraceId, std::int64_t> rank;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    if (!Matches(search, span)) return;
    const std::int64_t value = search.slowest ? span.row.duration_ns : span.row.start_ns;
    const auto [found, fresh] = rank.try_emplace(span.row.trace, value);
    found->second = std::max(found->second, value);
  }));
  std::vector<std::pair<std::int64_t, profile::TraceId>> order;
  order.reserve(rank.size());
  for (const auto& [trace, value] : rank) order.emplace_back(-value, trace);
  std::ranges::sort(order);
  if (order.size() > search.limit) order.resize(search.limit);
  std::vector<profile::TraceId> traces;
  traces.reserve(order.size());
  for (const auto& [value, trace] : order) traces.push_back(trace);
  return Charged(std::move(traces), cancel);
}

namespace {

struct TraceSums {
  TraceRow row;
  std::uint64_t root_service = 0;
  std::pair<bool, std::int64_t> root{true,
                                     INT64_MAX};  // has a parent, start: the least is the root

  void Add(const SpanRow& span) {
    row.trace = span.trace;
    row.start_ns = row.spans == 0 ? span.start_ns : std::min(row.start_ns, span.start_ns);
    const std::int64_t end = span.start_ns + span.duration_ns;
    row.end_ns = row.spans == 0 ? end : std::max(row.end_ns, end);
    ++row.spans;
    if (span.status_code == 2) ++row.errors;
    const bool has_parent = span.parent != profile::SpanId{};
    row.root_missing = row.spans == 1 ? has_parent : row.root_missing && has_parent;
    const std::pair<bool, std::int64_t> place{has_parent, span.start_ns};
    if (row.spans > 1 && place >= root) return;
    root = place;
    root_service = span.service;
    row.root_name = span.name;
  }
};

}  // namespace

Result<std::vector<TraceRow>> MemoryReader::Traces(std::uint32_t tenant,
                                                   const std::vector<profile::TraceId>& traces,
                                                   const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const auto spans,
                             SpansOf(tables_, tenant, {traces.begin(), traces.end()}, cancel));
  std::map<profile::TraceId, TraceSums> sums;
  std::set<std::uint32_t> buckets;
  for (const StoredSpan* span : spans) {
    sums[span->row.trace].Add(span->row);
    buckets.insert(span->key.bucket);
  }
  const auto names =
      ServiceNames(tables_, tenant, [&](std::uint32_t bucket) { return buckets.contains(bucket); });
  std::vector<TraceRow> rows;
  for (auto& [trace, sum] : sums) {
    if (const auto found = names.find(sum.root_service); found != names.end())
      sum.row.root_service = found->second;
    rows.push_back(std::move(sum.row));
  }
  return Charged(std::move(rows), cancel);
}

namespace {

// Under which ids a profiler that knows only spans may have filed samples of a trace.
std::set<profile::SpanId> HoldersOf(const SpanRow& span) {
  std::set<profile::SpanId> holders{span.id};
  holders.insert(SpanIdOf(ProfileIdOf(span)));
  holders.erase(profile::SpanId{});
  return holders;
}

}  // namespace

Result<std::vector<TraceSamples>> MemoryReader::SamplesOfTraces(
    std::uint32_t tenant, const std::vector<profile::TraceId>& traces, bool by_span,
    const CancelToken& cancel) {
  const std::set<profile::TraceId> wanted(traces.begin(), traces.end());
  ReaderLock lock(mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const auto spans, SpansOf(tables_, tenant, wanted, cancel));
  std::map<profile::SpanId, std::set<profile::TraceId>> of_holder;
  for (const StoredSpan* span : spans) {
    for (const profile::SpanId& holder : HoldersOf(span->row))
      of_holder[holder].insert(span->row.trace);
  }
  using Alike = std::tuple<DictionaryKey, profile::TraceId, profile::SpanId, std::uint64_t,
                           std::int64_t, std::int64_t>;
  // Those that name their trace, and those that do not.
  std::map<std::pair<bool, Alike>, TraceSamples> counts;
  const auto count = [&](const LinkRow& link, const profile::TraceId& trace) {
    const profile::SpanId span = by_span ? link.span : profile::SpanId{};
    TraceSamples& row = counts[{trace != link.trace,
                                {link.dictionary, trace, span, link.type, link.value, link.count}}];
    row = {link.dictionary, trace, span, link.type, link.value, link.count, row.samples + 1};
  };
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.links, cancel, [&](const LinkRow& link) {
    if (link.dictionary.tenant != tenant) return;
    if (wanted.contains(link.trace)) count(link, link.trace);
    if (link.trace != profile::TraceId{}) return;
    const auto found = of_holder.find(link.span);
    if (found == of_holder.end()) return;
    for (const profile::TraceId& trace : found->second) count(link, trace);
  }));
  return Charged(std::move(counts), cancel);
}

Result<std::vector<SpanTime>> MemoryReader::SpanTimes(std::uint32_t tenant,
                                                      const std::vector<profile::TraceId>& traces,
                                                      const std::vector<profile::SpanId>& spans,
                                                      const CancelToken& cancel) {
  const std::set<profile::SpanId> wanted(spans.begin(), spans.end());
  ReaderLock lock(mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const auto found,
                             SpansOf(tables_, tenant, {traces.begin(), traces.end()}, cancel));
  std::vector<SpanTime> rows;
  for (const StoredSpan* span : found) {
    const SpanRow& row = span->row;
    if (!wanted.contains(row.id) && !wanted.contains(row.parent)) continue;
    rows.push_back(
        {row.trace, row.id, row.parent, row.start_ns, row.duration_ns, !ProfileIdOf(row).empty()});
  }
  return Charged(std::move(rows), cancel);
}

Result<std::vector<SpanTime>> MemoryReader::FindSpans(const SpanSearch& search,
                                                      const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::vector<SpanTime> rows;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.spans, cancel, [&](const StoredSpan& span) {
    const SpanRow& row = span.row;
    if (Matches(search, span))
      rows.push_back({row.trace, row.id, row.parent, row.start_ns, row.duration_ns,
                      !ProfileIdOf(row).empty()});
  }));
  std::ranges::stable_sort(rows, {},
                           [](const SpanTime& s) { return std::tuple(-s.start_ns, s.id); });
  if (rows.size() > search.limit) rows.resize(search.limit);
  return Charged(std::move(rows), cancel);
}

Result<std::vector<LinkRow>> MemoryReader::LinksOfTraces(
    std::uint32_t tenant, const std::vector<profile::TraceId>& traces, const CancelToken& cancel) {
  const std::set<profile::TraceId> wanted(traces.begin(), traces.end());
  ReaderLock lock(mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const auto spans, SpansOf(tables_, tenant, wanted, cancel));
  std::set<profile::SpanId> holders;
  for (const StoredSpan* span : spans) holders.merge(HoldersOf(span->row));
  std::vector<LinkRow> rows;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.links, cancel, [&](const LinkRow& link) {
    if (link.dictionary.tenant != tenant) return;
    const bool span_only = link.trace == profile::TraceId{};
    if (span_only ? holders.contains(link.span) : wanted.contains(link.trace)) rows.push_back(link);
  }));
  return Charged(std::move(rows), cancel);
}

}  // namespace wherefore::store::memory
