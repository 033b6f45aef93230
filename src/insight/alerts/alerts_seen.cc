// Alerts: what is told of them: to those who ask, and in the server's status.
#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "insight/alerts/alerts.h"
#include "insight/alerts/receiver.h"
#include "profile/tenant.h"

namespace wherefore::insight {

AlertsSeen Alerts::Seen(std::uint32_t tenant) const {
  const std::int64_t now = NowUnixNs();
  AlertsSeen seen;
  MutexLock lock(mutex_);
  for (const auto& [key, state] : states_) {
    if (state.tenant != tenant || state.phase == AlertPhase::kInactive) continue;
    seen.alerts.push_back({state, SilencesOf(tenant, state.labels, now)});
  }
  for (const auto& group : groups_) {
    if (group->tenant != tenant) continue;
    const auto progress = progress_.find(group->Id());
    for (const AlertRule& rule : group->group.rules) {
      AlertsSeen::Rule& one = seen.rules.emplace_back();
      one.rule = rule;
      one.from = group->from;
      if (progress != progress_.end()) {
        const auto of_rule = progress->second.rules.find(rule.place);
        if (of_rule != progress->second.rules.end()) {
          one.problem = of_rule->second.problem;
          one.judged_ns = of_rule->second.judged_ns;
          one.services = of_rule->second.services;
        }
      }
      for (const AlertsSeen::One& alert : seen.alerts) {
        if (alert.state.group != rule.group || alert.state.alert != rule.alert) continue;
        if (MakeState(rule, alert.state.service, "").fingerprint != alert.state.fingerprint)
          continue;
        ++(alert.state.phase == AlertPhase::kFiring ? one.firing : one.pending);
      }
    }
  }
  if (tenant != profile::Tenant().number) return seen;  // the rest is the server's own affair
  for (const auto& [id, receiver] : receivers_)
    seen.receivers.push_back({id, outbox_.waiting(id), receiver->problem, receiver->told_ns});
  for (const std::string* problem : {&file_problem_, &log_problem_, &restore_problem_}) {
    if (!problem->empty()) seen.problems.push_back(*problem);
  }
  return seen;
}

Status Alerts::status() const {
  Status status{.part = "alerts"};
  MutexLock lock(mutex_);
  std::int64_t last = 0;
  std::size_t rules = 0;
  for (const auto& [id, progress] : progress_) last = std::max(last, progress.tick_ns);
  for (const auto& group : groups_) rules += group->group.rules.size();
  const auto fact = [&](const char* name, std::string value) {
    status.facts.emplace_back(name, std::move(value));
  };
  fact("rules", fmt::format("{} in {} groups{}", rules, groups_.size(),
                            options_.file.empty() ? "" : ", file " + options_.file));
  fact("alerts", fmt::format("{} firing, {} pending", firing_.value(), pending_.value()));
  fact("last judged", last == 0 ? "never" : FormatTime(last));
  if (!silences_.empty()) fact("silences", fmt::format("{}", silences_.size()));
  for (const auto& [id, receiver] : receivers_) {
    fact("receiver", fmt::format("{}: {} waiting", id, outbox_.waiting(id)));
    if (!receiver->problem.empty())
      status.problems.push_back(
          {fmt::format("{} is not told: {}", id, receiver->problem),
           "See that it runs and takes requests; nothing is lost for a day."});
  }
  if (!file_problem_.empty())
    status.problems.push_back({"The rules of alerts could not be read again: " + file_problem_,
                               "Correct the file; until then the rules of before are judged."});
  if (!log_problem_.empty())
    status.problems.push_back({"What happened to alerts cannot be logged: " + log_problem_,
                               "It is tried again; see the store's problems."});
  if (overdue_)
    status.problems.push_back(
        {"Judging the rules of alerts takes longer than 50 s: a part of them "
         "is judged in each round, in turn.",
         "Narrow `select`, shorten `over`, or give groups a longer `every`."});
  if (!restore_problem_.empty())
    status.problems.push_back({"Alerts are not judged yet: " + restore_problem_,
                               "Their states are read from the store again every 2 s."});
  return status;
}

}  // namespace wherefore::insight
