// Engine: profiles of spans and of whole traces, and traces by their id.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.h"
#include "query/engine.h"

namespace wherefore::query {
namespace {

// The id under which a profiler filed the samples of a span, where the span says so: its own, its
// local root's, or one that no span has.
std::optional<profile::SpanId> ProfileIdOf(const store::SpanRow& span) {
  for (const auto& [key, value] : span.attributes) {
    if (key != "pyroscope.profile.id") continue;
    const auto bytes = FromHex(value);
    profile::SpanId id{};
    if (!bytes || bytes->size() != id.size()) continue;
    std::ranges::copy(*bytes, id.begin());
    return id;
  }
  return std::nullopt;
}

// The services with samples of a span that is not a local root: their profilers link every span,
// so a span without samples has none elsewhere. A span that names where its samples are filed is a
// local root, whatever its parent is (a service that calls itself).
std::set<std::uint64_t> ServicesThatLinkInnerSpans(const std::vector<store::SpanRow>& trace,
                                                   const std::set<profile::SpanId>& with_samples) {
  std::map<profile::SpanId, std::uint64_t> service_of;
  for (const store::SpanRow& row : trace) service_of.try_emplace(row.id, row.service);
  std::set<std::uint64_t> services;
  for (const store::SpanRow& row : trace) {
    if (!with_samples.contains(row.id) || ProfileIdOf(row)) continue;
    const auto parent = service_of.find(row.parent);
    if (parent != service_of.end() && parent->second == row.service) services.insert(row.service);
  }
  return services;
}

// Where the samples of a trace's spans may be filed: with the spans around them in their own
// service, or where a span says so, which is believed.
class Holders {
 public:
  explicit Holders(const std::vector<store::SpanRow>& trace) {
    for (const store::SpanRow& row : trace) by_id_.try_emplace(Key(row.id), &row);
  }
  [[nodiscard]] const store::SpanRow* Find(const profile::SpanId& id) const {
    const auto it = by_id_.find(Key(id));
    return it == by_id_.end() ? nullptr : it->second;
  }

  // Adds all that may hold samples of `span` to `ids`; without `guess` only what it says itself.
  void AddPossible(const store::SpanRow& span, bool guess, std::set<profile::SpanId>& ids) const {
    if (const auto id = ProfileIdOf(span); id && *id != span.id) ids.insert(*id);
    if (!guess) return;
    for (const auto* at = Around(span); at != nullptr; at = Around(*at)) {
      if (!ids.insert(at->id).second) return;  // and with it those around it; or a circle
    }
  }
  // The nearest one of those that `links` are filed under.
  [[nodiscard]] std::optional<profile::SpanId> Nearest(
      const store::SpanRow& span, bool guess,
      const std::map<profile::SpanId, std::vector<store::LinkRow>>& links) {
    if (const auto id = ProfileIdOf(span); id && *id != span.id && links.contains(*id)) return id;
    if (!guess) return std::nullopt;
    std::vector<const store::SpanRow*> path{&span};
    std::optional<profile::SpanId> found;
    // Each span is passed once, however many are below it; parents may go in a circle.
    while (const auto* at = Around(*path.back())) {
      if (links.contains(at->id)) {
        found = at->id;
        break;
      }
      const auto [known, is_new] = nearest_.try_emplace(at, std::nullopt);
      if (!is_new) {
        found = known->second;
        break;
      }
      path.push_back(at);
    }
    for (const auto* at : path) nearest_[at] = found;
    return found;
  }

 private:
  static std::uint64_t Key(const profile::SpanId& id) { return std::bit_cast<std::uint64_t>(id); }
  [[nodiscard]] const store::SpanRow* Around(const store::SpanRow& span) const {
    const store::SpanRow* const parent = Find(span.parent);
    return parent != nullptr && parent->service == span.service ? parent : nullptr;
  }

