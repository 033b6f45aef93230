#include "query/worse.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/clock.h"
#include "base/text.h"
#include "query/function_traces.h"
#include "query/list.h"
#include "query/own_code.h"
#include "query/versions.h"

namespace wherefore::query {
namespace {

constexpr std::int64_t kHour = 3600 * kNsPerSecond;
constexpr std::int64_t kLookBack = 24 * kHour;  // for a version that changed
constexpr std::size_t kMostTraces = 3;
constexpr std::size_t kMostEndpoints = 3;

std::int64_t SecondsDown(std::int64_t ns) {
  return ns / kNsPerSecond * kNsPerSecond;
}
std::int64_t SecondsUp(std::int64_t ns) {
  return SecondsDown(ns + kNsPerSecond - 1);
}

class ServiceLook {
 public:
  ServiceLook(QueryContext& context, ServiceChange known, const ChangeOptions& options,
              const CancelToken& cancel)
      : context_(context), options_(options), cancel_(cancel), out_(std::move(known)) {}

  Result<ServiceChange> Run() {
    if (!out_.reason.empty()) return std::move(out_);
    WHEREFORE_RETURN_IF_ERROR(Compare());
    WHEREFORE_RETURN_IF_ERROR(CountCores());
    Judge();
    WHEREFORE_RETURN_IF_ERROR(TellCauses());
    if (!options_.keep_functions) out_.tested.functions.clear();
    return std::move(out_);
  }

  // The last hour of what runs now, and of what ran before it.
  Result<> ChooseSides(std::uint32_t tenant, std::int64_t now_ns) {
    const store::TimeRange range{now_ns - kLookBack, now_ns};
    WHEREFORE_ASSIGN_OR_RETURN(const ServiceVersions seen,
                               VersionsOf(context_, tenant, out_.service, range, cancel_));
    if (seen.last_ns == 0) {
      out_.reason = "no CPU profiles in the last 24 h";
      return {};
    }
    const std::int64_t end = SecondsUp(std::min(seen.last_ns, now_ns));
    out_.before = out_.after = {.tenant = tenant, .type = "cpu"};
    const ServiceVersion* const current = seen.Current();
    const ServiceVersion* const before = current != nullptr ? seen.Before(*current) : nullptr;
    if (before != nullptr) {
      out_.label = seen.label;
      out_.version_before = before->name;
      out_.version_after = current->name;
      out_.since_ns = current->first_ns;
      out_.after.range = {std::max(SecondsDown(current->first_ns), end - kHour), end};
      const std::int64_t last = SecondsUp(before->last_ns);
      out_.before.range = {std::max(SecondsDown(before->first_ns), last - kHour), last};
    } else {
      out_.since_ns = end - kHour;
      out_.after.range = {end - kHour, end};
      out_.before.range = {end - 2 * kHour, end - kHour};
      if (seen.first_ns >= end - kHour)
        out_.reason = "no profiles in the hour before, and no version before this one";
    }
    WHEREFORE_ASSIGN_OR_RETURN(
        out_.before.selector,
        SelectorOf(out_.service, before != nullptr ? out_.label : "", out_.version_before));
    WHEREFORE_ASSIGN_OR_RETURN(
        out_.after.selector,
        SelectorOf(out_.service, before != nullptr ? out_.label : "", out_.version_after));
    return {};
  }

 private:
  Result<> Compare() {
    WHEREFORE_ASSIGN_OR_RETURN(
        out_.tested, options_.by_day ? TestDays(context_, out_.before, out_.after, cancel_)
                                     : TestVersions(context_, out_.before, out_.after, cancel_));
    if (out_.tested.grouping != Grouping::kNone) return {};
    out_.reason = out_.tested.note;
    return {};
  }

  Result<> CountCores() {
    WHEREFORE_ASSIGN_OR_RETURN(
        const Resolved resolved,
        context_.catalog.Resolve(out_.after, {.with_series = true}, cancel_));
    if (resolved.query.selections.empty()) return {};
    WHEREFORE_ASSIGN_OR_RETURN(const auto profiles,
                               context_.reader.ProfileTotals(resolved.query, cancel_));
    profile::ObservedTime observed;
    double value = 0;
    for (const store::ProfileSum& p : profiles) {
      observed.Add(p.time_ns, profile::BelievedDuration(p.duration_ns));
      const auto use = resolved.types.find(p.type);
      if (use != resolved.types.end()) value += static_cast<double>(use->second.Value(p.value));
    }
    const auto ns = static_cast<double>(observed.total_ns());
    if (ns > 0) out_.cores = value / ns;
    return {};
  }

