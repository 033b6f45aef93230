// Regressions: what an earlier run knew, what is told, and what people say.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "insight/regressions/watch.h"
#include "profile/tenant.h"

namespace wherefore::insight {
namespace {

constexpr std::int64_t kVersionsShown = 30 * kNsPerDay;

std::int64_t NumberOf(const store::RegressionEvent& event, std::string_view name) {
  for (const auto& [fact, text] : event.facts) {
    if (fact == name) return static_cast<std::int64_t>(ParseUint(text).value_or(0));
  }
  return 0;
}

LookedAt LookedAtOf(const store::RegressionEvent& event) {
  LookedAt looked{.tenant = event.tenant,
                  .service = event.service,
                  .label = event.label,
                  .before = event.version_before,
                  .version = event.version,
                  .since_ns = event.since_ns,
                  .looks = static_cast<std::size_t>(ParseUint(event.event).value_or(0)),
                  .looked_ns = NumberOf(event, "looked"),
                  .note = event.why};
  for (const auto& [fact, text] : event.facts) {
    if (fact == "detectable") looked.detectable = std::strtod(text.c_str(), nullptr);
  }
  return looked;
}

// Open ones first; then by what they surely cost.
bool ComesBefore(const Regression& a, const Regression& b) {
  if (a.state != b.state) return a.state < b.state;
  if (a.told().cost_low != b.told().cost_low) return a.told().cost_low > b.told().cost_low;
  return a.id < b.id;
}

}  // namespace

Result<> Regressions::Restore() {
  if (options_.catch_up) WHEREFORE_RETURN_IF_ERROR(options_.catch_up(cancel_));
  WHEREFORE_ASSIGN_OR_RETURN(const auto events,
                             context_.reader.RegressionEvents({.latest = true}, cancel_));
  MutexLock change_lock(change_mutex_);
  MutexLock lock(mutex_);
  records_.clear();
  versions_.clear();
  std::int64_t oldest = options_.now();
  for (const store::RegressionEvent& event : events) {
    last_number_ = std::max(last_number_, event.number);
    if (event.kind == "look") {
      LookedAt looked = LookedAtOf(event);
      versions_[{looked.tenant, looked.service, looked.label, looked.version}] = std::move(looked);
      continue;
    }
    auto record = RegressionOf(event);
    if (!record) {
      Log(LogLevel::kError, "a regression could not be read back",
          {{"id", IdText(event.id)}, {"error", record.error().message()}});
      continue;
    }
    if (record->IsLive()) oldest = std::min(oldest, event.time_ns);
    records_[event.id] = *std::move(record);
  }
  kept_day_ = oldest / kNsPerDay;
  restored_ = true;
  changed_.NotifyAll();
  CountOpen();
  return {};
}

Result<> Regressions::LogEvents(std::vector<store::RegressionEvent>& events) {
  if (events.empty()) return {};
  auto number = std::max(last_number_ + 1, static_cast<std::uint64_t>(NowUnixNs()));
  for (store::RegressionEvent& event : events) event.number = number++;
  last_number_ = number - 1;
  const Result<> logged = options_.log(events);
  MutexLock lock(mutex_);
  problem_ =
      logged ? "" : "what is known of regressions cannot be logged: " + logged.error().message();
  return logged;
}

void Regressions::CountOpen() {
  const std::int64_t now = options_.now();
  open_.Set(std::ranges::count_if(records_, [&](const auto& one) {
    return one.second.StateAt(now) == RegressionState::kOpen;
  }));
}

RegressionsSeen Regressions::Seen(std::uint32_t tenant) const {
  constexpr std::chrono::seconds kLongestWait(5);
  const std::int64_t now = options_.now();
  RegressionsSeen seen;
  const auto until = std::chrono::steady_clock::now() + kLongestWait;
  MutexLock lock(mutex_);
  // Right after a start nothing is known yet, which is not the same as nothing.
  while (!restored_ && !stopping_ && watcher_.joinable() && changed_.WaitUntil(mutex_, until)) {
  }
  seen.looking = looking_;
  for (const auto& [id, record] : records_) {
    if (record.tenant != tenant) continue;
    seen.records.push_back(record);
    seen.records.back().state = record.StateAt(now);
  }
  for (const auto& [key, looked] : versions_) {
    if (looked.tenant == tenant && now - looked.since_ns < kVersionsShown)
      seen.versions.push_back(looked);
  }
  std::ranges::sort(seen.records, ComesBefore);
  std::ranges::stable_sort(seen.versions, std::greater(), &LookedAt::since_ns);
  return seen;
}

Result<Regression> Regressions::Change(std::uint32_t tenant, std::uint64_t id,
                                       const RegressionChange& change) {
  const std::int64_t now = options_.now();
  MutexLock change_lock(change_mutex_);
  Regression record;
  {
    MutexLock lock(mutex_);
    if (!restored_) return Error(Code::kUnavailable, "regressions are being read back; try again");
    const auto known = records_.find(id);
    if (known == records_.end() || known->second.tenant != tenant)
      return Error(Code::kNotFound, fmt::format("no regression '{}'", IdText(id)));
    record = known->second;
  }
  if (!record.IsLive() && change.state != RegressionState::kOpen)
    return Error(Code::kInvalid, fmt::format("regression {} is gone: its cost came back down; "
                                             "reopen it first",
                                             IdText(id)));
  record.state = change.state;
  record.changed_ns = now;
  record.why = change.why;
  record.by = change.by;
  record.until_ns = change.until_ns;
  const char* what = "reopened";
  if (change.state == RegressionState::kAcknowledged) what = "acknowledged";
  if (change.state == RegressionState::kMuted) what = "muted";
  std::vector<store::RegressionEvent> events{EventOf(record, what, now)};
  WHEREFORE_RETURN_IF_ERROR(LogEvents(events));
  MutexLock lock(mutex_);
  records_[id] = record;
  CountOpen();
  return record;
}

Regressions::Work Regressions::work() const {
  Work work{.looks = looks_.value(),
            .skipped = skipped_.value(),
            .failed = failed_.value(),
            .budget_share = options_.share};
  MutexLock lock(mutex_);
  work.last_ns = last_ns_;
  work.note = note_;
  const auto since = static_cast<double>(MonotonicNs() - begun_ns_);
  work.used_share = since > 0 ? static_cast<double>(used_ns_) / since : 0;
  return work;
}

Status Regressions::status() const {
  const Work work = this->work();
  Status status{.part = "regressions", .facts = {}, .problems = {}};
  const auto fact = [&](const char* name, std::string value) {
    status.facts.emplace_back(name, std::move(value));
  };
  fact("open", fmt::format("{}", open_.value()));
  fact("looks",
       fmt::format("{} made, {} skipped, {} failed", work.looks, work.skipped, work.failed));
  fact("last round", work.last_ns == 0 ? "none" : FormatTime(work.last_ns));
  fact("of one core", options_.share > 0
                          ? fmt::format("{:.2f} % of at most {:.2f} %", 100 * work.used_share,
                                        100 * work.budget_share)
                          : "switched off (--regressions-budget 0)");
  if (!work.note.empty()) fact("note", work.note);
  MutexLock lock(mutex_);
  if (!problem_.empty())
    status.problems.push_back({"Regressions: " + problem_, "It is tried again by itself."});
  return status;
}

}  // namespace wherefore::insight
