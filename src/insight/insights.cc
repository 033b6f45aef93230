#include "insight/insights.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "insight/n_plus_one.h"
#include "query/function_traces.h"
#include "query/overview.h"
#include "query/sample_groups.h"
#include "query/tabulation.h"
#include "query/traces.h"

namespace wherefore::insight {
namespace {

constexpr std::size_t kMostServices = 10'000;
constexpr std::size_t kTraces = 50;  // that are looked at for repeated calls
constexpr std::size_t kEndpoints = 3;
constexpr double kSameLoad = 1e9;  // nanoseconds of CPU time in a second of a core
// A lock that makes fewer threads wait than this does not matter, whoever holds it.
constexpr double kWaitingThreads = 0.1;
constexpr std::string_view kSpans = "spans";  // the type of rules about spans

using query::Selection;

// One service held against the rules of its language.
class ServiceLook {
 public:
  // `observed_ns`: in which CPU time of any service was seen.
  ServiceLook(query::QueryContext& context, Selection selection,
              const query::ServiceOverview& service, std::int64_t observed_ns,
              const CancelToken& cancel)
      : context_(context),
        selection_(std::move(selection)),
        service_(service),
        observed_ns_(observed_ns),
        cancel_(cancel) {}

  Result<std::vector<Finding>> Run(std::span<const Rule> rules) {
    std::map<std::string, std::vector<Rule>> by_type;
    for (const Rule& rule : rules) {
      if (Concerns(rule)) by_type[rule.type].push_back(rule);
    }
    for (const auto& [type, own] : by_type) {
      const MemoryScope scope(cancel_);
      if (type == kSpans) {
        WHEREFORE_RETURN_IF_ERROR(LookAtSpans(own));
      } else if (std::ranges::find(service_.info.types, type) != service_.info.types.end()) {
        WHEREFORE_RETURN_IF_ERROR(LookAtStacks(type, own));
      }
    }
    return std::move(findings_);
  }

 private:
  // A rule about one language is not for programs in another. One that does not say what it is
  // written in is judged by its names.
  [[nodiscard]] bool Concerns(const Rule& rule) const {
    return rule.language.empty() || service_.languages.empty() ||
           service_.languages.contains(rule.language);
  }

  Result<> LookAtStacks(const std::string& type, std::span<const Rule> rules) {
    Selection of_type = selection_;
    of_type.type = type;
    const query::Lens everything;
    query::Tabulation tabulation(context_, everything, true, cancel_);
    WHEREFORE_ASSIGN_OR_RETURN(const auto alone, Fill(of_type, tabulation));
    if (alone.selection.groups.empty()) return {};
    WHEREFORE_ASSIGN_OR_RETURN(auto found, FindIn(tabulation.table(), rules, cancel_));
    double observed_s = 0;
    for (const query::SampleGroup& group : alone.selection.groups) observed_s += group.observed_s;
    for (Finding& finding : found) {
      finding.type = type;
      finding.unit = alone.selection.resolved.unit;
      if (finding.rule.detector == Detector::kLockConvoy &&
          finding.value < kWaitingThreads * kSameLoad * observed_s)
        continue;
      if (type == "cpu" && observed_ns_ > 0) {
        finding.cores = finding.value / static_cast<double>(observed_ns_);
        const double whole = finding.cores / finding.share.rate;
        if (whole * finding.share.low < finding.rule.at_least_cores) continue;
        finding.saved = whole * (finding.share.low + finding.collected) * finding.rule.saving;
      }
      WHEREFORE_RETURN_IF_ERROR(AddEndpoints(of_type, finding));
      Keep(std::move(finding));
    }
    return AddSince(of_type);
  }

  Result<query::GroupedAlone> Fill(const Selection& selection, query::Tabulation& tabulation) {
    auto alone = query::GroupAlone(context_, selection, cancel_);
    if (!alone) {
      // Snapshots and the like: there is nothing to be sure of.
      if (alone.error().code() == Code::kUnsupported || alone.error().code() == Code::kNotFound)
        return query::GroupedAlone{};
      return alone.error();
    }
    const auto added = tabulation.Add(alone->selection.resolved, query::AsTheyAre(alone->selection),
                                      query::Side::kAfter);
    if (added) return alone;
    if (added.error().code() == Code::kUnsupported) return query::GroupedAlone{};
    return added.error();
  }

  // Spans in which the function was seen.
  Result<> AddEndpoints(const Selection& selection, Finding& finding) {
    if (!service_.latency || finding.function.name.empty()) return {};
    const auto traces =
        query::TracesOf(context_, selection, {finding.function.name, finding.function.module},
                        {.limit = 20}, cancel_);
    if (!traces) return cancel_.Check();  // none, or too many: it is said without them
    std::map<std::string, std::int64_t> names;
    for (const auto& trace : traces->traces) {
      for (const auto& span : trace.spans) {
        if (!span.name.empty()) names[span.name] += span.value;
      }
    }
    std::vector<std::pair<std::int64_t, std::string>> order;
    for (const auto& [name, value] : names) order.emplace_back(-value, name);
    std::ranges::sort(order);
    for (std::size_t i = 0; i < std::min(kEndpoints, order.size()); ++i)
      finding.endpoints.push_back(order[i].second);
    return {};
  }

