#include "insight/regressions/watch.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"

namespace wherefore::insight {
namespace {

// So far back versions are seen; longer than the oldest look, and than a server is usually away.
constexpr std::int64_t kLookBack = 30 * kHourNs;
constexpr std::int64_t kOverlap = 5 * kMinuteNs;     // of two polls: profiles come late
constexpr std::int64_t kWholePoll = 10 * kMinuteNs;  // those that come later still
constexpr std::int64_t kLongestRound = 60 * kNsPerSecond;
constexpr std::int64_t kRestoreAgain = 2 * kNsPerSecond;
constexpr double kMostCredit = 20e9;  // saved up while there was nothing to do
constexpr std::int64_t kLongestYield = 10 * kNsPerSecond;
constexpr std::int64_t kYieldStep = 50'000'000;

Counter& Count(std::string_view name, std::string_view help) {
  return Metrics::Global().GetCounter(name, help);
}

}  // namespace

Regressions::Regressions(query::QueryContext& context, RegressionOptions options)
    : context_(context),
      options_(std::move(options)),
      looks_(Count("wherefore_regressions_looks_total",
                   "Looks at new versions, and at days of services without versions.")),
      skipped_(Count("wherefore_regressions_skipped_total", "Looks that were left out.")),
      failed_(
          Count("wherefore_regressions_failed_total", "Looks that failed; they are tried again.")),
      used_ms_(Count("wherefore_regressions_milliseconds_total",
                     "Time that looking for regressions took.")),
      open_(Metrics::Global().GetGauge("wherefore_regressions_open", "Regressions that are open.")),
      begun_ns_(MonotonicNs()),
      credit_ns_(kMostCredit),
      credited_ns_(MonotonicNs()) {}

Regressions::~Regressions() {
  Stop();
}

void Regressions::Start() {
  watcher_ = std::thread([this] { Run(); });
}

void Regressions::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  cancel_.Cancel();
  if (watcher_.joinable()) watcher_.join();
}

void Regressions::Hurry() {
  MutexLock lock(mutex_);
  if (options_.share <= 0) return;
  hurry_ = true;
  looking_ = true;
  changed_.NotifyAll();
}

bool Regressions::Wait(std::int64_t ns) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
  MutexLock lock(mutex_);
  while (!stopping_ && !hurry_ && changed_.WaitUntil(mutex_, until)) {
  }
  return !stopping_;
}

void Regressions::Run() {
  while (true) {
    const Result<> restored = Restore();
    {
      MutexLock lock(mutex_);
      problem_ = restored ? "" : restored.error().message();
      if (restored) break;
    }
    if (!Wait(kRestoreAgain)) return;
  }
  if (options_.share <= 0) return;
  do {
    bool at_once = false;
    {
      MutexLock lock(mutex_);
      at_once = std::exchange(hurry_, false);
    }
    try {
      if (const auto done = Round(at_once); !done) Failed("a round", done.error());
    } catch (const std::exception& e) {  // libraries, and memory
      Failed("a round", Error(Code::kInternal, e.what()));
    }
    if (at_once) {
      MutexLock lock(mutex_);
      if (!hurry_) looking_ = false;
    }
  } while (Wait(options_.every_ns));
}

void Regressions::Failed(const std::string& what, const Error& error) {
  if (cancel_.cancelled()) return;
  failed_.Add();
  Note(fmt::format("{} failed: {}", what, error.message()));
  Log(LogLevel::kWarn, "looking for regressions failed",
      {{"at", what}, {"error", error.message()}});
}

void Regressions::Note(std::string text) {
  MutexLock lock(mutex_);
  note_ = std::move(text);
}

// Fires with the one for everything, and ends by itself.
CancelToken Regressions::MakeCancel() const {
  CancelToken cancel;
  cancel.SetDeadline(MonotonicNs() + kLongestRound);
  cancel.SetMemoryLimit(options_.query_memory_bytes);
  return cancel;
}

bool Regressions::MayWork(bool at_once) {
  if (cancel_.cancelled()) return false;
  if (at_once) return true;
  const std::int64_t yielded = MonotonicNs();
  while (options_.busy && options_.busy() && MonotonicNs() - yielded < kLongestYield) {
    if (!Wait(kYieldStep)) return false;
    MutexLock lock(mutex_);
    if (hurry_) break;
  }
  const std::int64_t now = MonotonicNs();
  MutexLock lock(mutex_);
  credit_ns_ =
      std::min(kMostCredit, credit_ns_ + options_.share * static_cast<double>(now - credited_ns_));
  credited_ns_ = now;
  return credit_ns_ > 0;
}

