#include "query/requests.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace wherefore::query {
namespace {

// Spans that began this long before the first profile may still run in it.
constexpr std::int64_t kLongestRequestNs = 900'000'000'000;
constexpr std::size_t kMostEndpoints = 200;  // what is rarer is one
// Less of the value is linked: links do not say what requests cost.
constexpr double kMostlyLinked = 0.5;

struct IdHash {
  template <typename Id>
  std::size_t operator()(const Id& id) const {
    std::uint64_t last = 0;
    std::memcpy(&last, id.data() + id.size() - sizeof(last), sizeof(last));
    return last * 0x9e3779b97f4a7c15U;
  }
  std::size_t operator()(const std::pair<profile::TraceId, profile::SpanId>& id) const {
    return (*this)(id.first) ^ (*this)(id.second);
  }
};

// The spans of some services, and which request each of them belongs to.
class RequestSpans {
 public:
  explicit RequestSpans(store::ServiceSpans spans) : of_(std::move(spans)) {
    by_id_.reserve(of_.spans.size());
    for (std::uint32_t i = 0; i < of_.spans.size(); ++i) {
      const store::ServiceSpan& span = of_.spans[i];
      by_id_.try_emplace({span.trace, span.id}, i);
      by_span_.try_emplace(span.id, i);
      if (span.holder != profile::SpanId{}) by_span_.try_emplace(span.holder, i);
    }
    root_.assign(of_.spans.size(), kUnknown);
  }
  [[nodiscard]] const store::ServiceSpans& of() const { return of_; }

  // The request a linked sample belongs to; none: its span is not known.
  [[nodiscard]] std::optional<std::uint32_t> RequestOf(const store::LinkRow& link) {
    if (link.trace == profile::TraceId{}) {
      const auto at = by_span_.find(link.span);
      return at == by_span_.end() ? std::nullopt : std::optional(Root(at->second));
    }
    const auto at = by_id_.find({link.trace, link.span});
    return at == by_id_.end() ? std::nullopt : std::optional(Root(at->second));
  }
  [[nodiscard]] bool IsRequest(std::uint32_t span) { return Root(span) == span; }

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;

  // The first span above that was called from outside. Circles end where they began.
  std::uint32_t Root(std::uint32_t span) {
    std::vector<std::uint32_t> way;
    std::uint32_t at = span;
    while (root_[at] == kUnknown) {
      root_[at] = at;  // unless there is more above
      way.push_back(at);
      const store::ServiceSpan& of = of_.spans[at];
      if (of.kind == kServer || of.kind == kConsumer || of.parent == profile::SpanId{}) break;
      const auto parent = by_id_.find({of.trace, of.parent});
      if (parent == by_id_.end() || of_.spans[parent->second].service != of.service) break;
      at = parent->second;
    }
    const std::uint32_t root = root_[at];
    for (const std::uint32_t passed : way) root_[passed] = root;
    return root;
  }

  static constexpr std::uint8_t kServer = 2;
  static constexpr std::uint8_t kConsumer = 5;
  store::ServiceSpans of_;
  std::unordered_map<std::pair<profile::TraceId, profile::SpanId>, std::uint32_t, IdHash> by_id_;
  std::unordered_map<profile::SpanId, std::uint32_t, IdHash> by_span_;
  std::vector<std::uint32_t> root_;
};

// The names of requests, by number; the most frequent ones of both sides.
class Endpoints {
 public:
  void Count(const std::string& name) { ++requests_[name]; }
  void Choose() {
    std::vector<std::pair<std::int64_t, std::string>> by_size;
    for (const auto& [name, requests] : requests_) by_size.emplace_back(-requests, name);
    std::ranges::sort(by_size);
    for (std::size_t i = 0; i < by_size.size(); ++i) {
      if (i < kMostEndpoints) names_.push_back(by_size[i].second);
      numbers_.emplace(std::move(by_size[i].second), std::min(i, kMostEndpoints - 1));
    }
    if (numbers_.size() > kMostEndpoints) names_.back() = "others";
  }
  [[nodiscard]] const std::string& NameOf(std::size_t number) const { return names_[number]; }
  [[nodiscard]] std::size_t size() const { return std::min(numbers_.size(), kMostEndpoints); }
  // None: no request of this name was counted.
  [[nodiscard]] std::optional<std::size_t> Find(const std::string& name) const {
    const auto at = numbers_.find(name);
    return at == numbers_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::map<std::string, std::int64_t> requests_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::string> names_;
};

// What a group has of one stack in requests of one endpoint.
struct Linked {
  double value = 0;
  double count = 0;
};
using LinkedKey = std::tuple<std::uint32_t, std::uint32_t, std::size_t>;  // selection, stack, name

// One side while it is measured.
struct SideRequests {
  const GroupedSelection& side;
  store::TraceShare share;
  RequestSpans spans;
  std::vector<bool> matches;                        // by resource
  std::vector<std::vector<double>> requests;        // by group and endpoint
  std::vector<std::map<LinkedKey, Linked>> linked;  // by group
  std::vector<std::int64_t> durations;              // of requests
  double linked_value = 0;
  double value = 0;

