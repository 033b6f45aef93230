#include "query/span_profile.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.h"
#include "query/flame.h"
#include "query/local_roots.h"
#include "query/traces.h"
#include "query/why_no_samples.h"

namespace wherefore::query {
namespace {

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

// Whose an observation of a request is: of the spans that ran then the one that began last, which
// is the innermost. One observation is counted once, however many spans share its time.
class InnermostAt {
 public:
  explicit InnermostAt(std::vector<const store::SpanRow*> spans) : spans_(std::move(spans)) {
    std::ranges::stable_sort(spans_, std::greater(), &store::SpanRow::start_ns);
  }
  [[nodiscard]] const store::SpanRow* Find(std::int64_t time_ns) const {
    const auto at = std::ranges::find_if(spans_, [&](const store::SpanRow* s) {
      return time_ns >= s->start_ns && time_ns < s->start_ns + s->duration_ns;
    });
    return at == spans_.end() ? nullptr : *at;
  }

 private:
  std::vector<const store::SpanRow*> spans_;
};

// What of a sample was observed while some of these spans ran.
void AddWithin(const store::TimedLinkRow& row, const InnermostAt& innermost,
               std::vector<store::LinkRow>& out) {
  const bool each = row.values.size() == row.times.size();
  std::map<profile::SpanId, store::LinkRow> parts;
  for (std::size_t i = 0; i < row.times.size(); ++i) {
    const store::SpanRow* span = innermost.Find(static_cast<std::int64_t>(row.times[i]));
    if (span == nullptr) continue;
    store::LinkRow& part = parts[span->id];
    ++part.count;
    if (each) part.value = SaturatingAdd(part.value, row.values[i]);
  }
  // One value for all of its times: they are alike.
  InProportion share(row.value, static_cast<std::int64_t>(row.times.size()));
  for (auto& [id, part] : parts) {
    part.dictionary = row.dictionary;
    part.span = id;
    part.type = row.type;
    part.stack = row.stack;
    if (!each) part.value = share.Next(part.count);
    out.push_back(part);
  }
}

}  // namespace

Result<std::map<SpanKey, Looks>> ClipLooks(QueryContext& context, std::uint32_t tenant,
                                           const profile::TraceId& trace,
                                           const std::unordered_map<std::uint64_t, TypeUse>& uses,
                                           std::vector<store::LinkRow>& links,
                                           const CancelToken& cancel) {
  std::map<SpanKey, Looks> seen;
  const auto by_looks = [&](const store::LinkRow& link) {
    const auto use = uses.find(link.type);
    return use != uses.end() && profile::IsByLooks(use->second.details);
  };
  const auto key_of = [&](const store::LinkRow& link) {
    return SpanKey(trace == profile::TraceId{} ? link.trace : trace, link.span);
  };
  for (const store::LinkRow& link : links) {
    if (!by_looks(link)) continue;
    Looks& of_span = seen[key_of(link)];
    of_span.value = SaturatingAdd(of_span.value, link.value);
    of_span.looks += uses.at(link.type).Count(link.value, link.count);
  }
  if (seen.empty()) return seen;
  std::set<profile::TraceId> traces;
  std::vector<profile::SpanId> ids;
  for (const auto& [key, looks] : seen) {
    traces.insert(key.first);
    ids.push_back(key.second);
  }
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto times,
      context.reader.SpanTimes(tenant, {traces.begin(), traces.end()}, ids, cancel));
  const auto own = OwnTimes(times);
  std::map<SpanKey, InProportion> shares;
  for (auto& [key, looks] : seen) {
    const auto found = own.find(key);
    const Looks shown = ShowLooks(looks.value, looks.looks,
                                  found == own.end() ? std::nullopt : std::optional(found->second));
    shares.try_emplace(key, shown.value, looks.value);
    looks = shown;
  }
  for (store::LinkRow& link : links) {
    if (by_looks(link)) link.value = shares.at(key_of(link)).Next(link.value);
  }
  return seen;
}

