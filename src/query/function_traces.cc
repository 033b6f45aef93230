#include "query/function_traces.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "query/scan.h"
#include "query/span_profile.h"

namespace wherefore::query {
namespace {

// Spans began before the samples taken in them, and profiles before those: a day at most.
constexpr std::int64_t kEarlier = kNsPerDay;

// Spans, each in a trace of its own as far as their samples say, put together by trace.
std::vector<FunctionTraces::Trace> ByTrace(std::map<SpanKey, FunctionTraces::Span>&& spans) {
  std::vector<FunctionTraces::Trace> out;
  for (auto& [key, span] : spans) {
    const auto& trace = key.first;
    // A profiler that knows only the span leaves the trace empty: such spans stay apart.
    if (out.empty() || out.back().summary.trace != trace || trace == profile::TraceId{}) {
      out.push_back({.summary = {.trace = trace}});
    }
    out.back().value = SaturatingAdd(out.back().value, span.value);
    out.back().count = SaturatingAdd(out.back().count, span.count);
    out.back().spans.push_back(std::move(span));
  }
  return out;
}

void LargestFirst(std::vector<FunctionTraces::Trace>& traces) {
  std::ranges::stable_sort(traces, std::greater(), &FunctionTraces::Trace::value);
  for (FunctionTraces::Trace& t : traces) {
    std::ranges::stable_sort(t.spans, std::greater(), &FunctionTraces::Span::value);
  }
}

// False: no stack has it.
Result<bool> SumFunction(QueryContext& context, const Resolved& r, const FunctionName& function,
                         FunctionTraces& answer, const CancelToken& cancel) {
  bool found = false;
  WHEREFORE_ASSIGN_OR_RETURN(const auto values, SumOrAverage(context, r, cancel));
  std::vector<StackTries::Values> all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].empty()) all.push_back({r.query.selections[i].dictionary, values[i]});
  }
  const auto add = [&](std::size_t at, const std::vector<bool>& holds) -> Result<> {
    for (std::size_t k = 0; k < holds.size(); ++k) {
      if (!holds[k]) continue;
      found = true;
      answer.value = SaturatingAdd(answer.value, all[at].stacks[k].value);
      answer.count = SaturatingAdd(answer.count, all[at].stacks[k].count);
    }
    return {};
  };
  WHEREFORE_RETURN_IF_ERROR(context.tries.EachHolding(function, all, add, cancel));
  return found;
}

// The spans with a sample on whose stack the function is.
Result<std::map<SpanKey, FunctionTraces::Span>> SpansWith(QueryContext& context, const Resolved& r,
                                                          const FunctionName& function,
                                                          const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto links, context.reader.Links(r.query, {}, cancel));
  std::map<store::DictionaryKey, std::vector<std::size_t>> by_dictionary;
  for (std::size_t i = 0; i < links.size(); ++i) by_dictionary[links[i].dictionary].push_back(i);
  struct Linked {
    const std::string* service;
    const std::vector<std::size_t>* links;
    std::vector<StackValue> stacks;
  };
  std::vector<Linked> linked;
  std::vector<StackTries::Values> all;
  linked.reserve(by_dictionary.size());
  for (std::size_t s = 0; s < r.query.selections.size(); ++s) {
    const auto own = by_dictionary.find(r.query.selections[s].dictionary);
    if (own == by_dictionary.end()) continue;
    Linked& one = linked.emplace_back(Linked{&r.services[s], &own->second, {}});
    for (const std::size_t i : own->second) one.stacks.push_back({.stack = links[i].stack});
    all.push_back({own->first, one.stacks});
  }
  std::map<SpanKey, FunctionTraces::Span> spans;
  const auto add = [&](std::size_t at, const std::vector<bool>& holds) -> Result<> {
    for (std::size_t k = 0; k < holds.size(); ++k) {
      const store::LinkRow& link = links[(*linked[at].links)[k]];
      const auto use = r.types.find(link.type);
      if (!holds[k] || use == r.types.end()) continue;
      FunctionTraces::Span& span = spans[{link.trace, link.span}];
      span.span = link.span;
      span.service = *linked[at].service;
      span.value = SaturatingAdd(span.value, use->second.Value(link.value));
      span.count = SaturatingAdd(span.count, use->second.Count(link.value, link.count));
    }
    return {};
  };
  WHEREFORE_RETURN_IF_ERROR(context.tries.EachHolding(function, all, add, cancel));
  return spans;
}