  // What the version before had surely less of came with this one.
  Result<> AddSince(const Selection& of_type) {
    if (service_.earlier_version.empty() || service_.versions.empty()) return {};
    if (std::ranges::none_of(findings_, [&](const Finding& f) { return f.type == of_type.type; }))
      return {};
    Selection earlier = of_type;
    WHEREFORE_ASSIGN_OR_RETURN(const auto version,
                               query::Selector::Parse(fmt::format("{{service.version=\"{}\"}}",
                                                                  service_.earlier_version)));
    earlier.selector.Add(version);
    const query::Lens everything;
    query::Tabulation tabulation(context_, everything, true, cancel_);
    WHEREFORE_ASSIGN_OR_RETURN(const auto alone, Fill(earlier, tabulation));
    if (alone.selection.groups.empty()) return {};
    for (Finding& finding : findings_) {
      if (finding.type != of_type.type) continue;
      WHEREFORE_ASSIGN_OR_RETURN(const auto before,
                                 ShareIn(tabulation.table(), finding.rule, cancel_));
      if (before.high < finding.share.low) finding.since = service_.versions.front();
    }
    return {};
  }

  Result<> LookAtSpans(std::span<const Rule> rules) {
    if (!service_.latency) return {};
    query::SpanSearch search{.tenant = selection_.tenant,
                             .range = selection_.range,
                             .service = service_.info.name,
                             .limit = kTraces,
                             .slowest = true};
    WHEREFORE_ASSIGN_OR_RETURN(const auto ids, query::FindTraces(context_, search, cancel_));
    std::vector<std::vector<query::SpanRow>> traces;
    for (const profile::TraceId& id : ids) {
      WHEREFORE_ASSIGN_OR_RETURN(auto spans,
                                 query::TraceShape(context_, selection_.tenant, id, cancel_));
      traces.push_back(std::move(spans));
    }
    for (const Rule& rule : rules) {
      if (rule.detector == Detector::kNPlusOne) AddRepeatedCalls(rule, traces);
    }
    return {};
  }

  void AddRepeatedCalls(const Rule& rule, const std::vector<std::vector<query::SpanRow>>& traces) {
    for (const RepeatedCall& call : FindRepeatedCalls(traces, service_.info.name)) {
      if (call.share.low < rule.at_least_share) continue;
      if (call.share.observations < static_cast<double>(rule.at_least_observations)) continue;
      Finding finding{.rule = rule,
                      .type = std::string(kSpans),
                      .unit = "nanoseconds",
                      .share = call.share,
                      .value = call.value_ns};
      finding.function.name = call.callee;
      finding.function.module = call.callee_service;
      finding.endpoints.push_back(call.name);
      Keep(std::move(finding));
    }
  }

  void Keep(Finding finding) {
    finding.service = service_.info.name;
    findings_.push_back(std::move(finding));
  }

  query::QueryContext& context_;
  const Selection selection_;
  const query::ServiceOverview& service_;
  const std::int64_t observed_ns_;
  const CancelToken& cancel_;
  std::vector<Finding> findings_;
};

// Near ends decide the order, too.
bool IsDearer(const Finding& a, const Finding& b) {
  if (a.saved != b.saved) return a.saved > b.saved;
  return a.share.low > b.share.low;
}

}  // namespace

Result<InsightsAnswer> FindInsights(query::QueryContext& context, const Selection& selection,
                                    std::span<const Rule> rules, const InsightOptions& options,
                                    const CancelToken& cancel) {
  std::vector<Rule> wanted;
  for (const Rule& rule : rules) {
    if (options.rule.empty() || rule.id == options.rule) wanted.push_back(rule);
  }
  if (wanted.empty())
    return Error(Code::kNotFound, options.rule.empty() ? "there are no rules"
                                                       : fmt::format("no rule '{}'", options.rule));
  WHEREFORE_ASSIGN_OR_RETURN(const auto overview,
                             query::Overview(context, selection.tenant, selection.range,
                                             {.search = {}, .limit = kMostServices}, cancel));
  InsightsAnswer answer;
  const std::int64_t begun = MonotonicNs();
  for (const query::ServiceOverview& service : overview.services) {
    if (!selection.selector.MatchesService(service.info.name)) continue;
    ++answer.services;
    if (MonotonicNs() - begun > options.budget_ns) continue;
    ++answer.looked_at;
    Selection own = selection;
    own.selector.Add(query::Selector::OfService(service.info.name));
    ServiceLook look(context, std::move(own), service, overview.observed_ns, cancel);
    WHEREFORE_ASSIGN_OR_RETURN(auto found, look.Run(wanted));
    std::ranges::move(found, std::back_inserter(answer.findings));
  }
  std::ranges::stable_sort(answer.findings, IsDearer);
  answer.found = answer.findings.size();
  if (answer.findings.size() > options.limit) answer.findings.resize(options.limit);
  if (answer.services == 0) answer.hint = context.catalog.ExplainEmpty(selection, cancel);
  return answer;
}

}  // namespace wherefore::insight
