// Alerts: telling receivers, each on a thread of its own.
#include <algorithm>
#include <chrono>
#include <random>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "insight/alerts/alerts.h"
#include "insight/alerts/payloads.h"
#include "insight/alerts/receiver.h"

namespace wherefore::insight {
namespace {

constexpr std::size_t kAtOnce = 100;  // notices of a request
constexpr std::int64_t kRepeat = kMinute;
constexpr std::int64_t kRepeatResolved = 15 * kMinute;
constexpr std::int64_t kLookForSilences = kNsPerSecond;
constexpr std::int64_t kLongestPause = kMinute;

// 1 s, 2 s, 4 s, ... a minute, each a little more or less.
std::int64_t PauseAfter(int failures) {
  thread_local std::mt19937_64 random{std::random_device()()};
  const double pause = std::min(1e9 * static_cast<double>(1ULL << std::min(failures - 1, 10)),
                                static_cast<double>(kLongestPause));
  return static_cast<std::int64_t>(pause * std::uniform_real_distribution(0.8, 1.2)(random));
}

// The receiver will never take it, however often it comes.
bool IsRefusal(int status) {
  return status == 400 || status == 413 || status == 422;
}

store::AlertEvent DeliveryOf(const std::string& receiver, const Notice& notice, Outbox::Left why) {
  const char* state = notice.firing() ? "firing" : "resolved";
  if (why == Outbox::Left::kSilenced) state = "silenced";
  if (why == Outbox::Left::kTooOld) state = "too_old";
  if (why == Outbox::Left::kRefused) state = "refused";
  store::AlertEvent event{.tenant = notice.tenant,
                          .time_ns = NowUnixNs(),
                          .kind = "delivery",
                          .state = state,
                          .fingerprint = notice.fingerprint,
                          .starts_ns = notice.starts_ns,
                          .ends_ns = notice.ends_ns,
                          .id = receiver,
                          .group = notice.group,
                          .alert = notice.alert,
                          .service = notice.service,
                          .detail = fmt::format("{}", notice.number)};
  for (const auto& label : notice.labels) event.labels.emplace_back(label);
  return event;
}

}  // namespace

std::vector<std::string> Alerts::SilencesOf(std::uint32_t tenant, const AlertLabels& labels,
                                            std::int64_t now_ns) const {
  std::vector<std::string> ids;
  for (const auto& [id, silence] : silences_) {
    if (silence.tenant == tenant && silence.ActiveAt(now_ns) && silence.Matches(labels))
      ids.push_back(id);
  }
  return ids;
}

void Alerts::UseReceivers() {
  std::vector<std::shared_ptr<Receiver>> gone;
  std::vector<AlertReceiver> fresh;
  std::vector<store::AlertEvent> events;
  const std::int64_t now = NowUnixNs();
  {
    MutexLock lock(mutex_);
    std::set<std::string> wanted;
    for (const AlertReceiver& one : wanted_) {
      wanted.insert(one.Id());
      const auto known = receivers_.find(one.Id());
      if (known == receivers_.end()) fresh.push_back(one);
    }
    for (const auto& [id, receiver] : receivers_) {
      if (wanted.contains(id)) continue;
      receiver->stopping = true;
      gone.push_back(receiver);
    }
    for (const auto& receiver : gone) receivers_.erase(receiver->id);
    for (const std::string& id : outbox_.receivers()) {
      if (wanted.contains(id)) continue;
      outbox_.RemoveReceiver(id);
      events.push_back({.time_ns = now, .kind = "delivery", .state = "forgotten", .id = id});
    }
    for (const AlertReceiver& one : fresh) {
      if (outbox_.Has(one.Id())) continue;
      events.push_back({.time_ns = now, .kind = "delivery", .state = "known", .id = one.Id()});
    }
    if (!gone.empty()) changed_.NotifyAll();
  }
  for (const auto& receiver : gone) {
    receiver->cancel.Cancel();
    receiver->thread.join();
  }
  if (fresh.empty() && events.empty()) return;
  {
    MutexLock lock(number_mutex_);
    for (store::AlertEvent& event : events) event.detail = fmt::format("{}", last_number_);
  }
  const Result<> logged = LogEvents(events);
  MutexLock lock(mutex_);
  if (!logged) return;  // again in the next round; what was not told is known by then as well
  for (const store::AlertEvent& event : events) {
    if (event.state == "known") outbox_.AddReceiver(event.id, ParseUint(event.detail).value_or(0));
  }
  for (const AlertReceiver& one : fresh) {
    auto receiver = std::make_shared<Receiver>();
    receiver->config = one;
    receiver->id = one.Id();
    receiver->thread = std::thread([this, receiver] { Tell(*receiver); });
    receivers_[receiver->id] = receiver;
  }
}

void Alerts::StopReceivers() {
  std::vector<std::shared_ptr<Receiver>> all;
  {
    MutexLock lock(mutex_);
    for (const auto& [id, receiver] : receivers_) {
      receiver->stopping = true;
      all.push_back(receiver);
    }
    receivers_.clear();
    changed_.NotifyAll();
  }
  for (const auto& receiver : all) {
    receiver->cancel.Cancel();
    if (receiver->thread.joinable()) receiver->thread.join();
  }
}

void Alerts::Tell(Receiver& receiver) {
  while (true) {
    Told told;
    try {
      told = TellOnce(receiver);
    } catch (const std::exception& e) {  // libraries, and memory
      Log(LogLevel::kError, "a receiver of alerts was not told", {{"error", e.what()}});
      told.well = false;
    }
    receiver.failures = told.well ? 0 : receiver.failures + 1;
    const std::int64_t pause = told.well ? kLookForSilences : PauseAfter(receiver.failures);
    const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(pause);
    MutexLock lock(mutex_);
    if (told.well && told.anything && !receiver.stopping) continue;  // there may be more
    while (!receiver.stopping && !stopping_ && changed_.WaitUntil(mutex_, until)) {
      if (told.well) break;  // something happened; after a failure the pause is kept
    }
    if (receiver.stopping || stopping_) return;
  }
}

std::vector<Notice> Alerts::ToRepeat(const std::string& receiver, std::int64_t now_ns) const {
  std::vector<Notice> out;
  for (const auto& [key, notice] : notices_) {
    if (!notice.firing() && now_ns - notice.ends_ns > kRepeatResolved) continue;
    if (!outbox_.Knows(receiver, notice)) continue;  // it is due
    if (SilencesOf(notice.tenant, notice.labels, now_ns).empty()) out.push_back(notice);
  }
  return out;
}

Alerts::Told Alerts::TellOnce(Receiver& receiver) {
  const std::int64_t now = NowUnixNs();
  const bool alertmanager = receiver.config.kind == AlertReceiver::Kind::kAlertmanager;
  const bool repeat = alertmanager && now - receiver.repeated_ns >= kRepeat;
  std::vector<Outbox::Leaving> left;
  std::vector<Notice> due;
  std::vector<Notice> again;
  {
    MutexLock lock(mutex_);
    const auto is_silenced = [&](const Notice& notice) REQUIRES(mutex_) {
      return !SilencesOf(notice.tenant, notice.labels, now).empty();
    };
    due = outbox_.Due(receiver.id, is_silenced, now, kAtOnce, left);
    if (repeat) again = ToRepeat(receiver.id, now);
  }
  NoteLeaving(receiver.id, left);
  bool well = due.empty() || Deliver(receiver, due, now);
  for (std::size_t i = 0; well && i < again.size(); i += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, again.size() - i);
    well = Deliver(receiver, std::span(again).subspan(i, count), now);
  }
  if (well && repeat) receiver.repeated_ns = now;
  return {.well = well, .anything = !due.empty()};
}

