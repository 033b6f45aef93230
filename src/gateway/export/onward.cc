#include "gateway/export/onward.h"

#include <algorithm>
#include <chrono>
#include <future>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

namespace wherefore::gateway {

void AddWaiting(Status& status, const QueueFigures& figures, std::string_view what) {
  status.facts.emplace_back(
      "waiting",
      fmt::format("{} requests, {}", FormatCount(static_cast<std::int64_t>(figures.requests)),
                  FormatBytes(static_cast<std::int64_t>(figures.bytes))));
  if (figures.write_error.empty()) return;
  status.problems.push_back({fmt::format("{} cannot be queued: {}", what, figures.write_error),
                             "is the disk full?", true});
}

bool Onward::Pass(const profile::WriteRequest& request) {
  while (true) {
    std::promise<Result<profile::WriteAnswer>> answered;
    next_->Write(request.Clone(),
                 [&](Result<profile::WriteAnswer> r) { answered.set_value(std::move(r)); });
    const Result<profile::WriteAnswer> answer = answered.get_future().get();
    if (answer) return true;
    const Code code = answer.error().code();
    const bool again = code == Code::kUnavailable || code == Code::kLimit || code == Code::kIo ||
                       code == Code::kUnsupported;  // no pipeline there at the moment
    if (!again) {
      Log(LogLevel::kError, "data that had waited was refused for good",
          {{"by", who_}, {"error", answer.error().message()}});
      return true;
    }
    if (!SleepUntil(MonotonicNs() + kNsPerSecond)) return false;
  }
}

bool Onward::SleepUntil(std::int64_t monotonic_ns) {
  const auto until =
      std::chrono::steady_clock::now() +
      std::chrono::nanoseconds(std::max<std::int64_t>(monotonic_ns - MonotonicNs(), 0));
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (!changed_.WaitUntil(mutex_, until)) break;
  }
  return !stopping_;
}

void Onward::Stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
}

}  // namespace wherefore::gateway
