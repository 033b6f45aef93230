#include "query/overview.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "base/clock.h"
#include "query/languages.h"
#include "query/own_code.h"
#include "query/sample_groups.h"
#include "query/scan.h"
#include "query/snapshots.h"
#include "query/timeline.h"

namespace wherefore::query {
namespace {

constexpr std::int64_t kMostSteps = 240;
constexpr std::size_t kTopFunctions = 3;

std::int64_t StepOf(store::TimeRange range) {
  return std::max<std::int64_t>((range.to_ns - range.from_ns) / kMostSteps / kNsPerSecond, 1) *
         kNsPerSecond;
}

// What sends, as its labels tell it: "opentelemetry 1.2.0 (cpp)", "gospy".
std::string SenderOf(const Labels& labels) {
  static constexpr std::array<std::string_view, 2> kNames = {"telemetry.sdk.name", "pyroscope_spy"};
  static constexpr std::array<std::string_view, 1> kVersions = {"telemetry.sdk.version"};
  static constexpr std::array<std::string_view, 1> kLanguages = {"telemetry.sdk.language"};
  std::string text(FirstLabel(labels, kNames));
  if (text.empty()) return text;
  if (const auto version = FirstLabel(labels, kVersions); !version.empty())
    text += fmt::format(" {}", version);
  if (const auto language = FirstLabel(labels, kLanguages); !language.empty())
    text += fmt::format(" ({})", language);
  return text;
}

// Whether an instance that was last seen then is there when the newest snapshot of its service is
// taken: its next one is not overdue.
bool IsStillThere(const store::NewestRow& last, std::int64_t newest_ns) {
  const std::int64_t due =
      std::max(profile::BelievedDuration(last.profile.duration_ns), last.distance_ns);
  return newest_ns - last.profile.time_ns <= 2 * due;
}

void TakeTop(const std::string& type, std::int64_t total,
             std::span<const profile::FlameFunction> functions,
             std::span<const profile::TopRow> rows, ServiceOverview& out) {
  out.top_type = type;
  out.top_total = total;
  for (const profile::TopRow& row : rows) {
    if (out.top.size() == kTopFunctions || row.self <= 0) break;
    out.top.push_back(row);
    out.functions.push_back(functions[row.function]);
    out.top.back().function = static_cast<std::uint32_t>(out.functions.size() - 1);
  }
}

// What libraries, runtime and kernel did is charged to the nearest own function above it.
std::map<std::uint32_t, std::int64_t> OwnValues(const TrieSums::Stacks& stacks) {
  static const OwnCode own = *OwnCode::Parse("default");
  enum Kind : char { kUnknown, kOwn, kOther };
  std::vector<Kind> kinds(stacks.functions.size(), kUnknown);  // few are ever asked for
  const auto is_own = [&](std::uint32_t function) {
    Kind& kind = kinds[function];
    if (kind == kUnknown) kind = own.IsOwn(stacks.functions[function]) ? kOwn : kOther;
    return kind == kOwn;
  };
  std::map<std::uint32_t, std::int64_t> values;
  for (const TrieSums::Stacks::End& end : stacks.ends) {
    std::uint32_t node = end.node;
    while (node != 0 && !is_own(stacks.nodes[node].function)) node = stacks.nodes[node].parent;
    if (node != 0) values[stacks.nodes[node].function] += end.value;
  }
  return values;
}

void TakeOwnTop(const TrieSums::Stacks& stacks, ServiceOverview& out) {
  const auto values = OwnValues(stacks);
  std::vector<std::pair<std::int64_t, std::uint32_t>> largest;
  for (const auto& [function, value] : values) {
    if (value > 0) largest.emplace_back(-value, function);
  }
  const std::size_t most = std::min(kTopFunctions, largest.size());
  std::ranges::partial_sort(largest, largest.begin() + static_cast<std::ptrdiff_t>(most));
  for (std::size_t i = 0; i < most; ++i) {
    profile::TopRow row;
    row.function = static_cast<std::uint32_t>(out.functions.size());
    row.self = -largest[i].first;
    out.own_top.push_back(row);
    out.functions.push_back(stacks.functions[largest[i].second]);
  }
}

// The version that ran in the newest step with anything, and the one before it.
void TakeVersions(const std::map<std::string, std::vector<std::int64_t>>& by_version,
                  std::size_t steps, ServiceOverview& out) {
  for (std::size_t step = steps; step-- > 0;) {
    std::vector<std::string> here;
    for (const auto& [version, values] : by_version) {
      if (!version.empty() && values[step] != 0) here.push_back(version);
    }
    if (here.empty()) continue;
    if (out.versions.empty()) {
      out.versions = std::move(here);
      continue;
    }
    const auto other = std::ranges::find_if(here, [&](const std::string& v) {
      return std::ranges::find(out.versions, v) == out.versions.end();
    });
    if (other == here.end()) continue;
    out.earlier_version = *other;
    return;
  }
}

using ByName = std::map<std::string, ServiceOverview*>;  // those that are listed

Result<> AddCpu(QueryContext& context, const Selection& listed, OverviewAnswer& answer,
                const ByName& services, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(TimelineAnswer series,
                             Timeline(context, listed,
                                      {.steps = {.width_ns = answer.step_ns, .spread = true},
                                       .group_by = {"service.version", "service_name"}},
                                      cancel));
  answer.start_ns = series.start_ns;
  std::map<std::string, std::map<std::string, std::vector<std::int64_t>>> by_service;
  for (const TimelineGroup& group : series.groups) {
    const std::string service(FindLabel(group.labels, "service_name"));
    const auto at = services.find(service);
    if (at == services.end()) continue;
    std::vector<std::int64_t>& cpu = at->second->cpu;
    std::vector<std::int64_t>& profiles = at->second->cpu_profiles;
    cpu.resize(group.values.size());
    profiles.resize(group.values.size());
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      cpu[i] = SaturatingAdd(cpu[i], group.values[i]);
      profiles[i] += group.profiles[i];
    }
    by_service[service][std::string(FindLabel(group.labels, "service.version"))] = group.values;
  }
  for (const auto& [service, versions] : by_service) {
    TakeVersions(versions, versions.begin()->second.size(), *services.at(service));
  }
  return {};
}

// The part of the range in which a service could be seen.
Result<store::TimeRange> Observed(QueryContext& context, std::uint32_t tenant,
                                  store::TimeRange range, store::TimeRange covered,
                                  const CancelToken& cancel) {
  // Senders send what the last seconds cost when they are over.
  constexpr std::int64_t kArrivesWithin = 120 * kNsPerSecond;
  store::TimeRange observed = range;
  observed.to_ns = std::clamp(NowUnixNs(), range.from_ns + 1, range.to_ns);
  if (covered.to_ns == 0) return observed;
  if (covered.to_ns < observed.to_ns && observed.to_ns - covered.to_ns < kArrivesWithin)
    observed.to_ns = covered.to_ns;
  // A server that is younger than the range could not have seen more.
  const std::int64_t width = range.to_ns - range.from_ns;
  const Selection earlier{
      .tenant = tenant, .range = {std::max<std::int64_t>(range.from_ns - width, 0), range.from_ns}};
  WHEREFORE_ASSIGN_OR_RETURN(const StoredServices before, ServicesOf(context, earlier, cancel));
  if (before.by_name.empty()) observed.from_ns = covered.from_ns;
  observed.to_ns = std::max(observed.to_ns, observed.from_ns + 1);
  return observed;
}

Result<> AddCores(QueryContext& context, const Selection& listed, OverviewAnswer& answer,
                  const ByName& services, const CancelToken& cancel) {
  Selection everything = listed;
  everything.selector = {};
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved all, context.catalog.Resolve(everything, {}, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto seen, context.reader.Seen(all.query, store::Reader::SeenAs::kTogether, cancel));
  profile::ObservedTime observed = UnionOf(seen);
  answer.observed_ns = observed.total_ns();
  const std::int64_t length = listed.range.to_ns - answer.start_ns;
  answer.step_observed_ns =
      observed.PerStep({answer.start_ns, answer.step_ns,
                        static_cast<std::size_t>((length + answer.step_ns - 1) / answer.step_ns)});
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r, context.catalog.Resolve(listed, {}, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows,
                             context.reader.Seen(r.query, store::Reader::SeenAs::kOfEach, cancel));
  std::map<std::string, std::vector<store::SeenRow>> by_service;
  for (const store::SeenRow& row : rows) by_service[r.services[row.dictionary]].push_back(row);
  for (const auto& [name, service] : services) {
    if (service->cpu.empty()) continue;
    double sum = 0;
    for (const std::int64_t v : service->cpu) sum += static_cast<double>(v);
    service->seen_ns = UnionOf(by_service[name]).total_ns();
    if (answer.observed_ns > 0) service->cores = sum / static_cast<double>(answer.observed_ns);
  }
  return {};
}

Result<> AddHeap(QueryContext& context, const Selection& listed, const ByName& services,
                 const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r, context.catalog.Resolve(listed, {}, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows, context.reader.Newest(r.query, cancel));
  std::map<std::string, std::int64_t> newest;  // when its newest snapshot was taken
  for (const store::NewestRow& row : rows) {
    std::int64_t& at = newest[r.services[row.profile.dictionary]];
    at = std::max(at, row.profile.time_ns);
  }
  for (const store::NewestRow& row : rows) {
    const std::string& name = r.services[row.profile.dictionary];
    const auto service = services.find(name);
    if (service == services.end() || !IsStillThere(row, newest[name])) continue;
    const std::int64_t bytes = r.types.at(row.profile.type).Value(row.profile.value);
    service->second->heap_bytes = SaturatingAdd(service->second->heap_bytes.value_or(0), bytes);
  }
  return {};
}

// The functions of one service that take most.
Result<> AddTop(QueryContext& context, const std::string& type,
                std::span<const StackTries::Values> stacks, ServiceOverview& service,
                const CancelToken& cancel) {
  const MemoryScope scope(cancel);  // one service's tree at a time
  WHEREFORE_ASSIGN_OR_RETURN(TrieSums sums, context.tries.Sum(stacks, cancel));
  if (sums.IsPlain()) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto every, sums.EveryStack());
    TakeOwnTop(every, service);
    WHEREFORE_ASSIGN_OR_RETURN(const auto top, sums.Top());
    TakeTop(type, top.total, top.functions, top.rows, service);
    return {};
  }
  WHEREFORE_ASSIGN_OR_RETURN(profile::FlameTree tree, sums.Whole(Identity::kFunction));
  TakeTop(type, tree.total[0], tree.functions, profile::Top(tree), service);
  return {};
}

