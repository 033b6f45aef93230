#include "query/traces.h"

#include <algorithm>
#include <map>
#include <set>

namespace wherefore::query {
namespace {

bool ByLooks(const TypesRead& read) {
  return std::ranges::any_of(read.uses,
                             [](const auto& u) { return profile::IsByLooks(u.second.details); });
}

using SamplesOfTrace = std::vector<const store::TraceSamples*>;

// What is shown of looks at the spans of one trace.
Looks ShownOf(const TypesRead& read, const SamplesOfTrace& samples,
              const std::map<SpanKey, std::int64_t>& own) {
  std::map<SpanKey, std::pair<std::int64_t, std::int64_t>> spans;  // value, looks
  for (const store::TraceSamples* s : samples) {
    const auto use = read.uses.find(s->type);
    if (use == read.uses.end()) continue;
    auto& [value, looks] = spans[{s->trace, s->span}];
    value = SaturatingAdd(value, SaturatingMultiply(use->second.Value(s->value), s->samples));
    looks += use->second.Count(s->value, s->count) * s->samples;
  }
  Looks all;
  for (const auto& [span, seen] : spans) {
    const auto found = own.find(span);
    all.Add(ShowLooks(seen.first, seen.second,
                      found == own.end() ? std::nullopt : std::optional(found->second)));
  }
  return all;
}

// The samples of one trace by type, the one its own page shows first; `own`: what its spans took by
// themselves, null: looks are not clipped.
std::vector<TraceProfile> ProfilesOf(const std::vector<store::TypeRow>& types,
                                     const SamplesOfTrace& samples,
                                     const std::map<SpanKey, std::int64_t>* own) {
  std::vector<TraceProfile> out;
  const auto add = [&](const std::string& name) {
    const TypesRead read = ReadAs(types, name);
    TraceProfile& sum = out.emplace_back(TraceProfile{.type = name, .unit = read.unit});
    for (const store::TraceSamples* s : samples) {
      const auto use = read.uses.find(s->type);
      if (use == read.uses.end()) continue;
      sum.value =
          SaturatingAdd(sum.value, SaturatingMultiply(use->second.Value(s->value), s->samples));
      sum.count = SaturatingAdd(
          sum.count, SaturatingMultiply(use->second.Count(s->value, s->count), s->samples));
    }
    if (own == nullptr || !ByLooks(read)) return;
    sum.looks = ShownOf(read, samples, *own);
    sum.value = sum.looks->value;
  };
  const std::string first = DefaultType(types);
  if (first.empty()) return out;
  add(first);
  for (const std::string& name : ShortNamesOf(types)) {
    if (name != first) add(name);
  }
  return out;
}

std::vector<profile::TraceId> IdsOf(const std::vector<TraceSummary*>& traces) {
  std::vector<profile::TraceId> ids;
  ids.reserve(traces.size());
  for (const TraceSummary* trace : traces) ids.push_back(trace->trace);
  return ids;
}

std::vector<TraceSummary*> PointersTo(std::vector<TraceSummary>& traces) {
  std::vector<TraceSummary*> out;
  out.reserve(traces.size());
  for (TraceSummary& trace : traces) out.push_back(&trace);
  return out;
}

std::int64_t CpuOf(const TraceSummary& trace) {
  const auto cpu = std::ranges::find(trace.profiles, "cpu", &TraceProfile::type);
  return cpu == trace.profiles.end() ? 0 : cpu->value;
}

std::int64_t ObservationsOf(const TraceSummary& trace) {
  return trace.profiles.empty() ? 0 : trace.profiles.front().count;
}

}  // namespace

Result<> Summarise(QueryContext& context, std::uint32_t tenant,
                   const std::vector<TraceSummary*>& traces, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto rows, context.reader.Traces(tenant, IdsOf(traces), cancel));
  std::map<profile::TraceId, store::TraceRow*> by_id;
  for (store::TraceRow& row : rows) by_id[row.trace] = &row;
  for (TraceSummary* trace : traces) {
    const auto found = by_id.find(trace->trace);
    if (found == by_id.end()) continue;
    store::TraceRow& row = *found->second;
    trace->root_service = std::move(row.root_service);
    trace->root_name = std::move(row.root_name);
    trace->start_ns = row.start_ns;
    trace->duration_ns = row.end_ns - row.start_ns;
    trace->spans = static_cast<std::size_t>(row.spans);
    trace->errors = static_cast<std::size_t>(row.errors);
    trace->root_missing = row.root_missing;
  }
  return {};
}