// Gives spans known by their id alone their trace, where a span of that id is stored.
Result<> FindTracesOfSpans(QueryContext& context, std::uint32_t tenant, store::TimeRange range,
                           std::vector<FunctionTraces::Trace>& traces, const CancelToken& cancel) {
  // Where it took most is what people look at; a list of a million spans helps nobody.
  constexpr std::size_t kMostLookedUp = 5'000;
  std::vector<profile::SpanId> unknown;
  for (const FunctionTraces::Trace& t : traces) {
    if (t.summary.trace == profile::TraceId{} && unknown.size() < kMostLookedUp) {
      unknown.push_back(t.spans[0].span);
    }
  }
  if (unknown.empty()) return {};
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows,
                             context.reader.SpansById(tenant, range, unknown, cancel));
  std::map<profile::SpanId, profile::TraceId> trace_of;
  for (const store::SpanRow& row : rows) trace_of.emplace(row.id, row.trace);
  std::map<profile::TraceId, std::size_t> known;
  std::vector<FunctionTraces::Trace> out;
  for (FunctionTraces::Trace& t : traces) {
    if (t.summary.trace == profile::TraceId{}) {
      const auto found = trace_of.find(t.spans[0].span);
      if (found != trace_of.end()) t.summary.trace = found->second;
    }
    const auto [at, added] = known.try_emplace(t.summary.trace, out.size());
    if (added || t.summary.trace == profile::TraceId{}) {
      out.push_back(std::move(t));
      continue;
    }
    FunctionTraces::Trace& same = out[at->second];
    same.value = SaturatingAdd(same.value, t.value);
    same.count = SaturatingAdd(same.count, t.count);
    std::ranges::move(t.spans, std::back_inserter(same.spans));
  }
  traces = std::move(out);
  return {};
}

// Puts the longest or the newest first; those without spans last.
Result<> OrderByTime(QueryContext& context, std::uint32_t tenant, TraceOrder order,
                     std::vector<FunctionTraces::Trace>& traces, const CancelToken& cancel) {
  // Of more than this those where it took most are looked at.
  constexpr std::size_t kMostOrdered = 20'000;
  if (traces.size() > kMostOrdered) traces.resize(kMostOrdered);
  std::map<profile::TraceId, std::size_t> places;
  std::vector<profile::TraceId> ids;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].summary.trace == profile::TraceId{}) continue;
    places.emplace(traces[i].summary.trace, i);
    ids.push_back(traces[i].summary.trace);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows, context.reader.Traces(tenant, ids, cancel));
  for (const store::TraceRow& t : rows) {
    TraceSummary& summary = traces[places.at(t.trace)].summary;
    summary.start_ns = t.start_ns;
    summary.duration_ns = t.end_ns - t.start_ns;
  }
  std::ranges::stable_sort(traces, std::greater(), [order](const FunctionTraces::Trace& t) {
    return order == TraceOrder::kTime ? t.summary.start_ns : t.summary.duration_ns;
  });
  return {};
}

// Names and lengths of the spans a function was seen in.
Result<> NameSpans(QueryContext& context, std::uint32_t tenant,
                   std::vector<FunctionTraces::Trace>& traces, const CancelToken& cancel) {
  std::vector<TraceSummary*> summaries;
  for (FunctionTraces::Trace& t : traces) {
    if (t.summary.trace != profile::TraceId{}) summaries.push_back(&t.summary);
  }
  WHEREFORE_RETURN_IF_ERROR(Summarise(context, tenant, summaries, cancel));
  std::map<SpanKey, FunctionTraces::Span*> wanted;
  std::vector<profile::SpanId> ids;
  store::TimeRange range{.from_ns = INT64_MAX, .to_ns = 0};
  for (FunctionTraces::Trace& t : traces) {
    if (t.summary.spans == 0) continue;
    range.from_ns = std::min(range.from_ns, t.summary.start_ns);
    range.to_ns = std::max(range.to_ns, t.summary.start_ns + t.summary.duration_ns + 1);
    for (FunctionTraces::Span& span : t.spans) {
      wanted[{t.summary.trace, span.span}] = &span;
      ids.push_back(span.span);
    }
  }
  if (ids.empty()) return {};
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows, context.reader.SpansById(tenant, range, ids, cancel));
  for (const store::SpanRow& row : rows) {
    const auto span = wanted.find({row.trace, row.id});
    if (span == wanted.end()) continue;
    span->second->name = row.name;
    span->second->duration_ns = row.duration_ns;
  }
  return {};
}

