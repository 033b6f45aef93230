#include "query/explain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/shell.h"
#include "base/text.h"
#include "profile/share_error.h"
#include "query/critical_path.h"
#include "query/own_code.h"
#include "query/slow.h"
#include "query/stack_paths.h"
#include "query/statistics.h"
#include "query/tested_diff.h"
#include "query/top.h"
#include "query/trace_accounting.h"
#include "query/traces.h"
#include "query/versions.h"

namespace wherefore::query {
namespace {

constexpr std::int64_t kSimilar = 3600 * kNsPerSecond;  // around a trace: requests like it
constexpr std::int64_t kVersions = 24 * 3600 * kNsPerSecond;
constexpr std::size_t kSlowestTraces = 20;
constexpr std::size_t kEnoughSpans = 500;  // to say how well many are known
constexpr double kWorthNaming = 0.05;      // of the time
constexpr std::size_t kMostServices = 5;   // whose versions are compared

constexpr std::array<std::string_view, kParts> kNames = {
    "on CPU", "lock", "thread", "I/O", "sleep", "other waiting", "children", "unobserved"};

std::string Ms(double ns) {
  return FormatDuration(std::llround(ns));
}

// Where most time of critical paths was spent by spans themselves.
struct Where {
  std::string service;
  std::string name;
  std::int64_t time_ns = 0;
  std::int64_t all_ns = 0;
  std::uint32_t span = kNoSpan;       // the one with most of it
  std::vector<std::string> services;  // on the paths, those with most time first
};

using TimeBySpanName = std::map<std::pair<std::string, std::string>, std::int64_t>;

std::vector<std::string> ServicesByTime(const TimeBySpanName& times, std::int64_t all_ns) {
  std::map<std::string, std::int64_t> by_service;
  for (const auto& [key, time] : times) by_service[key.first] += time;
  std::vector<std::string> services;
  for (const auto& [service, time] : by_service) {
    if (static_cast<double>(time) >= kWorthNaming * static_cast<double>(all_ns))
      services.push_back(service);
  }
  std::ranges::stable_sort(services, std::greater(),
                           [&](const std::string& s) { return by_service.at(s); });
  if (services.size() > kMostServices) services.resize(kMostServices);
  return services;
}

Where FindWhere(const TraceAccounting& all) {
  TimeBySpanName by_name;
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::uint32_t>> longest;
  Where where;
  const auto& spans = all.seen.spans;
  for (std::size_t begin = 0; begin < spans.size();) {
    std::size_t end = begin;
    while (end < spans.size() && spans[end].trace == spans[begin].trace) ++end;
    const CriticalPath path = FindCriticalPath(std::span(spans).subspan(begin, end - begin));
    where.all_ns += path.duration_ns;
    std::map<std::uint32_t, std::int64_t> own;
    for (const PathSegment& s : path.segments) own[s.span] += s.end_ns - s.start_ns;
    for (const auto& [span, time] : own) {
      if (span == kNoSpan) continue;
      const auto at = static_cast<std::uint32_t>(begin + span);
      const std::pair key(spans[at].service_name, spans[at].name);
      by_name[key] += time;
      auto& [most, which] = longest.try_emplace(key, -1, at).first->second;
      if (time > most) std::tie(most, which) = std::pair(time, at);
    }
    begin = end;
  }
  for (const auto& [key, time] : by_name) {
    if (time <= where.time_ns) continue;
    std::tie(where.service, where.name) = key;
    where.time_ns = time;
    where.span = longest.at(key).second;
  }
  where.services = ServicesByTime(by_name, where.all_ns);
  return where;
}

// Names that only a library calls itself by.
bool IsInternal(const std::string& name) {
  return name.starts_with('_') || name.starts_with('[');
}

// What a stack that ends at `leaf` was doing: the nearest own function, and what of others it is
// in: the innermost that has a public name. "Stock::Reserve in pthread_mutex_lock".
std::string SayStack(const StackPaths& paths, std::uint32_t leaf, const OwnCode& own) {
  const auto function = [&](std::uint32_t n) -> const profile::FlameFunction& {
    return paths.functions[paths.nodes[n].function];
  };
  std::uint32_t at = leaf;
  std::string in;
  for (; at != 0 && !own.IsOwn(function(at)); at = paths.nodes[at].parent) {
    if (in.empty() && !IsInternal(function(at).name)) in = function(at).name;
  }
  if (at == leaf) {  // what it does itself
    const std::uint32_t caller = paths.nodes[leaf].parent;
    const std::string& name = function(leaf).name;
    return caller == 0 ? name : fmt::format("{} in {}", function(caller).name, name);
  }
  if (in.empty()) in = function(leaf).name;
  return at == 0 ? in : fmt::format("{} in {}", function(at).name, in);
}

// What the span did most in a part.
Result<std::string> StackOf(QueryContext& context, const SpanObservations& seen, std::uint32_t unit,
                            Part part, const CancelToken& cancel) {
  std::map<store::DictionaryKey, std::vector<StackValue>> stacks;
  for (const SpanObservations::Sample& s : seen.samples) {
    if (s.unit == unit && s.part == part && !s.lock_look)
      stacks[s.dictionary].push_back({s.stack, s.value, s.count});
  }
  std::vector<StackTries::Values> values;
  for (const auto& [key, list] : stacks) values.push_back({key, list});
  WHEREFORE_ASSIGN_OR_RETURN(const StackPaths paths, context.tries.PathsOf(values, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const OwnCode own, OwnCode::Parse(""));
  std::map<std::string, std::int64_t> by_text;
  for (std::size_t v = 0; v < values.size(); ++v) {
    for (std::size_t i = 0; i < values[v].stacks.size(); ++i) {
      const std::uint32_t leaf = paths.ends[v][i];
      if (leaf != 0) by_text[SayStack(paths, leaf, own)] += values[v].stacks[i].value;
    }
  }
  const auto most = std::ranges::max_element(by_text, {}, [](const auto& e) { return e.second; });
  return most == by_text.end() ? std::string() : most->first;
}

std::vector<std::size_t> LargestParts(const Account& account) {
  std::vector<std::size_t> order;
  const auto own = static_cast<double>(account.duration_ns - account[Part::kChildren].value);
  for (std::size_t p = 0; p < kParts; ++p) {
    if (static_cast<Part>(p) == Part::kChildren) continue;
    if (static_cast<double>(account.parts[p].value) > kWorthNaming * own) order.push_back(p);
  }
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t p) { return account.parts[p].value; });
  return order;
}

std::string PartText(const Account& account, std::size_t p) {
  const AccountPart& part = account.parts[p];
  std::string text = fmt::format("{} {}", kNames[p], FormatDuration(part.value));
  if (part.error > 0 && static_cast<Part>(p) != Part::kUnobserved)
    text += fmt::format(" ± {}", FormatDuration(part.error));
  return text;
}

// "I/O ± 61 ms": the part that is known worst.
std::optional<std::size_t> LeastSure(const Account& account) {
  std::optional<std::size_t> worst;
  for (std::size_t p = 0; p < kParts; ++p) {
    if (static_cast<Part>(p) == Part::kUnobserved || account.parts[p].source == Source::kNone)
      continue;
    if (account.parts[p].error > 0 &&
        (!worst || account.parts[p].error > account.parts[*worst].error))
      worst = p;
  }
  return worst;
}

class Explainer {
 public:
  Explainer(QueryContext& context, std::uint32_t tenant, const CancelToken& cancel)
      : context_(context), tenant_(tenant), cancel_(cancel) {}

