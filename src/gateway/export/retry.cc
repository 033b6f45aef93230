#include "gateway/export/retry.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace wherefore::gateway {
namespace {

std::chrono::steady_clock::time_point At(std::int64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}

}  // namespace

std::int64_t RetryPauses::NextNs(std::int64_t asked_ns) {
  interval_ns_ = interval_ns_ == 0 ? static_cast<double>(options_.initial_interval_ns)
                                   : interval_ns_ * options_.multiplier;
  interval_ns_ = std::min(interval_ns_, static_cast<double>(options_.max_interval_ns));
  const double r = options_.randomization_factor;
  const double factor = std::uniform_real_distribution<double>(1 - r, 1 + r)(random_);
  return std::max(static_cast<std::int64_t>(interval_ns_ * factor), asked_ns);
}

bool Gate::Pass() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    if (misconfigured_ && probing_) {
      changed_.Wait(mutex_);
    } else if (MonotonicNs() < closed_until_ns_) {
      changed_.WaitUntil(mutex_, At(closed_until_ns_));
    } else {
      probing_ = misconfigured_;
      return true;
    }
  }
  return false;
}

void Gate::Report(const Outcome& outcome) {
  MutexLock lock(mutex_);
  probing_ = false;
  misconfigured_ = outcome.kind == Outcome::Kind::kMisconfigured;
  if (misconfigured_) {
    closed_until_ns_ = MonotonicNs() + probe_interval_ns_;
  } else if (outcome.retry_after_ns > 0) {
    closed_until_ns_ = std::max(closed_until_ns_, MonotonicNs() + outcome.retry_after_ns);
  } else if (outcome.kind == Outcome::Kind::kSent) {
    closed_until_ns_ = 0;
  }
  changed_.NotifyAll();
}

void Gate::NothingSent() {
  MutexLock lock(mutex_);
  probing_ = false;
  changed_.NotifyAll();
}

bool Gate::Sleep(std::int64_t ns) {
  const std::int64_t until = MonotonicNs() + ns;
  MutexLock lock(mutex_);
  while (!stopped_ && MonotonicNs() < until) changed_.WaitUntil(mutex_, At(until));
  return !stopped_;
}

void Gate::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

bool Gate::misconfigured() const {
  MutexLock lock(mutex_);
  return misconfigured_;
}

}  // namespace wherefore::gateway