namespace {

// From linked samples to a tree.
Result<> FillSpanAnswer(QueryContext& context, std::uint32_t tenant, const profile::TraceId& trace,
                        std::vector<store::LinkRow> links, const std::string& type,
                        SpanProfileAnswer& answer, std::string& type_names,
                        const CancelToken& cancel) {
  TypesSeen seen;
  for (const store::LinkRow& link : links) seen.emplace(link.dictionary, link.type);
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, context.catalog.TypesOf(seen, cancel));
  const std::string wanted = type.empty() ? DefaultType(types) : type;
  const TypesRead read = ReadAs(types, wanted);
  std::vector<std::int64_t> counts;  // follow from values as they are
  for (const store::LinkRow& link : links) {
    const auto use = read.uses.find(link.type);
    counts.push_back(use == read.uses.end() ? 0 : use->second.Count(link.value, link.count));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto looks,
                             ClipLooks(context, tenant, trace, read.uses, links, cancel));
  for (const auto& [key, of_span] : looks) answer.looks[ToHex(key.second)] = of_span;
  std::map<store::DictionaryKey, std::vector<StackValue>> values;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const store::LinkRow& link = links[i];
    const auto use = read.uses.find(link.type);
    if (use == read.uses.end()) continue;
    const std::int64_t value = use->second.Value(link.value);
    values[link.dictionary].push_back({.stack = link.stack, .value = value, .count = counts[i]});
    std::int64_t& of_span = answer.by_span[ToHex(link.span)];
    of_span = SaturatingAdd(of_span, value);
  }
  std::vector<StackTries::Values> all;
  for (const auto& [key, stacks] : values) all.push_back({key, stacks});
  WHEREFORE_ASSIGN_OR_RETURN(const TrieSums sums, context.tries.Sum(all, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(answer.tree, sums.Whole(Identity::kFunction));
  answer.tree.type = wanted;
  answer.tree.unit = read.unit;
  const std::set<std::string> names = ShortNamesOf(types);
  answer.types.assign(names.begin(), names.end());
  type_names = fmt::format("{}", fmt::join(names, ", "));
  return {};
}

// The services whose profilers link every span of this trace, not only local roots.
Result<std::set<std::uint64_t>> LinkingInnerSpans(QueryContext& context, std::uint32_t tenant,
                                                  const std::vector<store::SpanRow>& trace,
                                                  const CancelToken& cancel) {
  if (trace.empty()) return std::set<std::uint64_t>();
  const profile::TraceId& id = trace.front().trace;
  std::set<profile::SpanId> with_samples;
  WHEREFORE_ASSIGN_OR_RETURN(const auto linked,
                             context.reader.LinkedSamples(tenant, id, {}, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto by_span_only,
      context.reader.SpanOnlyLinks(tenant, id, {trace.front().start_ns, trace.back().start_ns + 1},
                                   cancel));
  for (const store::LinkRow& link : linked) with_samples.insert(link.span);
  for (const store::LinkRow& link : by_span_only) with_samples.insert(link.span);
  return ServicesThatLinkInnerSpans(trace, with_samples);
}

// Samples of spans that have none of their own, found under the spans around them, unless their
// profiler links inner spans too.
struct FiledElsewhere {
  std::vector<store::LinkRow> links;
  const store::SpanRow* holder = nullptr;  // a span that holds such samples, into the trace
  bool timed = false;                      // those it holds have times
};
Result<FiledElsewhere> FromLocalRoots(QueryContext& context, std::uint32_t tenant,
                                      const std::vector<store::SpanRow>& trace,
                                      const std::vector<profile::SpanId>& spans,
                                      const std::set<profile::SpanId>& asked,
                                      const CancelToken& cancel) {
  FiledElsewhere out;
  WHEREFORE_ASSIGN_OR_RETURN(const auto link_inner,
                             LinkingInnerSpans(context, tenant, trace, cancel));
  Holders holders(trace);
  const auto guess = [&](const store::SpanRow& span) { return !link_inner.contains(span.service); };
  std::set<profile::SpanId> possible;
  for (const profile::SpanId& id : spans) {
    if (const auto* span = holders.Find(id)) holders.AddPossible(*span, guess(*span), possible);
  }
  if (possible.empty()) return out;
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto all, context.reader.LinkedSamples(tenant, trace.front().trace,
                                                   {possible.begin(), possible.end()}, cancel));
  std::map<profile::SpanId, std::vector<store::LinkRow>> links;  // by holder
  for (const store::LinkRow& link : all) links[link.span].push_back(link);
  std::map<profile::SpanId, std::vector<const store::SpanRow*>> filed;  // by holder
  for (const profile::SpanId& id : spans) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    const store::SpanRow* span = holders.Find(id);
    if (span == nullptr) continue;
    const auto holder = holders.Nearest(*span, guess(*span), links);
    // What an asked span holds is there already.
    if (holder && !asked.contains(*holder)) filed[*holder].push_back(span);
  }
  for (auto& [holder, own] : filed) {
    const store::SpanRow* found = holders.Find(holder);
    if (found == nullptr) {
      // An id that is nobody else's: these samples are this span's own.
      for (store::LinkRow link : links[holder]) {
        link.span = own.front()->id;
        out.links.push_back(link);
      }
      continue;
    }
    out.holder = found;
    WHEREFORE_ASSIGN_OR_RETURN(const auto timed, context.reader.TimedLinks(tenant, *found, cancel));
    out.timed = out.timed || !timed.empty();
    const InnermostAt innermost(std::move(own));
    for (const store::TimedLinkRow& link : timed) AddWithin(link, innermost, out.links);
  }
  return out;
}

