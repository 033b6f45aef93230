#include "query/why_no_samples.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "profile/observations.h"
#include "profile/reduced.h"
#include "profile/typed_attributes.h"

namespace wherefore::query {
namespace {

// A service's name in a command that people copy: only if a shell takes it as it is.
std::string_view Copyable(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./";
  const bool plain = name.find_first_not_of(kPlain) == std::string_view::npos;
  return plain && !name.empty() && name[0] != '-' ? name : "NAME";
}

// It had its chance and was not seen: too short, or not on a CPU.
std::string WhyNotSampled(const ServiceActivity& activity) {
  const std::string took = FormatDuration(activity.span_ns);
  std::string why;
  if (activity.cpu_period_ns == 0) {
    why = fmt::format("the span took {} and was too short, or waited", took);
  } else if (activity.span_ns < 3 * activity.cpu_period_ns) {
    why = fmt::format("the span took {}, and there is one sample per {} of CPU time: too short",
                      took, FormatDuration(activity.cpu_period_ns));
  } else {
    why = fmt::format(
        "the span took {} with one sample per {} of CPU time, so it was hardly on a CPU: it waited",
        took, FormatDuration(activity.cpu_period_ns));
  }
  if (activity.shows_waiting) return why;
  return why + "; only CPU time is stored, wall-clock or off-CPU profiles show waiting";
}

}  // namespace

std::string WhyNoSamples(const ServiceActivity& activity) {
  if (activity.profiles == 0) {
    return fmt::format(
        "{} sent no profiles around that time: no profiler is connected to it (wherefore run "
        "--service {} -- PROGRAM, or what the status page says for its language)",
        activity.service, Copyable(activity.service));
  }
  if (activity.arriving) {
    return fmt::format(
        "what {} did then has not arrived yet: profilers send some seconds after the fact",
        activity.service);
  }
  if (!activity.reduced.empty()) {
    return fmt::format(
        "{} was profiled, and what this did is part of its totals, but {}", activity.service,
        activity.reduced == profile::kReducedShed
            ? "links to spans were left out then because the server had too much to do "
              "(profiling.load_shedding)"
            : "links are kept only for requests that are slow, fail or are busy on a CPU "
              "(profiling.conditional)");
  }
  if (activity.links == 0) {
    return fmt::format(
        "{} was profiled ({} {} around that time), but none of the samples belongs to a span: its "
        "profiler does not link spans",
        activity.service, FormatCount(static_cast<std::int64_t>(activity.profiles)),
        activity.profiles == 1 ? "profile" : "profiles");
  }
  return fmt::format("the profiler of {} links spans, but {}", activity.service,
                     WhyNotSampled(activity));
}

std::string WhyNoSamples(const std::vector<ServiceActivity>& services) {
  constexpr std::size_t kMost = 5;
  std::string out;
  for (std::size_t i = 0; i < services.size() && i < kMost; ++i) {
    out += (i > 0 ? ". And " : "") + WhyNoSamples(services[i]);
  }
  if (services.size() > kMost) out += fmt::format(". {} more services", services.size() - kMost);
  return out;
}

namespace {

// Why profiles lost detail on their way; empty if none did.
std::string ReducedBy(const std::vector<store::ProfileRow>& profiles) {
  for (const store::ProfileRow& row : profiles) {
    if (!row.attributes.contains(profile::kReducedKey)) continue;
    const auto attributes = profile::ReadTyped(row.attributes);
    if (!attributes) continue;
    for (const profile::TypedAttribute& a : *attributes) {
      if (a.key == profile::kReducedKey) return std::string(a.text);
    }
  }
  return {};
}

// What is stored of a span's service around its time.
Result<ServiceActivity> ServiceAt(QueryContext& context, std::uint32_t tenant,
                                  const store::SpanRow& span, const CancelToken& cancel) {
  // A profile begins up to its own length before the spans it has samples of.
  constexpr std::int64_t kAround = 120 * kNsPerSecond;
  ServiceActivity activity{.service = span.service_name, .span_ns = span.duration_ns};
  store::SampleQuery query{.tenant = tenant,
                           .range = {.from_ns = span.start_ns - kAround,
                                     .to_ns = span.start_ns + span.duration_ns + kAround}};
  WHEREFORE_ASSIGN_OR_RETURN(const auto services,
                             context.catalog.Services(tenant, query.range, cancel));
  std::vector<store::DictionaryKey> keys;
  for (const store::ServiceRow& row : services) {
    if (row.name != span.service_name) continue;
    keys.push_back(row.dictionary);
    query.selections.push_back({.dictionary = row.dictionary});
  }
  if (keys.empty()) return activity;
  WHEREFORE_ASSIGN_OR_RETURN(const auto profiles, context.reader.Profiles(query, 0, cancel));
  activity.profiles = profiles.size();
  if (profiles.empty()) return activity;
  activity.reduced = ReducedBy(profiles);
  const std::int64_t span_end = span.start_ns + span.duration_ns;
  activity.arriving =
      NowUnixNs() - span_end < kAround &&
      std::ranges::none_of(
          profiles,
          [&](const store::ProfileRow& p) { return p.time_ns + p.duration_ns >= span_end; });
  WHEREFORE_ASSIGN_OR_RETURN(const auto links, context.reader.Links(query, {}, cancel));
  activity.links = links.size();
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, context.catalog.Types(keys, cancel));
  for (const store::TypeRow& t : types) {
    const bool present = std::ranges::any_of(profiles, [&](const store::ProfileRow& p) {
      return p.type == t.type && p.dictionary == t.dictionary;
    });
    if (!present) continue;
    activity.shows_waiting = activity.shows_waiting || profile::MatchType(t.details, "wall") ||
                             profile::MatchType(t.details, "off_cpu");
    if (!profile::MatchType(t.details, "cpu") || t.details.period_unit != "nanoseconds") continue;
    activity.cpu_period_ns = std::max(activity.cpu_period_ns, t.details.period);
  }
  return activity;
}

}  // namespace

Result<std::string> ExplainNoLinks(QueryContext& context, std::uint32_t tenant,
                                   const std::vector<store::SpanRow>& trace,
                                   const std::vector<profile::SpanId>& wanted,
                                   std::string_view types, bool& arriving,
                                   const CancelToken& cancel) {
  if (!types.empty()) return fmt::format("no samples of that type; the samples are of: {}", types);
  if (trace.empty()) return "neither spans nor samples of this trace are stored";
  std::map<std::string, const store::SpanRow*> longest;  // by service
  for (const store::SpanRow& s : trace) {
    if (!wanted.empty() && std::ranges::find(wanted, s.id) == wanted.end()) continue;
    const store::SpanRow*& known = longest[s.service_name];
    if (known == nullptr || known->duration_ns < s.duration_ns) known = &s;
  }
  if (longest.empty())
    return fmt::format("no such span in this trace; it has {} spans", trace.size());
  constexpr std::size_t kMostAsked = 20;
  std::vector<ServiceActivity> services;
  for (const auto& [name, span] : longest) {
    if (services.size() == kMostAsked) break;
    WHEREFORE_ASSIGN_OR_RETURN(services.emplace_back(), ServiceAt(context, tenant, *span, cancel));
  }
  arriving = std::ranges::any_of(services, &ServiceActivity::arriving);
  return "no samples are linked to it: " + WhyNoSamples(services);
}

}  // namespace wherefore::query