  [[nodiscard]] double InGroup(std::size_t group) const {
    double sum = 0;
    for (const double n : requests[group]) sum += n;
    return sum;
  }
};

class Measurement {
 public:
  Measurement(QueryContext& context, const CancelToken& cancel)
      : context_(context), cancel_(cancel) {}

  Result<SideRequests> ReadSide(const Selection& selection, const GroupedSelection& side,
                                std::string_view which) {
    store::ServiceSpansQuery query{.tenant = selection.tenant, .range = selection.range};
    // A profile counts whole if it begins in the range: so do the requests it saw.
    for (const store::ProfileSum& p : side.profiles)
      query.range.to_ns = std::max(query.range.to_ns, p.time_ns + p.duration_ns);
    for (const store::SeriesSelection& s : side.resolved.query.selections)
      query.services.push_back(s.dictionary.service);
    std::ranges::sort(query.services);
    const auto twice = std::ranges::unique(query.services);
    query.services.erase(twice.begin(), twice.end());
    WHEREFORE_ASSIGN_OR_RETURN(const std::int64_t count,
                               context_.reader.CountRequests(query, cancel_));
    if (count == 0)
      return Error(Code::kUnsupported, fmt::format("no requests: the side {} has no spans", which));
    query.share.one_in = static_cast<std::uint64_t>((count - 1) / kMostRequests + 1);
    query.range.from_ns -= std::min(query.range.from_ns, kLongestRequestNs);
    WHEREFORE_ASSIGN_OR_RETURN(auto spans, context_.reader.SpansOfServices(query, cancel_));
    SideRequests out{side, query.share, RequestSpans(std::move(spans)), {}, {}, {}};
    for (const auto& resource : out.spans.of().resources)
      out.matches.push_back(selection.selector.MatchesLabels(resource));
    return out;
  }

  // Names the endpoints. A request counts where its instance was profiled at that time.
  void CountNames(SideRequests& of) {
    EachRequest(of,
                [&](const store::ServiceSpan& span, std::size_t) { endpoints_.Count(span.name); });
  }
  Result<> CountRequests(SideRequests& of, std::string_view which) {
    of.requests.assign(of.side.groups.size(), std::vector<double>(endpoints_.size()));
    of.linked.resize(of.side.groups.size());
    double all = 0;
    EachRequest(of, [&](const store::ServiceSpan& span, std::size_t group) {
      of.requests[group][*endpoints_.Find(span.name)] += static_cast<double>(of.share.one_in);
      of.durations.push_back(span.duration_ns);
      all += 1;
    });
    if (all > 0) return {};
    return Error(Code::kUnsupported,
                 fmt::format("no requests: no span of the side {} has its labels and instances "
                             "in its resource, at a time with profiles",
                             which));
  }

  Result<> AddLinks(SideRequests& of) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto links,
                               context_.reader.Links(of.side.resolved.query, of.share, cancel_));
    std::map<store::DictionaryKey, std::uint32_t> selections;
    for (std::uint32_t i = 0; i < of.side.resolved.query.selections.size(); ++i)
      selections.emplace(of.side.resolved.query.selections[i].dictionary, i);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> times;
    for (const store::ProfileSum& p : of.side.profiles)
      times.emplace(std::pair(p.dictionary, p.number), p.time_ns);
    for (const store::LinkRow& link : links) {
      const auto selection = selections.find(link.dictionary);
      const auto use = of.side.resolved.types.find(link.type);
      if (selection == selections.end() || use == of.side.resolved.types.end()) continue;
      const auto time = times.find({selection->second, link.profile});
      const auto group = of.side.GroupOfSample(selection->second, link.series,
                                               time == times.end() ? 0 : time->second);
      const auto request = of.spans.RequestOf(link);
      if (!group || !request) continue;
      const auto name = endpoints_.Find(of.spans.of().spans[*request].name);
      if (!name || of.requests[*group][*name] == 0) continue;
      Linked& to = of.linked[*group][{selection->second, link.stack, *name}];
      const auto value = static_cast<double>(use->second.Value(link.value));
      to.value += value * static_cast<double>(of.share.one_in);
      to.count += static_cast<double>(use->second.Count(link.value, link.count));
      of.linked_value += value * static_cast<double>(of.share.one_in);
    }
    for (const SampleGroup& group : of.side.groups) {
      for (const auto& stacks : group.values) {
        for (const StackValue& s : stacks) of.value += static_cast<double>(s.value);
      }
    }
    return cancel_.Check();
  }

