#include "api/worse_watch.h"

#include <algorithm>
#include <exception>

#include "base/clock.h"
#include "base/log.h"
#include "insight/alerts/alerts.h"
#include "insight/insights.h"
#include "query/labels.h"
#include "query/statistics.h"

namespace wherefore::api {
namespace {

constexpr std::int64_t kMaxAge = 60 * kNsPerSecond;
constexpr std::int64_t kShareOfTime = 10;  // a round every ten times as long as it takes
constexpr std::int64_t kLookBack = 24 * 3600 * kNsPerSecond;
constexpr std::int64_t kLongestLook = 20 * kNsPerSecond;
constexpr std::int64_t kInsightsOf = 3600 * kNsPerSecond;
constexpr std::size_t kMostInsights = 10'000;
constexpr std::size_t kMostTenants = 64;

// Equal services are many: some would look different by chance.
void SetRates(WorseSeen& seen) {
  std::vector<double> p;
  for (const auto& look : seen.looks) {
    if (look->change.verdict != query::ServiceVerdict::kUnknown) p.push_back(look->change.p);
  }
  const std::vector<double> q = query::FalseDiscoveryRates(p);
  std::size_t at = 0;
  for (auto& look : seen.looks) {
    if (look->change.verdict == query::ServiceVerdict::kUnknown) continue;
    auto with = std::make_shared<WorseSeen::Look>(*look);
    with->q = q[at++];
    look = std::move(with);
  }
}

}  // namespace

WorseSeen WorseWatch::Ask(std::uint32_t tenant, std::int64_t max_age_ns) {
  WorseSeen seen;
  bool begin = false;
  {
    MutexLock lock(mutex_);
    if (!rounds_.contains(tenant) && rounds_.size() >= kMostTenants) {
      std::erase_if(rounds_, [](const auto& one) { return !one.second.running; });
    }
    Round& round = rounds_[tenant];
    const std::int64_t age = MonotonicNs() - round.begun_ns;
    const std::int64_t most =
        max_age_ns >= 0 ? max_age_ns : std::max(kMaxAge, kShareOfTime * round.took_ns);
    begin = !round.running && (round.begun_ns == 0 || age > most);
    if (begin) {
      round.running = true;
      round.begun_ns = MonotonicNs();
    }
    seen.looking = round.running;
    seen.services = round.services.size();
    for (const auto& [service, count] : round.insights) seen.marks[service].insights = count;
    for (const std::string& service : round.services) {
      const auto at = round.looks.find(service);
      if (at != round.looks.end()) seen.looks.push_back(at->second);
    }
  }
  if (known_.alerts != nullptr) {
    for (const insight::AlertsSeen::One& one : known_.alerts->Seen(tenant).alerts) {
      WorseSeen::Marks& of = seen.marks[one.state.service];
      ++(one.state.phase == insight::AlertPhase::kFiring ? of.firing : of.pending);
    }
  }
  if (begin) Submit(tenant, &WorseWatch::List);
  SetRates(seen);
  return seen;
}

void WorseWatch::Submit(std::uint32_t tenant, void (WorseWatch::*step)(std::uint32_t)) {
  const bool taken =
      workers_.Submit(net::WorkKind::kUpkeep, [self = shared_from_this(), tenant, step] {
        try {
          (self.get()->*step)(tenant);
        } catch (const std::exception& e) {  // libraries, and memory
          Log(LogLevel::kError, "what got worse is not known", {{"error", e.what()}});
          self->End(tenant);
        }
      });
  // Too much to do, or stopping: the next question begins again.
  if (!taken) End(tenant);
}

void WorseWatch::End(std::uint32_t tenant) {
  MutexLock lock(mutex_);
  Round& round = rounds_[tenant];
  round.running = false;
  round.took_ns = MonotonicNs() - round.begun_ns;
}

void WorseWatch::List(std::uint32_t tenant) {
  CancelToken cancel;
  cancel.SetDeadline(MonotonicNs() + kLongestLook);
  cancel.SetMemoryLimit(memory_bytes_);
  const std::int64_t now = NowUnixNs();
  const query::Selection everything{.tenant = tenant, .range = {now - kLookBack, now}};
  Result<> caught_up = catch_up_ ? catch_up_(cancel) : Result<>();
  auto stored = caught_up ? query::ServicesOf(context_, everything, cancel)
                          : Result<query::StoredServices>(caught_up.error());
  if (!stored) {
    Log(LogLevel::kWarn, "services are not known", {{"error", stored.error().message()}});
    End(tenant);
    return;
  }
  std::vector<std::pair<double, std::string>> by_cost;
  for (const auto& [name, service] : stored->by_name) by_cost.emplace_back(-service.cpu, name);
  std::ranges::sort(by_cost);
  {
    MutexLock lock(mutex_);
    Round& round = rounds_[tenant];
    round.services.clear();
    for (auto& [cost, name] : by_cost) round.services.push_back(std::move(name));
    round.next = 0;
    std::erase_if(round.looks, [&](const auto& look) {
      return std::ranges::find(round.services, look.first) == round.services.end();
    });
  }
  Look(tenant);
}

void WorseWatch::Look(std::uint32_t tenant) {
  std::string service;
  {
    MutexLock lock(mutex_);
    Round& round = rounds_[tenant];
    if (round.next < round.services.size()) service = round.services[round.next++];
  }
  if (service.empty()) {
    CountInsights(tenant);
    return;
  }
  CancelToken cancel;
  cancel.SetDeadline(MonotonicNs() + kLongestLook);
  cancel.SetMemoryLimit(memory_bytes_);
  const std::int64_t now = NowUnixNs();
  auto change = query::ChangeOfService(context_, tenant, service, now, cancel);
  auto look = std::make_shared<WorseSeen::Look>();
  look->looked_ns = now;
  if (change) {
    look->change = *std::move(change);
  } else {
    look->change.service = service;
    look->change.reason = change.error().message();
  }
  {
    MutexLock lock(mutex_);
    rounds_[tenant].looks[service] = std::move(look);
  }
  Submit(tenant, &WorseWatch::Look);
}

void WorseWatch::CountInsights(std::uint32_t tenant) {
  CancelToken cancel;
  cancel.SetDeadline(MonotonicNs() + kLongestLook);
  cancel.SetMemoryLimit(memory_bytes_);
  const std::int64_t now = NowUnixNs();
  const query::Selection everything{.tenant = tenant, .range = {now - kInsightsOf, now}};
  // Those that use most CPU come first, so that the time is enough for what matters.
  const insight::InsightOptions options{.limit = kMostInsights, .budget_ns = kLongestLook / 2};
  const auto found =
      known_.rules.empty()
          ? Result<insight::InsightsAnswer>(insight::InsightsAnswer())
          : insight::FindInsights(context_, everything, known_.rules, options, cancel);
  if (found) {
    std::map<std::string, std::size_t> counts;
    for (const insight::Finding& finding : found->findings) ++counts[finding.service];
    MutexLock lock(mutex_);
    rounds_[tenant].insights = std::move(counts);
  } else {
    Log(LogLevel::kWarn, "insights are not known", {{"error", found.error().message()}});
  }
  End(tenant);
}

void AppendMarks(JsonWriter& json, const WorseSeen& seen, const query::NameFilter& names) {
  json.Key("marks").BeginArray();
  for (const auto& [service, of] : seen.marks) {
    if (!names.Matches(service)) continue;
    json.BeginObject().Field("service", service).Field("firing", of.firing);
    json.Field("pending", of.pending).Field("insights", of.insights).EndObject();
  }
  json.EndArray();
}

}  // namespace wherefore::api
