// Regressions: what else is looked at: whether a cost came back down, and services without
// versions against their days before.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "insight/regressions/watch.h"

namespace wherefore::insight {
namespace {

constexpr std::int64_t kDays = 7;            // before
constexpr std::size_t kFewestDays = 3;       // of them with profiles
constexpr std::int64_t kHeld = 3 * kHourNs;  // dearer for so long
constexpr double kLevelOfDays = 0.01;
constexpr std::int64_t kHourIsThere = 5 * kMinuteNs;  // after it ended
constexpr std::int64_t kStillChecked = 30 * kNsPerDay;
constexpr std::size_t kMostCauses = 8;

std::string KeyOf(const query::Cause& cause) {
  return cause.function.name + "\n" + cause.function.module;
}

}  // namespace

// The last hour of what runs now against what ran before the version; once an hour. Also of records
// that are gone while their version runs: it may have been rolled back and come again as it was.
Result<> Regressions::LookForGone(std::int64_t now_ns, bool at_once) {
  std::map<std::tuple<ServiceKey, std::string, std::int64_t>, std::vector<Regression>> together;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, record] : records_) {
      if (now_ns - record.first_seen_ns > kStillChecked) continue;
      if (!record.IsLive() && !RunsNow({record.tenant, record.change.service}, record)) continue;
      const auto checked = checked_ns_.find(id);
      const std::int64_t last = checked == checked_ns_.end() ? record.looked_ns : checked->second;
      if (!at_once && now_ns - last < kHourNs) continue;
      together[{{record.tenant, record.change.service},
                record.change.version_after,
                record.change.before.range.from_ns}]
          .push_back(record);
    }
  }
  for (const auto& [key, records] : together) {
    const auto& of = std::get<0>(key);
    for (const Regression& record : records) checked_ns_[record.id] = now_ns;
    const auto known = known_.find(of);
    // Only what came since the last look says anything new.
    if (known == known_.end() || known->second.last_ns < now_ns - kHourNs) continue;
    const query::ServiceChange& before = records.front().change;
    query::ServiceChange sides{.service = before.service,
                               .label = before.label,
                               .version_before = before.version_before,
                               .since_ns = before.since_ns};
    sides.before = sides.after = before.before;
    const query::ServiceVersion* const current = known->second.Current();
    if (!before.label.empty() && current != nullptr) sides.version_after = current->name;
    sides.after.range = {known->second.last_ns - kHourNs, known->second.last_ns};
    if (before.label.empty() || sides.version_after != before.version_before)
      sides.after.range.from_ns = std::max(sides.after.range.from_ns, before.since_ns);
    WHEREFORE_ASSIGN_OR_RETURN(
        sides.after.selector,
        query::SelectorOf(sides.service, sides.version_after.empty() ? "" : sides.label,
                          sides.version_after));
    if (!MayWork(at_once)) return {};
    const std::int64_t begun = MonotonicNs();
    const CancelToken cancel = MakeCancel();
    const auto guard = cancel_.OnCancel([&] { cancel.Cancel(); });
    auto change = query::ChangeBetween(
        context_, std::move(sides),
        {.by_day = before.label.empty(), .most_causes = 0, .keep_functions = true}, cancel);
    Charge(begun);
    if (!change) {
      Failed("whether " + before.service + " costs what it did", change.error());
      continue;
    }
    MutexLock change_lock(change_mutex_);
    std::vector<store::RegressionEvent> events;
    std::vector<Regression> changed;
    for (const Regression& known_record : records) {
      if (!change->reason.empty()) continue;
      const bool is_old_code = !change->version_after.empty() &&
                               change->version_after == known_record.change.version_before;
      const bool came_back = CameBack(known_record, change->tested, is_old_code);
      if (!came_back && !Returned(known_record, change->tested)) continue;
      Regression record;
      {
        MutexLock lock(mutex_);
        record = records_.at(known_record.id);  // what people said meanwhile
      }
      if (record.IsLive() != came_back) continue;
      record.state = came_back ? RegressionState::kGone : RegressionState::kOpen;
      record.changed_ns = now_ns;
      events.push_back(EventOf(record, came_back ? "gone" : "returned", now_ns));
      changed.push_back(std::move(record));
    }
    WHEREFORE_RETURN_IF_ERROR(LogEvents(events));
    MutexLock lock(mutex_);
    for (Regression& record : changed) records_[record.id] = record;
    CountOpen();
  }
  return {};
}

bool Regressions::RunsNow(const ServiceKey& of, const Regression& record) const {
  const auto known = known_.find(of);
  if (record.change.label.empty() || known == known_.end()) return false;
  const query::ServiceVersion* const current = known->second.Current();
  return current != nullptr && current->name == record.change.version_after;
}