  void ChooseEndpoints() { endpoints_.Choose(); }
  [[nodiscard]] const Endpoints& endpoints() const { return endpoints_; }

 private:
  template <typename Visit>
  void EachRequest(SideRequests& of, Visit&& visit) {
    const std::vector<store::ServiceSpan>& spans = of.spans.of().spans;
    for (std::uint32_t i = 0; i < spans.size(); ++i) {
      const store::ServiceSpan& span = spans[i];
      if (!of.matches[span.resource] || !of.spans.IsRequest(i)) continue;
      const auto& resource = of.spans.of().resources[span.resource];
      const auto group = of.side.index.OfRequest(span.service, InstanceOf(resource), span.start_ns);
      if (group && !of.side.groups[*group].values.empty()) visit(span, *group);
    }
  }

  QueryContext& context_;
  const CancelToken& cancel_;
  Endpoints endpoints_;
};

// Everything of a group, per request of the service.
std::vector<MeasuredGroup> PerRequestOfService(const SideRequests& of) {
  std::vector<MeasuredGroup> out;
  for (std::size_t g = 0; g < of.side.groups.size(); ++g) {
    const double requests = of.InGroup(g);
    if (requests > 0)
      out.push_back({.values = of.side.groups[g].values, .unit = 1, .exposure = requests});
  }
  return out;
}

// How much endpoints count, and how many seconds go with a request, over both sides.
struct Mix {
  std::vector<double> share;
  double seconds = 0;
};
Mix MixOf(const SideRequests& before, const SideRequests& after, std::size_t endpoints) {
  Mix mix{.share = std::vector<double>(endpoints)};
  double all = 0;
  double seconds = 0;
  for (const SideRequests* of : {&before, &after}) {
    for (std::size_t g = 0; g < of->requests.size(); ++g) {
      if (of->InGroup(g) == 0) continue;
      for (std::size_t e = 0; e < endpoints; ++e) mix.share[e] += of->requests[g][e];
      all += of->InGroup(g);
      seconds += of->side.groups[g].observed_s;
    }
  }
  for (double& share : mix.share) share /= all;
  mix.seconds = seconds / all;
  return mix;
}

std::vector<double> SharesOf(const SideRequests& of, std::size_t endpoints) {
  std::vector<double> shares(endpoints);
  double all = 0;
  for (std::size_t g = 0; g < of.requests.size(); ++g) {
    for (std::size_t e = 0; e < endpoints; ++e) shares[e] += of.requests[g][e];
    all += of.InGroup(g);
  }
  for (double& share : shares) share /= std::max(all, 1.0);
  return shares;
}

// How the requests of both sides differ in what they ask for.
void CompareMix(const SideRequests& before, const SideRequests& after, const Endpoints& endpoints,
                PerRequest& out) {
  constexpr std::size_t kMostTold = 3;
  const std::vector<double> left = SharesOf(before, endpoints.size());
  const std::vector<double> right = SharesOf(after, endpoints.size());
  for (std::size_t e = 0; e < endpoints.size(); ++e) {
    out.mix_moved += std::abs(right[e] - left[e]) / 2;
    out.mix.push_back({.name = endpoints.NameOf(e), .before = left[e], .after = right[e]});
  }
  std::ranges::stable_sort(out.mix, std::greater(), [](const MixOfEndpoint& one) {
    return std::abs(one.after - one.before);
  });
  if (out.mix.size() > kMostTold) out.mix.resize(kMostTold);
}

// The values of one group as integers of a small unit, for the tries.
class ScaledValues {
 public:
  void Add(std::uint32_t selection, std::uint32_t stack, double value, double count) {
    entries_.push_back({selection, stack, value, count});
    total_ += value;
  }
  MeasuredGroup Finish(std::size_t selections, double exposure) const {
    constexpr double kParts = 4503599627370496.0;  // 2^52
    MeasuredGroup out{.exposure = exposure};
    out.unit = total_ > 0 ? total_ / kParts : 1;
    out.values.resize(selections);
    for (const Entry& e : entries_) {
      out.values[e.selection].push_back({.stack = e.stack,
                                         .value = std::llround(e.value / out.unit),
                                         .count = std::llround(e.count)});
    }
    return out;
  }