  Result<Explanation> Trace(const profile::TraceId& trace) {
    WHEREFORE_ASSIGN_OR_RETURN(const TraceAccounting all,
                               AccountTrace(context_, tenant_, trace, cancel_));
    if (all.accounts.empty())
      return Error(Code::kNotFound, "no spans of trace " + ToHex(trace) + " are stored");
    const CriticalPath path = FindCriticalPath(all.seen.spans);
    const std::uint32_t root = path.root == kNoSpan ? 0 : path.root;
    const store::SpanRow& request = all.seen.spans[root];
    const SpanSearch alike{.tenant = tenant_,
                           .range = {request.start_ns - kSimilar, request.start_ns + kSimilar},
                           .service = request.service_name,
                           .name = request.name};
    WHEREFORE_ASSIGN_OR_RETURN(const SlowAnswer slow,
                               SlowVersusTypical(context_, alike, {}, cancel_));
    std::string times;
    if (slow.median_ns > 0 && slow.requests > 1)
      times =
          fmt::format(", {:.1f} x the median of {} such requests",
                      static_cast<double>(path.duration_ns) / static_cast<double>(slow.median_ns),
                      FormatCount(static_cast<std::int64_t>(slow.requests)));
    out_.title = fmt::format("{} · {} · {}{} · {}", request.name, request.service_name,
                             FormatDuration(path.duration_ns), times, FormatTime(request.start_ns));
    out_.path = "/traces/" + ToHex(trace);
    out_.commands.push_back("wherefore trace " + ToHex(trace));
    WHEREFORE_RETURN_IF_ERROR(Why(all, FindWhere(all), alike));
    Unlike(slow, alike);
    See();
    return std::move(out_);
  }

