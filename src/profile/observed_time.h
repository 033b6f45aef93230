// How long each profile stands for, and the observed time: the time covered by any profile of a
// selection. Averages of snapshots and values per second are divided by it.
//
// Time without data is not time in which nothing happened, so only observed time counts; time
// observed in several places at once counts once. Pure functions; classes belong to one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace wherefore::profile {

// Longer durations are not believed and count as missing.
inline constexpr std::int64_t kLongestProfileNs = 86'400'000'000'000;
[[nodiscard]] constexpr std::int64_t BelievedDuration(std::int64_t duration_ns) {
  return duration_ns > 0 && duration_ns <= kLongestProfileNs ? duration_ns : 0;
}

// One profile in the course of its series.
struct SeenProfile {
  std::uint64_t series = 0;  // profiles of one series follow each other
  std::int64_t time_ns = 0;
  std::int64_t duration_ns = 0;  // as sent; 0: missing
  std::int64_t length_ns = 0;    // how long it stands for; 0: unknown
  std::int64_t sharers =
      1;  // profiles of its series with the same time, itself included; they share the length

  // The factor for its values in an average.
  [[nodiscard]] double Weight() const {
    return static_cast<double>(length_ns) / static_cast<double>(sharers);
  }
};
// Fills in `length_ns` and `sharers`; the profiles may be in any order. A series has one value at a
// time, so a profile stands for its duration but not beyond the next profile of its series. Without
// a duration it stands for the time until the next one, at most twice the median distance of its
// series, and the last one for that median. A single profile stands for what is usual among the
// others; if no length is known at all, each stands for `unknown_ns`.
void FillLengths(std::span<SeenProfile> profiles, std::int64_t unknown_ns = 0);
// `unknown_ns` for snapshots: each is a moment, and all count alike.
inline constexpr std::int64_t kMomentNs = 1000;

// Averages are in thousandths.
inline constexpr std::int64_t kAverageScale = 1000;
// `weighed` is a sum of value x weight.
[[nodiscard]] std::int64_t AverageOf(double weighed, std::int64_t observed_ns);

// Time steps: [start + k * width, start + (k + 1) * width).
struct TimeGrid {
  std::int64_t start_ns = 0;
  std::int64_t width_ns = 1;
  std::size_t steps = 0;

  // Calls visit(step, nanoseconds) for the part of an interval that falls into each step. What lies
  // before the first step or after the last one counts for that step, so nothing is lost.
  template <typename F>
  void Each(std::int64_t begin_ns, std::int64_t end_ns, F&& visit) const {
    if (steps == 0 || end_ns <= begin_ns) return;
    const std::size_t last = StepOf(end_ns - 1);
    for (std::size_t step = StepOf(begin_ns); step < last; ++step) {
      const std::int64_t until = start_ns + static_cast<std::int64_t>(step + 1) * width_ns;
      visit(step, until - begin_ns);
      begin_ns = until;
    }
    visit(last, end_ns - begin_ns);
  }
  [[nodiscard]] std::size_t StepOf(std::int64_t time_ns) const {
    return static_cast<std::size_t>(std::clamp<std::int64_t>((time_ns - start_ns) / width_ns, 0,
                                                             static_cast<std::int64_t>(steps) - 1));
  }
};

// A union of intervals. Uses about one entry per gap if they are added roughly in order.
class ObservedTime {
 public:
  void Add(std::int64_t begin_ns, std::int64_t length_ns);
  [[nodiscard]] std::int64_t total_ns();
  [[nodiscard]] std::vector<std::int64_t> PerStep(const TimeGrid& grid);

 private:
  using Part = std::pair<std::int64_t, std::int64_t>;  // begin, end
  void Merge();

  std::vector<Part> parts_;
  std::size_t merged_ = 0;  // entries left by the last Merge()
};

}  // namespace wherefore::profile