Result<> AddTops(QueryContext& context, const Selection& listed, const ByName& services,
                 const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r, Resolve(context, listed, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto values, SumOrAverage(context, r, cancel));
  std::map<ServiceOverview*, std::vector<StackTries::Values>> by_service;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = services.find(r.services[i]);
    if (values[i].empty() || at == services.end()) continue;
    by_service[at->second].push_back({r.query.selections[i].dictionary, values[i]});
  }
  // Some at a time: what is read of them together is still known when their turn comes.
  constexpr std::size_t kAtOnce = 64;
  for (auto begin = by_service.begin(); begin != by_service.end();) {
    std::vector<StackTries::Values> stacks;
    auto end = begin;
    for (std::size_t i = 0; i < kAtOnce && end != by_service.end(); ++i, ++end)
      stacks.insert(stacks.end(), end->second.begin(), end->second.end());
    WHEREFORE_RETURN_IF_ERROR(context.tries.Prepare(stacks, cancel));
    for (; begin != end; ++begin)
      WHEREFORE_RETURN_IF_ERROR(AddTop(context, r.type, begin->second, *begin->first, cancel));
  }
  return {};
}

// Those that use no CPU are known by what their profiles are of.
Result<> AddOtherTops(QueryContext& context, const Selection& listed, const StoredServices& stored,
                      const ByName& services, const CancelToken& cancel) {
  std::map<std::string, std::vector<std::string>> by_type;
  for (const auto& [name, service] : services) {
    if (!service->cpu.empty() || service->info.profiles == 0) continue;
    by_type[stored.DefaultTypeOf(name)].push_back(name);
  }
  for (auto& [type, names] : by_type) {
    Selection own = listed;
    own.selector = Selector::OfServices({names.begin(), names.end()});
    own.type = type;
    WHEREFORE_RETURN_IF_ERROR(AddTops(context, own, services, cancel));
  }
  return {};
}