  Result<Explanation> Endpoint(const SpanSearch& search) {
    WHEREFORE_ASSIGN_OR_RETURN(const SlowAnswer slow,
                               SlowVersusTypical(context_, search, {}, cancel_));
    if (slow.requests == 0)
      return Error(Code::kNotFound, fmt::format("no span '{}' of service '{}' in that time",
                                                search.name, search.service));
    out_.title = fmt::format("{} · {} · {} requests, median {}, slow from {}", search.name,
                             search.service, FormatCount(static_cast<std::int64_t>(slow.requests)),
                             FormatDuration(slow.median_ns), FormatDuration(slow.slow_from_ns));
    SpanSearch slowest = search;
    slowest.slowest = true;
    slowest.limit = kSlowestTraces;
    WHEREFORE_ASSIGN_OR_RETURN(const auto traces, context_.reader.FindTraces(slowest, cancel_));
    WHEREFORE_ASSIGN_OR_RETURN(SpanObservations seen,
                               ObserveSpans(context_, tenant_, traces, cancel_));
    const TraceAccounting all = AccountEach(std::move(seen));
    if (!traces.empty()) {
      out_.path = "/traces/" + ToHex(traces.front());
      out_.commands.push_back("wherefore trace " + ToHex(traces.front()));
    }
    WHEREFORE_RETURN_IF_ERROR(Why(all, FindWhere(all), search));
    Unlike(slow, search);
    See();
    return std::move(out_);
  }

 private:
  void Add(std::string label, std::string text) {
    if (!text.empty()) out_.lines.push_back({std::move(label), std::move(text)});
  }

  // Where, why, since when, and how sure that is.
  Result<> Why(const TraceAccounting& all, const Where& where, const SpanSearch& search) {
    if (where.span == kNoSpan) {
      Add("Where", "nothing but time of a root span that is not stored");
      return {};
    }
    Add("Where", fmt::format("{}/{}: {} of {} on the critical path", where.service, where.name,
                             FormatDuration(where.time_ns), FormatDuration(where.all_ns)));
    const std::uint32_t unit = all.seen.unit[where.span];
    const Account& account = all.accounts[unit];
    std::string why;
    bool named = false;
    for (const std::size_t p : LargestParts(account)) {
      if (!why.empty()) why += "; ";
      why += PartText(account, p);
      if (named || static_cast<Part>(p) == Part::kUnobserved) continue;
      named = true;
      WHEREFORE_ASSIGN_OR_RETURN(const std::string stack,
                                 StackOf(context_, all.seen, unit, static_cast<Part>(p), cancel_));
      if (!stack.empty()) why += ": " + stack;
      if (static_cast<Part>(p) != Part::kLock) continue;
      WHEREFORE_ASSIGN_OR_RETURN(const std::string holder,
                                 Holder(where.service, all.seen.spans[where.span].start_ns));
      why += holder;
    }
    if (why.empty()) why = "its children took it";
    const std::string& reason = all.reasons[all.why[unit]];
    if (!named && !reason.empty()) why += " (" + reason + ")";
    Add("Why", why);
    WHEREFORE_RETURN_IF_ERROR(Since(where.services, all.seen.spans[where.span].start_ns));
    return Sure(account, where, search);
  }

