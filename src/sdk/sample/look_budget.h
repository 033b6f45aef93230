// LookBudget: how often and how many threads may be looked at, so that looking takes a fixed share
// of one CPU whatever the number of threads.
//
// Time that passes earns CPU time, and what the looking thread uses is taken off again. What a tick
// costs by itself and what a look costs is learned on the way: being woken up costs a virtual
// machine 50 us, a look at a thread that did not run half a microsecond, at one that did 10 to 30.
// Belongs to the wall clock's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace wherefore::sdk {

class LookBudget {
 public:
  // Of one CPU; 0: there is no limit.
  void SetShare(double share) { share_ = share; }

  // Nothing before this moment counts. `used` is the CPU time of the looking thread so far.
  void Begin(std::int64_t now, std::int64_t used) {
    now_ = now;
    used_ = used;
    credit_ = kFirstSeconds * kSecond * share_;
  }

  // At the beginning of a tick: settles what was done since the last one.
  void Settle(std::int64_t now, std::int64_t used) {
    credit_ += static_cast<double>(now - now_) * share_;
    // What is saved up is a second's, or what one tick needs; what is owed (a tick in which tables
    // were read) is not more.
    const double most = std::max(kSecond * share_, tick_cost_ + (2 * look_cost_));
    credit_ = std::max(std::min(credit_, most) - static_cast<double>(used - used_), -most);
    Learn(tick_cost_, static_cast<double>(used - used_) - looks_cost_);
    looks_cost_ = 0;
    now_ = now;
    used_ = used;
  }
  // How many of `wanted` looks to make now; 0: it is too early for this tick.
  [[nodiscard]] std::size_t Grant(std::size_t wanted) const {
    if (share_ <= 0) return wanted;
    const double affordable = credit_ / look_cost_;
    if (affordable >= static_cast<double>(wanted)) return wanted;
    return static_cast<std::size_t>(std::max(affordable, 0.0));
  }
  // They were made.
  void Looked(std::size_t looks, std::int64_t cpu_ns) {
    looks_cost_ += static_cast<double>(cpu_ns);
    Learn(look_cost_, looks_cost_ / static_cast<double>(std::max<std::size_t>(looks, 1)));
  }
  // CPU time that was spent for something else.
  void Exempt(std::int64_t cpu_ns) { used_ += cpu_ns; }

  // The next tick is not before so many nanoseconds from now: it could not be paid for.
  [[nodiscard]] double PauseNs() const {
    if (share_ <= 0) return 0;
    const double missing = looks_cost_ + tick_cost_ + look_cost_ - credit_;
    return std::clamp(missing / share_, 0.0, kLongestPause);
  }

 private:
  static constexpr double kSecond = 1e9;
  static constexpr double kFirstSeconds = 0.3;  // that are paid in advance
  static constexpr double kLongestPause = 2 * kSecond;
  static constexpr double kLearn = 0.25;
  static constexpr double kLeastCost = 100;

  // One that was held up does not count for much.
  static void Learn(double& known, double seen) {
    known = std::max(known + ((std::min(seen, 4 * known) - known) * kLearn), kLeastCost);
  }

  double share_ = 0;
  double credit_ = 0;          // nanoseconds; below zero: to be earned first
  double tick_cost_ = 50'000;  // without its looks
  double look_cost_ = 20'000;  // the first ones are expensive
  double looks_cost_ = 0;      // of this tick's looks, all together
  std::int64_t now_ = 0;
  std::int64_t used_ = 0;
};

}  // namespace wherefore::sdk