Result<> AddSenders(QueryContext& context, const Selection& listed, const ByName& services,
                    const CancelToken& cancel) {
  return EachSeries(
      context, listed,
      [&](const StoredSeries& one) {
        const auto at = services.find(std::string(one.service));
        if (at == services.end()) return;
        if (std::string sender = SenderOf(*one.labels); !sender.empty())
          at->second->senders.insert(std::move(sender));
        if (const auto instance = InstanceOf(*one.labels); !instance.empty())
          at->second->instances.emplace(instance);
        if (const auto language = LanguageOf(*one.labels); !language.empty())
          at->second->languages.emplace(language);
      },
      cancel);
}

// The services that are listed: those that use most CPU, then those with profiles, then those with
// spans only; among equals by name.
std::vector<std::string> Listed(const StoredServices& stored,
                                const std::map<std::string, store::LatencyRow>& latencies,
                                const ListOf& wanted, OverviewAnswer& answer) {
  struct Candidate {
    double cpu;
    bool profiled;
    const std::string* name;
  };
  std::vector<Candidate> all;
  double cpu = 0;
  for (const auto& [name, service] : stored.by_name) {
    if (!wanted.search.Matches(name)) continue;
    all.push_back({service.cpu, true, &name});
    cpu += service.cpu;
  }
  for (const auto& [name, latency] : latencies) {
    if (!stored.by_name.contains(name) && wanted.search.Matches(name))
      all.push_back({0, false, &name});
  }
  answer.total = all.size();
  answer.cores = cpu;  // until it is known over which time
  const auto first = static_cast<std::ptrdiff_t>(std::min(all.size(), wanted.offset));
  const auto most = first + static_cast<std::ptrdiff_t>(std::min(
                                all.size() - std::min(all.size(), wanted.offset), wanted.limit));
  std::ranges::partial_sort(all, all.begin() + most, [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.cpu, !a.profiled, std::string_view(*a.name)) <
           std::tuple(-b.cpu, !b.profiled, std::string_view(*b.name));
  });
  std::vector<std::string> names;
  for (std::ptrdiff_t i = first; i < most; ++i)
    names.push_back(*all[static_cast<std::size_t>(i)].name);
  return names;
}

}  // namespace