bool Alerts::Deliver(Receiver& receiver, std::span<const Notice> notices, std::int64_t now_ns) {
  const bool alertmanager = receiver.config.kind == AlertReceiver::Kind::kAlertmanager;
  std::string external_url;
  {
    MutexLock lock(mutex_);
    external_url = external_url_;
  }
  const Result<int> status =
      options_.send({.receiver = receiver.config,
                     .url = receiver.config.url + (alertmanager ? "/api/v2/alerts" : ""),
                     .body = alertmanager ? AlertmanagerBody(notices, now_ns)
                                          : WebhookBody(notices, receiver.id, external_url),
                     .cancel = receiver.cancel});
  const bool taken = status && *status >= 200 && *status < 300;
  const bool refused = status && IsRefusal(*status);
  if (refused && notices.size() > 1) {
    // One of them spoils the others.
    const std::size_t half = notices.size() / 2;
    return Deliver(receiver, notices.first(half), now_ns) &&
           Deliver(receiver, notices.subspan(half), now_ns);
  }
  std::string problem;
  if (!status) {
    problem = status.error().message();
  } else if (!taken) {
    problem = fmt::format("it answered {}", *status);
  }
  {
    MutexLock lock(mutex_);
    if (!problem.empty() && receiver.problem.empty())
      Log(LogLevel::kWarn, "a receiver of alerts was not told; it is tried again",
          {{"receiver", receiver.id}, {"error", problem}});
    receiver.problem = problem;
    if (taken) receiver.told_ns = now_ns;
  }
  if (!taken && !refused) {
    failed_sends_.Add();
    return false;
  }
  std::vector<Outbox::Leaving> left;
  for (const Notice& notice : notices) {
    if (refused) {
      Log(LogLevel::kError, "a receiver of alerts refused one for good",
          {{"receiver", receiver.id}, {"alert", notice.alert}, {"status", *status}});
    }
    left.push_back({notice, refused ? Outbox::Left::kRefused : Outbox::Left::kDelivered});
  }
  NoteLeaving(receiver.id, left);
  return true;
}

void Alerts::NoteLeaving(const std::string& receiver, const std::vector<Outbox::Leaving>& left) {
  std::vector<store::AlertEvent> events;
  {
    MutexLock lock(mutex_);
    for (const auto& [notice, why] : left) {
      if (outbox_.Knows(receiver, notice) && why == Outbox::Left::kDelivered) continue;  // repeated
      events.push_back(DeliveryOf(receiver, notice, why));
      (why == Outbox::Left::kDelivered ? delivered_ : dropped_).Add();
    }
  }
  // If they cannot be logged, a restart tells them once more: at least once.
  const Result<> logged = LogEvents(events);
  MutexLock lock(mutex_);
  if (!logged) log_problem_ = logged.error().message();
  for (const auto& [notice, why] : left) outbox_.Leave(receiver, notice);
}

}  // namespace wherefore::insight