// Of each span no more than it took by itself.
Result<> ClipLooks(QueryContext& context, std::uint32_t tenant,
                   std::vector<FunctionTraces::Trace>& traces, const CancelToken& cancel) {
  std::vector<profile::TraceId> ids;
  std::vector<profile::SpanId> spans;
  for (const FunctionTraces::Trace& t : traces) {
    ids.push_back(t.summary.trace);
    for (const FunctionTraces::Span& span : t.spans) spans.push_back(span.span);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto times,
                             context.reader.SpanTimes(tenant, ids, spans, cancel));
  const auto own = OwnTimes(times);
  for (FunctionTraces::Trace& t : traces) {
    t.looks.emplace();
    for (FunctionTraces::Span& span : t.spans) {
      const auto found = own.find({t.summary.trace, span.span});
      span.looks = ShowLooks(span.value, span.count,
                             found == own.end() ? std::nullopt : std::optional(found->second));
      span.value = span.looks->value;
      t.looks->Add(*span.looks);
    }
    t.value = t.looks->value;
  }
  LargestFirst(traces);
  return {};
}

}  // namespace

Result<FunctionTraces> TracesOf(QueryContext& context, const Selection& selection,
                                const FunctionName& function, const TracesOptions& options,
                                const CancelToken& cancel) {
  Selection whole = selection;
  whole.add_up_snapshots = true;  // a link has a value, not a share of an average
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r, context.catalog.Resolve(whole, {}, cancel));
  FunctionTraces answer{.type = r.type, .unit = r.unit};
  WHEREFORE_ASSIGN_OR_RETURN(const bool found, SumFunction(context, r, function, answer, cancel));
  if (!found) {
    answer.hint = r.query.selections.empty()
                      ? context.catalog.ExplainEmpty(selection, cancel)
                      : fmt::format("no function is called '{}' in this selection", function.name);
    return answer;
  }
  WHEREFORE_ASSIGN_OR_RETURN(auto spans, SpansWith(context, r, function, cancel));
  answer.traces = ByTrace(std::move(spans));
  LargestFirst(answer.traces);
  WHEREFORE_RETURN_IF_ERROR(
      FindTracesOfSpans(context, selection.tenant,
                        {selection.range.from_ns - kEarlier, selection.range.to_ns + kEarlier},
                        answer.traces, cancel));
  LargestFirst(answer.traces);
  answer.found = answer.traces.size();
  for (const FunctionTraces::Trace& t : answer.traces) {
    answer.linked_value = SaturatingAdd(answer.linked_value, t.value);
    answer.linked_count = SaturatingAdd(answer.linked_count, t.count);
  }
  if (options.order != TraceOrder::kValue) {
    WHEREFORE_RETURN_IF_ERROR(
        OrderByTime(context, selection.tenant, options.order, answer.traces, cancel));
  }
  if (answer.traces.size() > options.limit) answer.traces.resize(options.limit);
  WHEREFORE_RETURN_IF_ERROR(NameSpans(context, selection.tenant, answer.traces, cancel));
  const bool by_looks = std::ranges::any_of(
      r.types, [](const auto& t) { return profile::IsByLooks(t.second.details); });
  if (by_looks)
    WHEREFORE_RETURN_IF_ERROR(ClipLooks(context, selection.tenant, answer.traces, cancel));
  if (answer.found == 0) {
    answer.hint =
        "none of its samples is linked to a span: its profiler does not know spans, or no span ran";
  }
  return answer;
}

}  // namespace wherefore::query
