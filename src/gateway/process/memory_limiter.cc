#include "gateway/process/memory_limiter.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/memory_limit.h"
#include "base/text.h"

namespace wherefore::gateway {
namespace {

constexpr double kMiB = 1 << 20;

std::uint64_t ProcessLimit() {
  const std::size_t budget = MemoryBudget::Process().limit();
  return budget != SIZE_MAX ? budget : FindMemoryLimit().bytes;
}

std::string Size(std::uint64_t bytes) {
  return FormatBytes(static_cast<std::int64_t>(bytes));
}

}  // namespace

std::uint64_t AnonymousBytes() {
  return ReadMemoryUse().anonymous;
}

std::uint64_t MemoryLimiter::SoftLimit(const Options& o, std::uint64_t memory) {
  const auto all = static_cast<double>(memory);
  const double limit =
      o.limit_mib > 0 ? static_cast<double>(o.limit_mib) * kMiB : all * o.limit_percentage / 100;
  double spike = limit / 5;
  if (o.spike_limit_mib > 0) {
    spike = static_cast<double>(o.spike_limit_mib) * kMiB;
  } else if (o.spike_limit_percentage > 0) {
    spike = all * o.spike_limit_percentage / 100;
  }
  return static_cast<std::uint64_t>(std::max(limit - spike, 0.0));
}

MemoryLimiter::MemoryLimiter(Options options, std::function<std::uint64_t()> used)
    : options_(options), soft_limit_(SoftLimit(options, ProcessLimit())), used_(std::move(used)) {}

Result<> MemoryLimiter::Process(profile::WriteRequest& /*request*/) {
  const std::int64_t now = MonotonicNs();
  std::int64_t due = next_check_ns_.load(std::memory_order_relaxed);
  if (now >= due && next_check_ns_.compare_exchange_strong(due, now + options_.check_interval_ns)) {
    last_used_.store(used_(), std::memory_order_relaxed);
  }
  const std::uint64_t used = last_used_.load(std::memory_order_relaxed);
  if (used <= soft_limit_) return {};
  return Error(Code::kUnavailable, fmt::format("memory_limiter: {} of memory are in use, the limit "
                                               "for new data is {}",
                                               Size(used), Size(soft_limit_)));
}

std::vector<std::pair<std::string, std::string>> MemoryLimiter::facts() const {
  return {{"memory", fmt::format("{} at the last look, refuses above {}", Size(last_used_.load()),
                                 Size(soft_limit_))}};
}

}  // namespace wherefore::gateway