// Samples of a whole trace whose profilers know only the span.
Result<std::vector<store::LinkRow>> LinksOfTrace(QueryContext& context, std::uint32_t tenant,
                                                 const std::vector<store::SpanRow>& rows,
                                                 const CancelToken& cancel) {
  std::set<profile::SpanId> ids;
  for (const store::SpanRow& row : rows) ids.insert(row.id);
  std::vector<profile::SpanId> others;
  for (const store::SpanRow& row : rows) {
    if (const auto id = ProfileIdOf(row); id && !ids.contains(*id)) others.push_back(*id);
  }
  const profile::TraceId& trace = rows.front().trace;
  WHEREFORE_ASSIGN_OR_RETURN(
      auto links, context.reader.SpanOnlyLinks(
                      tenant, trace, {rows.front().start_ns, rows.back().start_ns + 1}, cancel));
  if (!others.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto filed,
                               context.reader.LinkedSamples(tenant, trace, others, cancel));
    links.insert(links.end(), filed.begin(), filed.end());
  }
  std::erase_if(links, [](const store::LinkRow& link) { return link.trace != profile::TraceId{}; });
  return links;
}

}  // namespace

Result<SpanProfileAnswer> SpanProfile(QueryContext& context, std::uint32_t tenant,
                                      const profile::TraceId& trace,
                                      const std::vector<profile::SpanId>& spans,
                                      const std::string& type, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto links,
                             context.reader.LinkedSamples(tenant, trace, spans, cancel));
  std::set<profile::SpanId> with_samples;
  for (const store::LinkRow& link : links) with_samples.insert(link.span);
  std::vector<profile::SpanId> without;
  std::ranges::copy_if(spans, std::back_inserter(without),
                       [&](const profile::SpanId& id) { return !with_samples.contains(id); });
  std::vector<store::SpanRow> rows;
  if (links.empty() || spans.empty() || !without.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(rows, TraceShape(context, tenant, trace, cancel));
  }
  FiledElsewhere filed;
  if (spans.empty() && !rows.empty()) {
    // A whole trace also has the samples of profilers that know only the span, under its id or
    // under one that no span has.
    WHEREFORE_ASSIGN_OR_RETURN(filed.links, LinksOfTrace(context, tenant, rows, cancel));
  } else if (!without.empty() && !rows.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(filed, FromLocalRoots(context, tenant, rows, without,
                                                     {spans.begin(), spans.end()}, cancel));
  }
  const bool elsewhere = !filed.links.empty();
  links.insert(links.end(), filed.links.begin(), filed.links.end());
  SpanProfileAnswer answer;
  std::string types;
  WHEREFORE_RETURN_IF_ERROR(
      FillSpanAnswer(context, tenant, trace, std::move(links), type, answer, types, cancel));
  if (filed.holder != nullptr && elsewhere && !answer.by_span.empty())
    answer.filed_under = ToHex(filed.holder->id);
  if (answer.by_span.empty() && filed.holder != nullptr && !elsewhere) {
    answer.hint = fmt::format(
        "its profiler files all samples of a request under the local root span {} ({}); {}",
        ToHex(filed.holder->id), filed.holder->name,
        filed.timed ? "none of them was taken while this span ran"
                    : "they carry no times, so those of this span cannot be told from the rest: "
                      "ask for that span");
  } else if (answer.by_span.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(
        answer.hint, ExplainNoLinks(context, tenant, rows, spans, types, answer.arriving, cancel));
  }
  return answer;
}

}  // namespace wherefore::query