namespace {

// What the spans of these samples took by themselves, as far as they were seen by looks.
Result<std::map<SpanKey, std::int64_t>> OwnTimesOf(QueryContext& context, std::uint32_t tenant,
                                                   const std::vector<profile::TraceId>& traces,
                                                   const std::vector<store::TraceSamples>& samples,
                                                   const CancelToken& cancel) {
  TypesSeen seen;
  for (const store::TraceSamples& s : samples) seen.emplace(s.dictionary, s.type);
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, context.catalog.TypesOf(seen, cancel));
  std::set<std::uint64_t> by_looks;
  for (const store::TypeRow& t : types) {
    if (profile::IsByLooks(t.details)) by_looks.insert(t.type);
  }
  std::set<profile::SpanId> spans;
  for (const store::TraceSamples& s : samples) {
    if (by_looks.contains(s.type)) spans.insert(s.span);
  }
  if (spans.empty()) return std::map<SpanKey, std::int64_t>();
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto times,
      context.reader.SpanTimes(tenant, traces, {spans.begin(), spans.end()}, cancel));
  return OwnTimes(times);
}

// Clipped: looks by what is shown of each span, as a trace's own page has it.
enum class CountLooks : std::uint8_t { kAsTheyAre, kClipped };

// Fills in what the samples of these traces add up to.
Result<> CountSamples(QueryContext& context, std::uint32_t tenant,
                      const std::vector<TraceSummary*>& traces, CountLooks looks,
                      const CancelToken& cancel) {
  const bool clipped = looks == CountLooks::kClipped;
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto rows, context.reader.SamplesOfTraces(tenant, IdsOf(traces), clipped, cancel));
  std::map<profile::TraceId, SamplesOfTrace> by_trace;
  for (const store::TraceSamples& row : rows) by_trace[row.trace].push_back(&row);
  std::map<SpanKey, std::int64_t> own;
  if (clipped) {
    WHEREFORE_ASSIGN_OR_RETURN(own, OwnTimesOf(context, tenant, IdsOf(traces), rows, cancel));
  }
  std::map<TypesSeen, std::vector<store::TypeRow>> types;
  for (TraceSummary* trace : traces) {
    const auto samples = by_trace.find(trace->trace);
    if (samples == by_trace.end()) continue;
    TypesSeen seen;
    for (const store::TraceSamples* s : samples->second) seen.emplace(s->dictionary, s->type);
    auto known = types.find(seen);  // most traces have the same few
    if (known == types.end()) {
      WHEREFORE_ASSIGN_OR_RETURN(auto found, context.catalog.TypesOf(seen, cancel));
      known = types.emplace(std::move(seen), std::move(found)).first;
    }
    trace->profiles = ProfilesOf(known->second, samples->second, clipped ? &own : nullptr);
  }
  return {};
}

}  // namespace