  // What makes the service dearer: everything together where that is known, else its causes.
  void Judge() {
    const TestedDifference& tested = out_.tested;
    if (tested.grouping == Grouping::kNone || tested.groups_before == 0 ||
        tested.groups_after == 0) {
      if (out_.reason.empty()) out_.reason = tested.note;
      return;
    }
    const bool per_request = tested.compared == Compared::kPerRequest;
    const Comparison& whole = tested.whole;
    const Verdict all = per_request ? VerdictOf(whole, whole.p) : Verdict::kUnknown;
    const auto cause = std::ranges::find_if(tested.causes, IsDearer);
    if (all == Verdict::kMore || all == Verdict::kLess) {
      out_.verdict = all == Verdict::kMore ? ServiceVerdict::kWorse : ServiceVerdict::kBetter;
      out_.p = whole.p;
      Set(Cost(whole.change, whole.low, whole.high, whole.after));
    } else if (cause != tested.causes.end()) {
      out_.verdict = ServiceVerdict::kWorse;
      out_.p = SmallestQ();
      Set(CostOf(*cause));
    } else {
      out_.verdict = ServiceVerdict::kSame;
      out_.p = SmallestQ();
    }
    out_.detectable = Detectable();
  }
  struct Cores {
    double cost = 0;
    double low = 0;
    double high = 0;
  };
  // From values of which `after` is everything.
  [[nodiscard]] Cores Cost(double change, double low, double high, double after) const {
    const double unit = after > 0 ? out_.cores / after : 0;
    return {change * unit, low * unit, high * unit};
  }
  void Set(const Cores& cores) {
    out_.cost = cores.cost;
    out_.cost_low = cores.low;
    out_.cost_high = cores.high;
  }
  [[nodiscard]] Cores CostOf(const Cause& cause) const {
    if (out_.tested.compared == Compared::kPerRequest)
      return Cost(cause.change, cause.low, cause.high, out_.tested.whole.after);
    double grown = 1;  // everything after, of everything before
    for (const Cause& one : out_.tested.causes) {
      if (one.kind != CauseKind::kMoved) grown += one.share_of_before;
    }
    const double unit = cause.change != 0 ? cause.share_of_before / cause.change : 0;
    return Cost(cause.share_of_before, cause.low * unit, cause.high * unit, std::max(grown, 0.01));
  }
  // Of all functions together: that of equal services is rarely small (Simes).
  [[nodiscard]] double SmallestQ() const {
    double q = 1;
    for (const TestedFunction& f : out_.tested.functions) q = std::min({q, f.self.q, f.total.q});
    return std::min(1.0, 2 * q);
  }
  [[nodiscard]] std::optional<double> Detectable() const {
    const Comparison& whole = out_.tested.whole;
    if (whole.before <= 0) return std::nullopt;
    if (out_.tested.compared == Compared::kPerRequest) return whole.detectable / whole.before;
    std::optional<double> smallest;
    for (const TestedFunction& f : out_.tested.functions) {
      if (f.total.verdict == Verdict::kUnknown) continue;
      const double seen = f.total.comparison.detectable / whole.before;
      if (!smallest || seen < *smallest) smallest = seen;
    }
    return smallest;
  }

  Result<> TellCauses() {
    static const OwnCode own = OwnCode::Parse("").value_or(OwnCode());
    for (const Cause& cause : out_.tested.causes) {
      if (out_.causes.size() == options_.most_causes) break;
      ServiceChange::Told& told = out_.causes.emplace_back();
      told.cause = cause;
      const Cores cores = CostOf(cause);
      std::tie(told.cost, told.cost_low, told.cost_high) =
          std::tuple(cores.cost, cores.low, cores.high);
      told.own = OwnFunctionOf(cause, own);
      if (cause.kind == CauseKind::kGone) continue;
      WHEREFORE_RETURN_IF_ERROR(FindTraces(told));
      if (out_.verdict == ServiceVerdict::kWorse || IsDearer(cause))
        WHEREFORE_RETURN_IF_ERROR(FindLine(told));
    }
    if (!out_.causes.empty()) out_.endpoints = out_.causes.front().endpoints;
    return {};
  }

  Result<> FindTraces(ServiceChange::Told& told) {
    const profile::FlameFunction& f = told.cause.function;
    WHEREFORE_ASSIGN_OR_RETURN(
        const FunctionTraces found,
        TracesOf(context_, out_.after, {f.name, f.module}, {.limit = kMostTraces}, cancel_));
    told.cause.traces = IdsOf(found);
    std::map<std::string, std::int64_t> by_name;
    for (const FunctionTraces::Trace& trace : found.traces) {
      for (const FunctionTraces::Span& span : trace.spans) {
        if (!span.name.empty()) by_name[span.name] += span.value;
      }
    }
    for (const auto& [name, value] : by_name) told.endpoints.push_back(name);
    std::ranges::stable_sort(told.endpoints, std::greater(),
                             [&](const std::string& name) { return by_name[name]; });
    if (told.endpoints.size() > kMostEndpoints) told.endpoints.resize(kMostEndpoints);
    if (!options_.traces_before || told.cause.kind == CauseKind::kNew) return {};
    WHEREFORE_ASSIGN_OR_RETURN(
        const FunctionTraces earlier,
        TracesOf(context_, out_.before, {f.name, f.module}, {.limit = kMostTraces}, cancel_));
    told.traces_before = IdsOf(earlier);
    return {};
  }
  static std::vector<std::string> IdsOf(const FunctionTraces& found) {
    std::vector<std::string> ids;
    for (const FunctionTraces::Trace& trace : found.traces) {
      if (trace.summary.trace != profile::TraceId{}) ids.push_back(ToHex(trace.summary.trace));
    }
    return ids;
  }