 private:
  struct Entry {
    std::uint32_t selection = 0;
    std::uint32_t stack = 0;
    double value = 0;
    double count = 0;
  };
  std::vector<Entry> entries_;
  double total_ = 0;
};

MeasuredGroup PerEndpoint(const SideRequests& of, std::size_t group, const Mix& mix) {
  double covered = 0;  // of the mix, by endpoints this group has
  for (std::size_t e = 0; e < mix.share.size(); ++e) {
    if (of.requests[group][e] > 0) covered += mix.share[e];
  }
  ScaledValues values;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Linked> linked;  // by selection and stack
  for (const auto& [key, of_stack] : of.linked[group]) {
    const auto [selection, stack, endpoint] = key;
    const double weight = mix.share[endpoint] / of.requests[group][endpoint];
    values.Add(selection, stack, of_stack.value * weight, of_stack.count);
    Linked& sum = linked[{selection, stack}];
    sum.value += of_stack.value;
    sum.count += of_stack.count * static_cast<double>(of.share.one_in);
  }
  const SampleGroup& all = of.side.groups[group];
  const double rest = all.observed_s > 0 ? mix.seconds * covered / all.observed_s : 0;
  for (std::uint32_t s = 0; s < all.values.size(); ++s) {
    for (const StackValue& stack : all.values[s]) {
      const auto known = linked.find({s, stack.stack});
      const Linked in_requests = known == linked.end() ? Linked{} : known->second;
      const double value = static_cast<double>(stack.value) - in_requests.value;
      const double count = static_cast<double>(stack.count) - in_requests.count;
      if (value > 0) values.Add(s, stack.stack, value * rest, std::max(count, 0.0));
    }
  }
  return values.Finish(all.values.size(), covered);
}

std::vector<MeasuredGroup> PerEndpointOfSide(const SideRequests& of, const Mix& mix) {
  std::vector<MeasuredGroup> out;
  for (std::size_t g = 0; g < of.side.groups.size(); ++g) {
    if (of.InGroup(g) > 0) out.push_back(PerEndpoint(of, g, mix));
  }
  return out;
}

std::int64_t RequestsOf(const SideRequests& of) {
  double sum = 0;
  for (std::size_t g = 0; g < of.requests.size(); ++g) sum += of.InGroup(g);
  return std::llround(sum);
}

// The exact quantiles, as the list of services has them.
RequestTimes TimesOf(std::vector<std::int64_t> durations) {
  if (durations.empty()) return {};
  const auto quantile = [&](double q) {
    const auto at =
        durations.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(durations.size()));
    std::ranges::nth_element(durations, at);
    return *at;
  };
  return {.median_ns = quantile(0.5), .p99_ns = quantile(0.99)};
}

}  // namespace

Result<PerRequest> MeasurePerRequest(QueryContext& context, const Selection& before,
                                     const Selection& after, const GroupedSides& sides,
                                     const CancelToken& cancel) {
  const MemoryScope scope(cancel);
  Measurement measurement(context, cancel);
  WHEREFORE_ASSIGN_OR_RETURN(auto left, measurement.ReadSide(before, sides.before, "before"));
  WHEREFORE_ASSIGN_OR_RETURN(auto right, measurement.ReadSide(after, sides.after, "after"));
  measurement.CountNames(left);
  measurement.CountNames(right);
  measurement.ChooseEndpoints();
  WHEREFORE_RETURN_IF_ERROR(measurement.CountRequests(left, "before"));
  WHEREFORE_RETURN_IF_ERROR(measurement.CountRequests(right, "after"));
  WHEREFORE_RETURN_IF_ERROR(measurement.AddLinks(left));
  WHEREFORE_RETURN_IF_ERROR(measurement.AddLinks(right));
  PerRequest out{.endpoints = measurement.endpoints().size(),
                 .requests_before = RequestsOf(left),
                 .requests_after = RequestsOf(right),
                 .times_before = TimesOf(std::move(left.durations)),
                 .times_after = TimesOf(std::move(right.durations))};
  CompareMix(left, right, measurement.endpoints(), out);
  out.by_endpoint = left.linked_value >= kMostlyLinked * left.value &&
                    right.linked_value >= kMostlyLinked * right.value;
  if (out.by_endpoint) {
    const Mix mix = MixOf(left, right, out.endpoints);
    out.before = PerEndpointOfSide(left, mix);
    out.after = PerEndpointOfSide(right, mix);
  } else {
    out.before = PerRequestOfService(left);
    out.after = PerRequestOfService(right);
  }
  return out;
}

}  // namespace wherefore::query