  std::unordered_map<std::uint64_t, const store::SpanRow*> by_id_;
  std::unordered_map<const store::SpanRow*, std::optional<profile::SpanId>> nearest_;
};

// What of a sample was observed in [from, to).
store::LinkRow Within(const store::TimedLinkRow& row, const profile::SpanId& span,
                      std::int64_t from_ns, std::int64_t to_ns) {
  store::LinkRow link{
      .dictionary = row.dictionary, .span = span, .type = row.type, .stack = row.stack};
  for (std::size_t i = 0; i < row.times.size(); ++i) {
    const auto time = static_cast<std::int64_t>(row.times[i]);
    if (time < from_ns || time >= to_ns) continue;
    ++link.count;
    if (row.values.size() == row.times.size()) link.value += row.values[i];
  }
  if (row.values.size() != row.times.size()) {
    // One value for all of its times: they are alike.
    link.value = row.value / static_cast<std::int64_t>(row.times.size()) * link.count;
  }
  return link;
}

}  // namespace

Result<> Engine::FillSpanAnswer(const std::vector<store::LinkRow>& links, const std::string& type,
                                SpanProfileAnswer& answer, std::string& type_names,
                                const CancelToken& cancel) {
  TypesSeen seen;
  for (const store::LinkRow& link : links) seen.emplace(link.dictionary, link.type);
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, catalog_.TypesOf(seen, cancel));
  const std::string wanted = type.empty() ? DefaultType(types) : type;
  const TypesRead read = ReadAs(types, wanted);
  std::map<store::DictionaryKey, std::vector<StackValue>> values;
  for (const store::LinkRow& link : links) {
    const auto use = read.uses.find(link.type);
    if (use == read.uses.end()) continue;
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
  WHEREFORE_ASSIGN_OR_RETURN(answer.tree, BuildTree(builder, cancel));
  answer.tree.type = wanted;
  answer.tree.unit = read.unit;
  const std::set<std::string> names = ShortNamesOf(types);
  answer.types.assign(names.begin(), names.end());
  type_names = fmt::format("{}", fmt::join(names, ", "));
  return {};
}

Result<std::set<std::uint64_t>> Engine::LinkingInnerSpans(std::uint32_t tenant,
                                                          const std::vector<store::SpanRow>& trace,
                                                          const CancelToken& cancel) {
  if (trace.empty()) return std::set<std::uint64_t>();
  const profile::TraceId& id = trace.front().trace;
  std::set<profile::SpanId> with_samples;
  WHEREFORE_ASSIGN_OR_RETURN(const auto linked, reader_.LinkedSamples(tenant, id, {}, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto by_span_only,
      reader_.SpanOnlyLinks(tenant, id, {trace.front().start_ns, trace.back().start_ns + 1},
                            cancel));
  for (const store::LinkRow& link : linked) with_samples.insert(link.span);
  for (const store::LinkRow& link : by_span_only) with_samples.insert(link.span);
  return ServicesThatLinkInnerSpans(trace, with_samples);
}

Result<> Engine::FillFromLocalRoot(std::uint32_t tenant, const std::vector<store::SpanRow>& trace,
                                   const std::vector<profile::SpanId>& spans,
                                   const std::string& type, SpanProfileAnswer& answer,
                                   const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto link_inner, LinkingInnerSpans(tenant, trace, cancel));
  Holders holders(trace);
  const auto guess = [&](const store::SpanRow& span) { return !link_inner.contains(span.service); };
  std::set<profile::SpanId> possible;
  for (const profile::SpanId& id : spans) {
    if (const auto* span = holders.Find(id)) holders.AddPossible(*span, guess(*span), possible);
  }
  std::map<profile::SpanId, std::vector<store::LinkRow>> links;  // by holder
  if (!possible.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto all,
                               reader_.LinkedSamples(tenant, trace.front().trace,
                                                     {possible.begin(), possible.end()}, cancel));
    for (const store::LinkRow& link : all) links[link.span].push_back(link);
  }
  std::vector<store::LinkRow> within;
  const store::SpanRow* holder_row = nullptr;
  std::map<const store::SpanRow*, std::vector<store::TimedLinkRow>> timed_links;  // by holder
  bool timed_samples = false;
  for (const profile::SpanId& id : spans) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    const store::SpanRow* span = holders.Find(id);
    if (span == nullptr) continue;
    const auto holder = holders.Nearest(*span, guess(*span), links);
    if (!holder) continue;
    const store::SpanRow* found = holders.Find(*holder);
    if (found == nullptr) {
      // An id that is nobody else's: these samples are this span's own.
      for (store::LinkRow link : links[*holder]) {
        link.span = span->id;
        within.push_back(link);
      }
      continue;
    }
    holder_row = found;
    const auto [timed, is_new] = timed_links.try_emplace(found);
    if (is_new) {
      WHEREFORE_ASSIGN_OR_RETURN(timed->second, reader_.TimedLinks(tenant, *found, cancel));
    }
    timed_samples = timed_samples || !timed->second.empty();
    for (const store::TimedLinkRow& link : timed->second) {
      store::LinkRow part =
          Within(link, span->id, span->start_ns, span->start_ns + span->duration_ns);
      if (part.count > 0) within.push_back(part);
    }
  }
  if (!within.empty()) {
    std::string types;
    WHEREFORE_RETURN_IF_ERROR(FillSpanAnswer(within, type, answer, types, cancel));
    if (!answer.by_span.empty()) {
      if (holder_row != nullptr) answer.filed_under = ToHex(holder_row->id);
      return {};
    }
    WHEREFORE_ASSIGN_OR_RETURN(
        answer.hint, ExplainNoLinks(tenant, trace, spans, types, answer.arriving, cancel));
  } else if (holder_row != nullptr) {
    answer.hint = fmt::format(
        "its profiler files all samples of a request under the local root span {} ({}); {}",
        ToHex(holder_row->id), holder_row->name,
        timed_samples ? "none of them was taken while this span ran"
                      : "they carry no times, so those of this span cannot be told from the rest: "
                        "ask for that span");
  }
  return {};
}