  // The line of the own function that grew most, as a share of everything.
  Result<> FindLine(ServiceChange::Told& told) {
    if (told.own.name.empty()) return {};
    const std::string regex = "^" + re2::RE2::QuoteMeta(told.own.name) + "$";
    std::map<std::int64_t, double> grown;
    for (const auto& [side, sign] : {std::pair(&out_.before, -1.0), std::pair(&out_.after, 1.0)}) {
      WHEREFORE_ASSIGN_OR_RETURN(
          const ListAnswer listed,
          List(context_, *side, regex, {.module = told.own.module}, cancel_));
      if (listed.total <= 0) continue;
      for (const profile::ListedFunction& f : listed.functions) {
        if (told.own.file.empty()) told.own.file = f.file;
        for (const profile::ListedLine& line : f.lines) {
          if (line.line > 0)
            grown[line.line] +=
                sign * static_cast<double>(line.total) / static_cast<double>(listed.total);
        }
      }
    }
    const auto most = std::ranges::max_element(grown, {}, [](const auto& l) { return l.second; });
    if (most != grown.end() && most->second > 0) told.line = most->first;
    return {};
  }

  QueryContext& context_;
  const ChangeOptions options_;
  const CancelToken& cancel_;
  ServiceChange out_;
};

std::string Since(const ServiceChange& change) {
  return change.version_after.empty() ? "since " + FormatTime(change.since_ns)
                                      : "since " + change.version_after;
}

std::string CauseText(const ServiceChange::Told& told) {
  const profile::FlameFunction& own = told.own;
  std::string text = ": " + told.cause.function.name;
  if (!own.name.empty() && own.name != told.cause.function.name) text += " in " + own.name;
  if (!own.file.empty() && told.line > 0) {
    const std::size_t slash = own.file.rfind('/');
    text += fmt::format(" {}:{}", own.file.substr(slash == std::string::npos ? 0 : slash + 1),
                        told.line);
  }
  return text;
}

}  // namespace

std::string_view ServiceVerdictName(ServiceVerdict verdict) {
  switch (verdict) {
    case ServiceVerdict::kWorse:
      return "worse";
    case ServiceVerdict::kBetter:
      return "better";
    case ServiceVerdict::kSame:
      return "same";
    case ServiceVerdict::kUnknown:
      break;
  }
  return "unknown";
}

Result<ServiceChange> ChangeOfService(QueryContext& context, std::uint32_t tenant,
                                      const std::string& service, std::int64_t now_ns,
                                      const CancelToken& cancel) {
  ServiceLook look(context, {.service = service}, {}, cancel);
  WHEREFORE_RETURN_IF_ERROR(look.ChooseSides(tenant, now_ns));
  return look.Run();
}

Result<ServiceChange> ChangeBetween(QueryContext& context, ServiceChange sides,
                                    const ChangeOptions& options, const CancelToken& cancel) {
  return ServiceLook(context, std::move(sides), options, cancel).Run();
}

bool IsDearer(const Cause& cause) {
  return cause.kind == CauseKind::kMore || cause.kind == CauseKind::kNew ||
         (cause.kind == CauseKind::kEverywhere && cause.change > 0);
}

std::string SentenceOf(const ServiceChange& change, const ServiceChange::Told& told) {
  const Cause& cause = told.cause;
  const double unit = cause.change != 0 ? 100 * cause.share_of_before / cause.change : 0;
  return fmt::format("{:+.1f} % of the CPU time before ({:+.1f} to {:+.1f}) {}{}",
                     100 * cause.share_of_before, cause.low * unit, cause.high * unit,
                     Since(change), CauseText(told));
}

std::string SentenceOf(const ServiceChange& change) {
  if (change.verdict == ServiceVerdict::kUnknown) return "not known: " + change.reason;
  const std::string since = Since(change);
  if (change.verdict == ServiceVerdict::kSame) {
    std::string text = "nothing surely got worse " + since;
    if (change.detectable)
      text += fmt::format("; {} of {:.1f} % would have been seen",
                          change.tested.compared == Compared::kPerRequest
                              ? "a change of CPU per request"
                              : "a change of a function",
                          100 * *change.detectable);
    return text;
  }
  const Comparison& c = change.tested.whole;
  const auto signed_time = [](double ns) {
    return (ns < 0 ? "-" : "+") + FormatDuration(std::llround(std::abs(ns)));
  };
  if (change.tested.compared == Compared::kPerRequest && VerdictOf(c, c.p) != Verdict::kUndecided) {
    return fmt::format("CPU per request {} → {} ({}{}; {} to {}) {}{}",
                       FormatDuration(std::llround(c.before)),
                       FormatDuration(std::llround(c.after)),
                       c.before > 0 ? fmt::format("×{:.1f}, ", c.after / c.before) : "",
                       signed_time(c.change), signed_time(c.low), signed_time(c.high), since,
                       change.causes.empty() ? "" : CauseText(change.causes.front()));
  }
  return SentenceOf(change, change.causes.front());
}

}  // namespace wherefore::query