Result<> Regressions::LookAtDays(std::int64_t now_ns, bool at_once) {
  const std::int64_t hour = (now_ns - kHourIsThere) / kHourNs * kHourNs;
  for (const auto& [of, versions] : known_) {
    if (!versions.label.empty() || versions.last_ns < hour - kHourNs) continue;
    // What was not there a day ago has no days before.
    if (versions.first_ns > watched_from_ns_ + 2 * kHourNs) continue;
    if (day_hour_ns_[of] == hour) continue;
    if (!MayWork(at_once)) return {};
    const std::int64_t begun = MonotonicNs();
    const Result<> compared = CompareDays(of, hour);
    Charge(begun);
    if (!compared) Failed("comparing " + of.second + " with its days before", compared.error());
    day_hour_ns_[of] = hour;
  }
  return {};
}

Result<> Regressions::CompareDays(const ServiceKey& of, std::int64_t hour_ns) {
  query::ServiceChange sides{.service = of.second, .since_ns = hour_ns};
  sides.before = sides.after = {.tenant = of.first,
                                .selector = query::Selector::OfService(of.second),
                                .type = "cpu",
                                .range = {}};
  sides.after.range = {hour_ns - kNsPerDay, hour_ns};
  sides.before.range = {hour_ns - (kDays + 1) * kNsPerDay, hour_ns - kNsPerDay};
  const CancelToken cancel = MakeCancel();
  const auto guard = cancel_.OnCancel([&] { cancel.Cancel(); });
  WHEREFORE_ASSIGN_OR_RETURN(query::ServiceChange change,
                             query::ChangeBetween(context_, std::move(sides),
                                                  {.by_day = true,
                                                   .most_causes = kMostCauses,
                                                   .traces_before = true,
                                                   .keep_functions = true},
                                                  cancel));
  looks_.Add();
  if (!change.reason.empty() || change.tested.groups_before < kFewestDays) return {};
  // Only what was dearer hour after hour is told.
  std::erase_if(change.causes, [&](const query::ServiceChange::Told& told) {
    const query::Cause& cause = told.cause;
    if (!query::IsDearer(cause) || cause.q > kLevelOfDays || cause.low <= 0) return true;
    Candidate& candidate = candidates_[{of, KeyOf(cause)}];
    const bool goes_on =
        candidate.last_hour_ns != 0 && hour_ns - candidate.last_hour_ns <= 2 * kHourNs;
    if (!goes_on) candidate.first_hour_ns = hour_ns;
    candidate.last_hour_ns = hour_ns;
    return hour_ns - candidate.first_hour_ns < kHeld;
  });
  std::erase_if(candidates_, [&](const auto& one) {
    return one.first.first == of && hour_ns - one.second.last_hour_ns > 2 * kHourNs;
  });
  if (change.causes.empty()) return {};
  change.since_ns = hour_ns;
  for (const query::ServiceChange::Told& told : change.causes)
    change.since_ns = std::min(change.since_ns, candidates_[{of, KeyOf(told.cause)}].first_hour_ns);
  return Keep(of.first, change, kLevelOfDays, fmt::format("{}", change.since_ns), true, {});
}

Result<> Regressions::EndMutes(std::int64_t now_ns) {
  MutexLock change_lock(change_mutex_);
  std::vector<store::RegressionEvent> events;
  std::vector<Regression> changed;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, record] : records_) {
      if (record.StateAt(now_ns) == record.state) continue;
      Regression open = record;
      open.state = RegressionState::kOpen;
      open.changed_ns = record.until_ns;
      open.until_ns = 0;
      events.push_back(EventOf(open, "mute_ended", now_ns));
      changed.push_back(std::move(open));
    }
  }
  WHEREFORE_RETURN_IF_ERROR(LogEvents(events));
  MutexLock lock(mutex_);
  for (Regression& record : changed) records_[record.id] = record;
  CountOpen();
  return {};
}

// Retention drops days: what still holds is written once more on each.
Result<> Regressions::KeepForToday(std::int64_t now_ns) {
  if (kept_day_ == now_ns / kNsPerDay) return {};
  MutexLock change_lock(change_mutex_);
  std::vector<store::RegressionEvent> events;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, record] : records_) {
      if (record.IsLive()) events.push_back(EventOf(record, "kept", now_ns));
    }
  }
  WHEREFORE_RETURN_IF_ERROR(LogEvents(events));
  kept_day_ = now_ns / kNsPerDay;
  return {};
}

}  // namespace wherefore::insight