Result<SpanProfileAnswer> Engine::SpanProfile(std::uint32_t tenant, const profile::TraceId& trace,
                                              const std::vector<profile::SpanId>& spans,
                                              const std::string& type, const Lens& lens,
                                              const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto links, reader_.LinkedSamples(tenant, trace, spans, cancel));
  std::vector<store::SpanRow> rows;
  if (links.empty() || spans.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(rows, TraceShape(tenant, trace, cancel));
  }
  if (spans.empty() && !rows.empty()) {
    // A whole trace also has the samples of profilers that know only the span, under its id or
    // under one that no span has.
    std::set<profile::SpanId> ids;
    for (const store::SpanRow& row : rows) ids.insert(row.id);
    std::vector<profile::SpanId> others;
    for (const store::SpanRow& row : rows) {
      if (const auto id = ProfileIdOf(row); id && !ids.contains(*id)) others.push_back(*id);
    }
    WHEREFORE_ASSIGN_OR_RETURN(
        auto more, reader_.SpanOnlyLinks(
                       tenant, trace, {rows.front().start_ns, rows.back().start_ns + 1}, cancel));
    if (!others.empty()) {
      WHEREFORE_ASSIGN_OR_RETURN(const auto filed,
                                 reader_.LinkedSamples(tenant, trace, others, cancel));
      more.insert(more.end(), filed.begin(), filed.end());
    }
    for (const store::LinkRow& link : more) {
      if (link.trace == profile::TraceId{}) links.push_back(link);
    }
  }
  SpanProfileAnswer answer;
  std::string types;
  WHEREFORE_RETURN_IF_ERROR(FillSpanAnswer(links, type, answer, types, cancel));
  if (links.empty() && !spans.empty()) {
    WHEREFORE_RETURN_IF_ERROR(FillFromLocalRoot(tenant, rows, spans, type, answer, cancel));
  }
  if (answer.by_span.empty() && answer.hint.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(answer.hint,
                               ExplainNoLinks(tenant, rows, spans, types, answer.arriving, cancel));
  }
  if (!lens.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(answer.tree, lens.Apply(answer.tree, cancel));
  }
  return answer;
}

Result<std::vector<store::SpanRow>> Engine::Trace(std::uint32_t tenant,
                                                  const profile::TraceId& trace,
                                                  const CancelToken& cancel) {
  return reader_.Trace(tenant, trace, cancel);
}

Result<std::vector<std::pair<std::string, std::string>>> Engine::SpanNames(
    std::uint32_t tenant, store::TimeRange range, const CancelToken& cancel) {
  return reader_.SpanNames(tenant, range, cancel);
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