void Regressions::Charge(std::int64_t begun_ns) {
  const std::int64_t took = MonotonicNs() - begun_ns;
  used_ms_.Add(static_cast<std::uint64_t>(took / 1'000'000));
  MutexLock lock(mutex_);
  used_ns_ += took;
  credit_ns_ -= static_cast<double>(took);
}

Result<> Regressions::Round(bool at_once) {
  const std::int64_t now = options_.now();
  {
    const CancelToken cancel = MakeCancel();
    const auto guard = cancel_.OnCancel([&] { cancel.Cancel(); });
    // By itself it takes what is in the engine: nobody inserts in small pieces for it.
    if (options_.catch_up && at_once) WHEREFORE_RETURN_IF_ERROR(options_.catch_up(cancel));
  }
  WHEREFORE_RETURN_IF_ERROR(EndMutes(now));
  WHEREFORE_RETURN_IF_ERROR(KeepForToday(now));
  if (!MayWork(at_once)) return {};
  if (at_once) whole_poll_ns_ = 0;
  const std::int64_t begun = MonotonicNs();
  const Result<> polled = Poll(now);
  Charge(begun);
  WHEREFORE_RETURN_IF_ERROR(polled);
  bool waits = false;
  // What becomes due by a look is looked at next, as an hour after a quarter of it.
  for (std::vector<Due> due = FindDue(now); !due.empty() && !waits; due = FindDue(now)) {
    bool any = false;
    for (const Due& one : due) {
      if (!MayWork(at_once)) {
        waits = true;
        break;
      }
      const std::int64_t start = MonotonicNs();
      Result<bool> settled = at_once ? Result<bool>(true) : IsSettled(one);
      if (settled && *settled) {
        any = true;
        if (const auto looked = Look(one); !looked) {
          settled = looked.error();
        }
      }
      Charge(start);
      if (settled) continue;
      Failed(fmt::format("the look at {} {}", one.looked.service, one.looked.version),
             settled.error());
      constexpr int kTries = 3;
      if (++tries_[one.key] < kTries) return {};
      tries_.erase(one.key);
      skipped_.Add();
      WHEREFORE_RETURN_IF_ERROR(
          EndLook(one, nullptr, "not looked at: " + settled.error().message()));
    }
    if (!any) break;
  }
  WHEREFORE_RETURN_IF_ERROR(LookForGone(now, at_once));
  WHEREFORE_RETURN_IF_ERROR(LookAtDays(now, at_once));
  MutexLock lock(mutex_);
  last_ns_ = now;
  if (waits) note_ = "looks wait for their share of the CPU";
  return {};
}

// What was seen lately, and now and then all of it: data may come late.
Result<> Regressions::Poll(std::int64_t now_ns) {
  const CancelToken cancel = MakeCancel();
  const auto guard = cancel_.OnCancel([&] { cancel.Cancel(); });
  const bool whole =
      whole_poll_ns_ == 0 || now_ns - whole_poll_ns_ >= kWholePoll || now_ns < polled_ns_;
  const std::int64_t from = whole ? now_ns - kLookBack : polled_ns_ - kOverlap;
  WHEREFORE_ASSIGN_OR_RETURN(const auto tenants, context_.reader.Tenants(cancel));
  if (whole) known_.clear();
  for (const std::uint32_t tenant : tenants) {
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto seen, query::AllVersions(context_, tenant, {from, now_ns + kOverlap}, cancel));
    for (const auto& [service, versions] : seen)
      Merge(known_[{tenant, service}], versions, now_ns - kLookBack);
  }
  polled_ns_ = now_ns;
  if (whole) {
    whole_poll_ns_ = now_ns;
    watched_from_ns_ = from;
  }
  return {};
}

std::vector<Regressions::Due> Regressions::FindDue(std::int64_t now_ns) {
  std::vector<Due> due;
  MutexLock lock(mutex_);
  for (const auto& [of, versions] : known_) {
    for (const NewVersion& one : NewVersions(versions, watched_from_ns_)) {
      const VersionKey key{of.first, of.second, versions.label, one.version->name};
      const auto [at, fresh] = versions_.try_emplace(key);
      LookedAt& looked = at->second;
      if (fresh) {
        looked = {.tenant = of.first,
                  .service = of.second,
                  .label = versions.label,
                  .version = one.version->name};
      }
      looked.before = one.before->name;
      if (looked.looks == 0) looked.since_ns = one.version->first_ns;
      if (!IsDue(versions, looked.since_ns, looked.looks, now_ns)) continue;
      due.push_back({.key = key,
                     .looked = looked,
                     .version = *one.version,
                     .before = *one.before,
                     .data_end_ns = versions.last_ns});
    }
  }
  std::ranges::stable_sort(
      due, {}, [](const Due& one) { return std::pair(one.looked.looks, one.looked.since_ns); });
  return due;
}

}  // namespace wherefore::insight