  // Who mostly held the locks that others waited for in the service. A lock does not say whom it
  // made wait, so this is about all such waiting.
  Result<std::string> Holder(const std::string& service, std::int64_t at_ns) {
    Selection locks{
        .tenant = tenant_, .type = "mutex", .range = {at_ns - kSimilar, at_ns + kSimilar}};
    locks.selector.Add(Selector::OfService(service));
    WHEREFORE_ASSIGN_OR_RETURN(const Lens own, Lens::Parse("own"));
    WHEREFORE_ASSIGN_OR_RETURN(const TopAnswer top, Top(context_, locks, own, {}, cancel_));
    if (top.rows.empty() || top.total <= 0) return std::string();
    const profile::TopRow& most = top.rows.front();
    const double share = static_cast<double>(most.self) / static_cast<double>(top.total);
    const double error = profile::ShareError(most.self_count, top.count);
    if (top.functions[most.function].name == kNoOwnCode || 100 * share <= error)
      return std::string();
    return fmt::format(", mostly held by {} ({:.0f} % ± {:.0f} of such waiting)",
                       top.functions[most.function].name, 100 * share, error);
  }

  Result<> Sure(const Account& account, const Where& where, const SpanSearch& search) {
    const auto worst = LeastSure(account);
    if (!worst) {
      sure_ = account[Part::kUnobserved].value == account.duration_ns ? "nothing of it was observed"
                                                                      : "what is named is measured";
      return {};
    }
    SpanSearch of_name{
        .tenant = tenant_, .range = search.range, .service = where.service, .name = where.name};
    WHEREFORE_ASSIGN_OR_RETURN(const NameAccounting many,
                               AccountName(context_, of_name, kEnoughSpans, cancel_));
    sure_ = fmt::format("{} of this one span only to ± {}", kNames[*worst],
                        FormatDuration(account.parts[*worst].error));
    if (many.spans > 1)
      sure_ += fmt::format(
          "; of the {} spans of this name ± {} each",
          FormatCount(static_cast<std::int64_t>(many.spans)),
          FormatDuration(many.account.parts[*worst].error / static_cast<std::int64_t>(many.spans)));
    return {};
  }

  // What the newest version of a service on the path does more of than the one before: the first
  // that surely does, or that none does.
  Result<> Since(const std::vector<std::string>& services, std::int64_t at_ns) {
    std::optional<Deploy> first;
    for (const std::string& service : services) {
      WHEREFORE_ASSIGN_OR_RETURN(std::optional<Deploy> deploy, DeployOf(service, at_ns));
      if (!deploy) continue;
      if (!first || !deploy->causes.empty()) first = std::move(deploy);
      if (!first->causes.empty()) break;
    }
    if (first) AddSince(*first);
    return {};
  }

  struct Deploy {
    std::string service;
    std::string label;
    std::string before;
    ServiceVersion after;
    std::vector<std::string> causes;
    std::string groups;
  };

  // None: no two versions came before that time.
  Result<std::optional<Deploy>> DeployOf(const std::string& service, std::int64_t at_ns) {
    Selection left{
        .tenant = tenant_, .type = "cpu", .range = {at_ns - kVersions, at_ns + kSimilar}};
    WHEREFORE_ASSIGN_OR_RETURN(const ServiceVersions all,
                               VersionsOf(context_, tenant_, service, left.range, cancel_));
    // The newest that had come when the request was made.
    const auto came = [&](const ServiceVersion& v) { return v.first_ns <= at_ns; };
    const auto newest = std::ranges::find_if(all.versions.rbegin(), all.versions.rend(), came);
    if (newest == all.versions.rend() || newest + 1 == all.versions.rend()) return std::nullopt;
    Deploy deploy{.service = service,
                  .label = all.label,
                  .before = (newest + 1)->name,
                  .after = *newest,
                  .causes = {},
                  .groups = {}};
    Selection right = left;
    WHEREFORE_ASSIGN_OR_RETURN(left.selector, SelectorOf(service, all.label, deploy.before));
    WHEREFORE_ASSIGN_OR_RETURN(right.selector, SelectorOf(service, all.label, deploy.after.name));
    WHEREFORE_ASSIGN_OR_RETURN(const TestedDifference tested,
                               TestVersions(context_, left, right, cancel_));
    WHEREFORE_ASSIGN_OR_RETURN(const OwnCode own, OwnCode::Parse(""));
    deploy.causes = DearerSince(tested, own);
    deploy.groups =
        fmt::format("{} + {} {}", tested.groups_before, tested.groups_after,
                    tested.grouping == Grouping::kInstances ? "instances" : "blocks of time");
    return deploy;
  }

