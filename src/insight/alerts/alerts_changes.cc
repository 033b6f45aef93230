// Alerts: silences and rules that people give through the API.
#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "insight/alerts/alerts.h"
#include "insight/alerts/read_rules.h"
#include "insight/alerts/receiver.h"

namespace wherefore::insight {
namespace {

constexpr std::int64_t kShownAfterEnd = kNsPerDay;  // silences
constexpr std::size_t kMostSilences = 10'000;
constexpr std::size_t kMostApiGroups = 1'000;

}  // namespace

std::vector<Silence> Alerts::Silences(std::uint32_t tenant) const {
  std::vector<Silence> out;
  const std::int64_t now = NowUnixNs();
  MutexLock lock(mutex_);
  for (const auto& [id, silence] : silences_) {
    if (silence.tenant == tenant && now - silence.ends_ns < kShownAfterEnd) out.push_back(silence);
  }
  std::ranges::stable_sort(out, std::greater(), &Silence::starts_ns);
  return out;
}

Result<std::string> Alerts::SetSilence(Silence silence) {
  const std::int64_t now = NowUnixNs();
  {
    MutexLock lock(mutex_);
    if (!restored_) return Error(Code::kUnavailable, "alerts are being read back; try again");
    const auto known = silences_.find(silence.id);
    if (!silence.id.empty() && (known == silences_.end() || known->second.tenant != silence.tenant))
      return Error(Code::kNotFound, fmt::format("no silence '{}'", silence.id));
    if (silence.id.empty() && silences_.size() >= kMostSilences)
      return Error(Code::kLimit, fmt::format("there are {} silences already", kMostSilences));
  }
  if (silence.id.empty()) silence.id = MakeSilenceId();
  std::vector<store::AlertEvent> events{EventOf(silence, now)};
  WHEREFORE_RETURN_IF_ERROR(LogEvents(events));
  std::string id = silence.id;
  MutexLock lock(mutex_);
  silences_[id] = std::move(silence);
  std::erase_if(silences_,
                [&](const auto& one) { return now - one.second.ends_ns > 7 * kNsPerDay; });
  changed_.NotifyAll();
  return id;
}

Result<> Alerts::EndSilence(std::uint32_t tenant, const std::string& id) {
  const std::int64_t now = NowUnixNs();
  Silence silence;
  {
    MutexLock lock(mutex_);
    const auto known = silences_.find(id);
    if (known == silences_.end() || known->second.tenant != tenant)
      return Error(Code::kNotFound, fmt::format("no silence '{}'", id));
    silence = known->second;
  }
  if (silence.ends_ns <= now) return {};
  silence.ends_ns = now;
  silence.starts_ns = std::min(silence.starts_ns, now);
  WHEREFORE_RETURN_IF_ERROR(SetSilence(std::move(silence)));
  return {};
}

Result<> Alerts::SetRules(std::uint32_t tenant, const std::string& tenant_name,
                          std::string_view yaml) {
  WHEREFORE_ASSIGN_OR_RETURN(AlertConfig config, ParseAlerts(yaml, "rules"));
  if (config.groups.size() != 1)
    return Error(Code::kInvalid, "rules: expected one group at a time, under `groups`");
  if (!config.receivers.empty() || !config.external_url.empty())
    return Error(Code::kInvalid, "rules: receivers and external_url are said in the server's file");
  AlertGroup& group = config.groups.front();
  if (group.tenant != tenant_name && !group.tenant.empty())
    return Error(Code::kInvalid, "rules: `tenant` is that of the request");
  group.tenant = tenant_name;
  for (AlertRule& rule : group.rules) {
    rule.tenant = tenant;
    rule.tenant_name = tenant_name;
  }
  auto added = std::make_shared<Group>(Group{group, kFromApi, tenant, std::string(yaml)});
  {
    MutexLock lock(mutex_);
    if (!restored_) return Error(Code::kUnavailable, "alerts are being read back; try again");
    std::size_t given = 0;
    for (const auto& other : groups_) {
      given += other->from == kFromApi ? 1 : 0;
      if (other->tenant == tenant && other->group.name == group.name && other->from != kFromApi)
        return Error(Code::kInvalid,
                     fmt::format("group `{}` is in {}: change it there", group.name, other->from));
    }
    if (given >= kMostApiGroups)
      return Error(Code::kLimit, fmt::format("there are {} groups already", kMostApiGroups));
  }
  std::vector<store::AlertEvent> events{{.tenant = tenant,
                                         .time_ns = NowUnixNs(),
                                         .kind = "rules",
                                         .state = "set",
                                         .id = group.name,
                                         .group = tenant_name,
                                         .detail = std::string(yaml)}};
  WHEREFORE_RETURN_IF_ERROR(LogEvents(events));
  MutexLock lock(mutex_);
  std::erase_if(groups_, [&](const auto& other) { return other->Id() == added->Id(); });
  progress_.erase(added->Id());
  groups_.push_back(std::move(added));
  CountStates();
  changed_.NotifyAll();
  return {};
}

Result<> Alerts::RemoveRules(std::uint32_t tenant, const std::string& name) {
  const auto is_it = [&](const std::shared_ptr<const Group>& group) {
    return group->tenant == tenant && group->group.name == name && group->from == kFromApi;
  };
  std::vector<store::AlertEvent> events{
      {.tenant = tenant, .time_ns = NowUnixNs(), .kind = "rules", .state = "removed", .id = name}};
  {
    MutexLock lock(mutex_);
    if (std::ranges::none_of(groups_, is_it))
      return Error(Code::kNotFound, fmt::format("no group '{}' was given through the API", name));
  }
  WHEREFORE_RETURN_IF_ERROR(LogEvents(events));
  MutexLock lock(mutex_);
  std::erase_if(groups_, is_it);
  groups_changed_ = true;
  CountStates();
  changed_.NotifyAll();
  return {};
}

}  // namespace wherefore::insight
