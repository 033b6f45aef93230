// SampleTarget: keeps the number of samples of one kind near a target, whatever the program does.
//
// Allocations and waits are sampled by distance, in bytes or nanoseconds, so a program that does
// very much of either would be sampled very often: then the distance grows, and comes back slowly.
// The caller decides when to call Observe(): a burst of allocations, such as those of a program's
// start, is to be seen in full. A sample is weighted with the distance it was drawn at, so sums
// stay right. Guarded by the collector's lock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace wherefore::sdk {

class SampleTarget {
 public:
  explicit SampleTarget(std::int64_t target_per_second) : target_(target_per_second) {}

  // `events` came in the last `elapsed_ns`. True when factor() changed.
  bool Observe(std::int64_t events, std::int64_t elapsed_ns) {
    if (elapsed_ns <= 0) return false;
    const std::int64_t rate = events * kSecond / elapsed_ns;
    since_change_ns_ += elapsed_ns;
    if (rate > 2 * target_ && factor_ < kLargestFactor) {
      factor_ = std::min(factor_ * std::max<std::int64_t>(2, rate / target_), kLargestFactor);
    } else if (rate < target_ / 4 && factor_ > 1 && since_change_ns_ > 2 * kSecond) {
      factor_ /= 2;
    } else {
      return false;
    }
    since_change_ns_ = 0;
    return true;
  }

  // Distances are multiplied by this.
  [[nodiscard]] std::int64_t factor() const { return factor_; }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  static constexpr std::int64_t kLargestFactor = 1 << 20;
  std::int64_t target_;
  std::int64_t factor_ = 1;
  std::int64_t since_change_ns_ = 0;
};

}  // namespace wherefore::sdk