  static std::vector<std::string> DearerSince(const TestedDifference& tested, const OwnCode& own) {
    const std::string_view of = tested.compared == Compared::kPerRequest
                                    ? "of the CPU time per request before"
                                    : "of all CPU time before";
    std::vector<std::string> causes;
    for (const Cause& cause : tested.causes) {
      if (cause.kind != CauseKind::kMore && cause.kind != CauseKind::kNew) continue;
      const double unit = cause.change != 0 ? cause.share_of_before / cause.change : 0;
      std::string name = cause.function.name;
      const profile::FlameFunction caller = OwnFunctionOf(cause, own);
      if (!caller.name.empty() && caller.name != name) name += " in " + caller.name;
      causes.push_back(fmt::format("{} {:+.1f} % {} ({:+.1f} to {:+.1f})", name,
                                   100 * cause.share_of_before, of, 100 * cause.low * unit,
                                   100 * cause.high * unit));
      if (causes.size() == 2) break;
    }
    return causes;
  }

  void AddSince(const Deploy& deploy) {
    const std::string what =
        deploy.causes.empty()
            ? fmt::format("nothing surely costs more than in {} ({})", deploy.before, deploy.groups)
            : fmt::format("{}; {}", fmt::join(deploy.causes, "; "), deploy.groups);
    Add("Since", fmt::format("{} {} ({}): {}", deploy.service, deploy.after.name,
                             FormatTime(deploy.after.first_ns), what));
    const auto side = [&](const std::string& version) {
      return ShellQuoted(fmt::format("{}{{{}={}}}", deploy.service, deploy.label, version));
    };
    out_.commands.push_back(fmt::format("wherefore diff {} {} --since 24h", side(deploy.before),
                                        side(deploy.after.name)));
  }

  void Unlike(const SlowAnswer& slow, const SpanSearch& search) {
    if (!slow.note.empty()) {
      Add("Unlike", "typical requests: " + slow.note);
    } else if (slow.causes.empty()) {
      Add("Unlike", "typical requests: nothing surely differs");
    } else {
      const SlowRow& first = slow.causes.front();
      std::string what = !first.name.empty()
                             ? fmt::format("{} {}", first.service, first.name)
                             : std::string(kNames[static_cast<std::size_t>(first.part)]);
      if (!first.function.name.empty()) what += " in " + first.function.name;
      std::string text =
          fmt::format("typical requests: {}, {} of the {} gap (p {:.3f}; {} + {} requests)", what,
                      Ms(first.test.change), FormatDuration(slow.gap_ns), first.test.p, slow.slow,
                      slow.typical);
      if (!slow.attributes.empty()) {
        const SlowAttribute& a = slow.attributes.front();
        text += fmt::format("; {:.0f} % of slow have {}={} ({:.0f} % of typical)",
                            100 * a.test.slow, a.name, a.value, 100 * a.test.typical);
      }
      Add("Unlike", text);
    }
    out_.commands.push_back("wherefore slow " + ShellQuoted(search.service + " " + search.name));
    Add("Sure?", sure_);
  }

  void See() { Add("See", fmt::format("{}", fmt::join(out_.commands, " · "))); }

  QueryContext& context_;
  const std::uint32_t tenant_;
  const CancelToken& cancel_;
  Explanation out_;
  std::string sure_;
};

}  // namespace

Result<Explanation> ExplainTrace(QueryContext& context, std::uint32_t tenant,
                                 const profile::TraceId& trace, const CancelToken& cancel) {
  return Explainer(context, tenant, cancel).Trace(trace);
}

Result<Explanation> ExplainEndpoint(QueryContext& context, const store::SpanSearch& search,
                                    const CancelToken& cancel) {
  return Explainer(context, search.tenant, cancel).Endpoint(search);
}

}  // namespace wherefore::query