Result<OverviewAnswer> Overview(QueryContext& context, std::uint32_t tenant, store::TimeRange range,
                                const ListOf& wanted, const CancelToken& cancel) {
  OverviewAnswer answer{.start_ns = range.from_ns, .step_ns = StepOf(range)};
  Selection listed{.tenant = tenant, .range = range};
  WHEREFORE_ASSIGN_OR_RETURN(const StoredServices stored, ServicesOf(context, listed, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(auto rows, context.reader.Latencies(tenant, range, cancel));
  std::map<std::string, store::LatencyRow> latencies;
  for (store::LatencyRow& row : rows) latencies[row.service_name] = std::move(row);
  const std::vector<std::string> names = Listed(stored, latencies, wanted, answer);
  answer.services.resize(names.size());
  ByName services;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ServiceOverview& service = answer.services[i];
    service.info = stored.Info(names[i]);
    if (const auto latency = latencies.find(names[i]); latency != latencies.end())
      service.latency = latency->second;
    services[names[i]] = &service;
  }
  listed.selector = Selector::OfServices({names.begin(), names.end()});
  listed.type = "cpu";
  WHEREFORE_ASSIGN_OR_RETURN(answer.observed,
                             Observed(context, tenant, range, stored.covered, cancel));
  WHEREFORE_RETURN_IF_ERROR(AddCpu(context, listed, answer, services, cancel));
  WHEREFORE_RETURN_IF_ERROR(AddCores(context, listed, answer, services, cancel));
  answer.cores =
      answer.observed_ns == 0 ? 0 : answer.cores / static_cast<double>(answer.observed_ns);
  WHEREFORE_RETURN_IF_ERROR(AddTops(context, listed, services, cancel));
  WHEREFORE_RETURN_IF_ERROR(AddOtherTops(context, listed, stored, services, cancel));
  listed.type = "inuse_space";
  WHEREFORE_RETURN_IF_ERROR(AddHeap(context, listed, services, cancel));
  listed.type.clear();
  WHEREFORE_RETURN_IF_ERROR(AddSenders(context, listed, services, cancel));
  return answer;
}

Result<std::optional<store::LatencyRow>> LatencyOf(QueryContext& context, std::uint32_t tenant,
                                                   const std::string& service,
                                                   store::TimeRange range,
                                                   const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows, context.reader.Latencies(tenant, range, cancel));
  const auto row = std::ranges::find(rows, service, &store::LatencyRow::service_name);
  return row == rows.end() ? std::nullopt : std::optional(*row);
}

}  // namespace wherefore::query