Result<TraceList> SearchTraces(QueryContext& context, const store::SpanSearch& search,
                               SearchOrder order, const CancelToken& cancel) {
  constexpr std::size_t kMostCompared = 20'000;  // traces, by their samples
  const bool by_samples = order == SearchOrder::kCpu || order == SearchOrder::kSamples;
  store::SpanSearch wanted = search;
  wanted.slowest = order == SearchOrder::kDuration;
  if (by_samples) wanted.limit = kMostCompared + 1;
  WHEREFORE_ASSIGN_OR_RETURN(auto ids, context.reader.FindTraces(wanted, cancel));
  TraceList list;
  if (by_samples && ids.size() > kMostCompared) {
    ids.resize(kMostCompared);
    list.looked_at = kMostCompared;
  }
  std::vector<TraceSummary>& out = list.traces;
  out.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) out[i].trace = ids[i];
  if (ids.empty()) return list;
  if (by_samples) {
    WHEREFORE_RETURN_IF_ERROR(
        CountSamples(context, search.tenant, PointersTo(out), CountLooks::kAsTheyAre, cancel));
    // Of equal ones the newest stay first.
    std::ranges::stable_sort(out, std::greater(), [&](const TraceSummary& t) {
      return order == SearchOrder::kCpu ? CpuOf(t) : ObservationsOf(t);
    });
    if (out.size() > search.limit) out.resize(search.limit);
  }
  const std::vector<TraceSummary*> all = PointersTo(out);
  WHEREFORE_RETURN_IF_ERROR(Summarise(context, search.tenant, all, cancel));
  WHEREFORE_RETURN_IF_ERROR(
      CountSamples(context, search.tenant, all, CountLooks::kClipped, cancel));
  if (search.most_per_trace == 0) return list;
  std::map<profile::TraceId, TraceSummary*> by_id;
  for (TraceSummary* trace : all) by_id[trace->trace] = trace;
  store::SpanSearch spans = search;
  spans.traces = IdsOf(all);
  spans.limit = all.size() * search.most_per_trace;
  WHEREFORE_ASSIGN_OR_RETURN(auto matched, context.reader.SearchSpans(spans, cancel));
  for (store::SpanRow& span : matched) {
    // Not there: it came in after the traces were looked for.
    if (const auto at = by_id.find(span.trace); at != by_id.end())
      at->second->matched.push_back(std::move(span));
  }
  return list;
}

Result<std::vector<store::SpanRow>> Trace(QueryContext& context, std::uint32_t tenant,
                                          const profile::TraceId& trace,
                                          const CancelToken& cancel) {
  return context.reader.Trace(tenant, trace, cancel);
}

Result<std::vector<store::SpanRow>> TraceShape(QueryContext& context, std::uint32_t tenant,
                                               const profile::TraceId& trace,
                                               const CancelToken& cancel) {
  return context.reader.TraceShape(tenant, trace, cancel);
}

Result<std::vector<std::pair<std::string, std::string>>> SpanNames(QueryContext& context,
                                                                   std::uint32_t tenant,
                                                                   store::TimeRange range,
                                                                   const CancelToken& cancel) {
  return context.reader.SpanNames(tenant, range, cancel);
}

Result<std::vector<profile::TraceId>> FindTraces(QueryContext& context, const SpanSearch& search,
                                                 const CancelToken& cancel) {
  return context.reader.FindTraces(search, cancel);
}

Result<std::vector<SpanRow>> SearchSpans(QueryContext& context, const SpanSearch& search,
                                         const CancelToken& cancel) {
  return context.reader.SearchSpans(search, cancel);
}

Result<> AddDescendants(const std::vector<store::SpanRow>& trace,
                        std::vector<profile::SpanId>& spans) {
  std::multimap<profile::SpanId, profile::SpanId> children;
  for (const store::SpanRow& span : trace) children.emplace(span.parent, span.id);
  std::set<profile::SpanId> seen(spans.begin(), spans.end());
  for (std::size_t i = 0; i < spans.size(); ++i) {  // grows while it is walked
    const auto [begin, end] = children.equal_range(spans[i]);
    for (auto it = begin; it != end; ++it) {
      if (seen.insert(it->second).second) spans.push_back(it->second);
    }
    if (spans.size() > kMaxSubtreeSpans) {
      return Error(Code::kLimit,
                   fmt::format("parameter 'subtree': below this span are more than {} spans; ask "
                               "for one further down, or for the whole trace",
                               kMaxSubtreeSpans));
    }
  }
  return {};
}

}  // namespace wherefore::query
