// Alerts: what an earlier run knew, from its events.
#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "insight/alerts/alerts.h"
#include "insight/alerts/read_rules.h"
#include "insight/alerts/receiver.h"

namespace wherefore::insight {
namespace {

// Back to where single states are read: for what receivers were not told, and for alerts that were
// resolved a day ago.
constexpr std::int64_t kLookBack = 2 * kNsPerDay;

std::uint64_t NumberIn(const store::AlertEvent& event) {
  return ParseUint(event.detail).value_or(0);
}

}  // namespace

Notice NoticeOf(const store::AlertEvent& event) {
  AlertState state = StateOf(event);
  return {.number = event.number,
          .time_ns = event.time_ns,
          .tenant = event.tenant,
          .fingerprint = event.fingerprint,
          .group = event.group,
          .alert = event.alert,
          .service = event.service,
          .labels = std::move(state.labels),
          .annotations = std::move(state.annotations),
          .link = std::move(state.link),
          .starts_ns = event.starts_ns,
          .ends_ns = event.state == "resolved" ? event.ends_ns : 0,
          .every_ns = state.every_ns};
}

Result<> Alerts::Restore() {
  if (options_.catch_up) WHEREFORE_RETURN_IF_ERROR(options_.catch_up(cancel_));
  WHEREFORE_ASSIGN_OR_RETURN(const auto latest,
                             context_.reader.AlertEvents({.latest = true}, cancel_));
  WHEREFORE_ASSIGN_OR_RETURN(
      auto states, context_.reader.AlertEvents(
                       {.from_ns = NowUnixNs() - kLookBack, .kinds = {"state"}}, cancel_));
  // Those that are older and still hold.
  for (const store::AlertEvent& event : latest) {
    if (event.kind == "state" && event.time_ns < NowUnixNs() - kLookBack) states.push_back(event);
  }
  std::ranges::stable_sort(states, {}, &store::AlertEvent::number);
  std::uint64_t last = 0;
  for (const store::AlertEvent& event : latest) last = std::max(last, event.number);
  {
    MutexLock lock(number_mutex_);
    last_number_ = std::max(last_number_, last);
  }
  MutexLock lock(mutex_);
  states_.clear();
  silences_.clear();
  for (const store::AlertEvent& event : states) {
    const Key key{event.tenant, event.fingerprint};
    const std::int64_t ended = states_[key].ends_ns;
    states_[key] = StateOf(event);
    if (states_[key].ends_ns == 0) states_[key].ends_ns = ended;
  }
  for (const store::AlertEvent& event : latest) RestoreLatest(event);
  RestoreDeliveries(latest, states);
  CountStates();
  return {};
}

void Alerts::RestoreLatest(const store::AlertEvent& event) {
  bool holds = false;
  if (event.kind == "state") {
    holds = event.state == "firing" || event.state == "pending";
  } else if (event.kind == "silence") {
    auto silence = SilenceOf(event);
    if (silence) {
      holds = silence->ends_ns > NowUnixNs();
      silences_[event.id] = *std::move(silence);
    } else {
      Log(LogLevel::kError, "a silence could not be read back",
          {{"id", event.id}, {"error", silence.error().message()}});
    }
  } else if (event.kind == "rules" && event.state == "set") {
    auto config = ParseAlerts(event.detail, "rules");
    if (!config || config->groups.size() != 1) {
      Log(LogLevel::kError, "rules given through the API could not be read back",
          {{"group", event.id}});
      return;
    }
    holds = true;
    AlertGroup& group = config->groups.front();
    group.tenant = event.group;
    for (AlertRule& rule : group.rules) {
      rule.tenant = event.tenant;
      rule.tenant_name = event.group;
    }
    auto restored =
        std::make_shared<Group>(Group{std::move(group), kFromApi, event.tenant, event.detail});
    std::erase_if(groups_, [&](const auto& other) { return other->Id() == restored->Id(); });
    groups_.push_back(std::move(restored));
  }
  if (holds) kept_day_ = std::min(kept_day_, event.time_ns / kNsPerDay);
}

void Alerts::RestoreDeliveries(const std::vector<store::AlertEvent>& latest,
                               const std::vector<store::AlertEvent>& states) {
  outbox_ = Outbox();
  for (const store::AlertEvent& event : latest) {
    if (event.kind == "delivery" && event.fingerprint == 0 && event.state == "known")
      outbox_.AddReceiver(event.id, NumberIn(event));
  }
  for (const store::AlertEvent& event : latest) {
    if (event.kind == "delivery" && event.fingerprint != 0)
      outbox_.WasTold(event.id, event.tenant, event.fingerprint, NumberIn(event));
  }
  for (const store::AlertEvent& event : states) {
    if (event.state != "firing" && event.state != "resolved") continue;
    Notice notice = NoticeOf(event);
    outbox_.Add(notice);
    Notice& last = notices_[{event.tenant, event.fingerprint}];
    const bool same =
        last.number != 0 && last.firing() == notice.firing() && last.starts_ns == notice.starts_ns;
    if (!same) last = std::move(notice);
  }
  if (kept_day_ == INT64_MAX) kept_day_ = NowUnixNs() / kNsPerDay;
}

}  // namespace wherefore::insight
