// Engine, the trace side: profiles of spans, traces by id, trace search.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "query/engine.h"

namespace wherefore::query {
namespace {

std::string ExplainNoLinks(const std::vector<store::SpanRow>& spans,
                           const std::vector<profile::SpanId>& wanted, std::string_view types) {
  if (!types.empty()) return fmt::format("no samples of that type; the samples are of: {}", types);
  if (spans.empty()) return "neither spans nor samples of this trace are stored";
  if (!wanted.empty() && std::none_of(spans.begin(), spans.end(), [&](const store::SpanRow& s) {
        return std::find(wanted.begin(), wanted.end(), s.id) != wanted.end();
      })) {
    return fmt::format("no such span in this trace; it has {} spans", spans.size());
  }
  std::int64_t longest = 0;
  for (const store::SpanRow& s : spans) longest = std::max(longest, s.duration_ns);
  return fmt::format(
      "no samples are linked to it: its service has no profiler that links spans, or it was too "
      "short to be sampled (longest span: {})",
      FormatDuration(longest));
}

}  // namespace

Result<SpanProfileAnswer> Engine::SpanProfile(std::uint32_t tenant, const profile::TraceId& trace,
                                              const std::vector<profile::SpanId>& spans,
                                              const std::string& type, const Lens& lens,
                                              const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto links, reader_.LinkedSamples(tenant, trace, spans, cancel));
  std::set<store::DictionaryKey> keys;
  for (const store::LinkRow& link : links) keys.insert(link.dictionary);
  std::vector<store::TypeRow> types;
  if (!keys.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(types, catalog_.Types({keys.begin(), keys.end()}, cancel));
  }
  // Only types these samples really have: the default must not be one without data here.
  std::set<std::pair<store::DictionaryKey, std::uint64_t>> seen;
  for (const store::LinkRow& link : links) seen.emplace(link.dictionary, link.type);
  std::erase_if(types,
                [&](const store::TypeRow& t) { return !seen.contains({t.dictionary, t.type}); });

  SpanProfileAnswer answer;
  const std::string wanted = type.empty() ? DefaultType(types) : type;
  std::unordered_map<std::uint64_t, TypeUse> uses;
  std::set<std::string> present;
  std::string unit;
  for (const store::TypeRow& t : types) {
    present.insert(profile::ShortName(t.details));
    if (t.details.stands_for_cpu) present.insert("cpu");
    if (const auto match = profile::MatchType(t.details, wanted)) {
      uses.try_emplace(t.type, TypeUse{.multiplier = match->multiplier, .details = t.details});
      unit = match->unit;
    }
  }
  std::map<store::DictionaryKey, std::vector<StackValue>> values;
  for (const store::LinkRow& link : links) {
    const auto use = uses.find(link.type);
    if (use == uses.end()) continue;
    const std::int64_t value = use->second.Value(link.value);
    values[link.dictionary].push_back(
        {.stack = link.stack, .value = value, .count = use->second.Count(link.value, link.count)});
    std::int64_t& of_span = answer.by_span[ToHex(link.span)];
    of_span = WrappingAdd(of_span, value);
  }
  profile::TreeBuilder builder;
  for (const auto& [key, stacks] : values) {
    WHEREFORE_RETURN_IF_ERROR(tries_.AddTo(builder, key, stacks, cancel));
  }
  answer.tree = builder.Build();
  answer.tree.type = wanted;
  answer.tree.unit = unit;
  if (values.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(auto rows, Trace(tenant, trace, cancel));
    answer.hint = ExplainNoLinks(rows, spans, fmt::format("{}", fmt::join(present, ", ")));
  }
  if (!lens.empty()) answer.tree = lens.Apply(answer.tree);
  return answer;
}

Result<std::vector<store::SpanRow>> Engine::Trace(std::uint32_t tenant,
                                                  const profile::TraceId& trace,
                                                  const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto rows, reader_.Trace(tenant, trace, cancel));
  std::stable_sort(rows.begin(), rows.end(), [](const store::SpanRow& a, const store::SpanRow& b) {
    return a.start_ns < b.start_ns;
  });
  return rows;
}

Result<std::vector<TraceSummary>> Engine::SearchTraces(const store::SpanSearch& search,
                                                       const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto matched, reader_.SearchSpans(search, cancel));
  std::vector<TraceSummary> out;
  std::map<profile::TraceId, std::size_t> index;
  for (store::SpanRow& span : matched) {
    const auto [it, added] = index.try_emplace(span.trace, out.size());
    if (added) out.push_back({.trace = span.trace});
    out[it->second].matched.push_back(std::move(span));
  }
  for (TraceSummary& summary : out) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto spans, Trace(search.tenant, summary.trace, cancel));
    std::int64_t end = 0;
    summary.spans = spans.size();
    for (const store::SpanRow& span : spans) {
      if (summary.start_ns == 0) summary.start_ns = span.start_ns;
      end = std::max(end, span.start_ns + span.duration_ns);
      summary.errors += span.status_code == 2 ? 1 : 0;
      const bool root = span.parent == profile::SpanId{};
      if (summary.root_name.empty() || root) {
        summary.root_name = span.name;
        summary.root_service = span.service_name;
      }
    }
    summary.duration_ns = end - summary.start_ns;
  }
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> Engine::SpanNames(
    std::uint32_t tenant, store::TimeRange range, const CancelToken& cancel) {
  return reader_.SpanNames(tenant, range, cancel);
}

}  // namespace wherefore::query
