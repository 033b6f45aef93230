// How long profiles stand for, and the time in which any of them was taken: what averages of
// snapshots and values per second are divided by.
//
// Time without data is no time in which nothing happened, so only what was seen counts; time seen
// in several places at once counts once. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace wherefore::profile {

// Longer ones are not believed: they count as if they did not say how long they took.
inline constexpr std::int64_t kLongestProfileNs = 86'400'000'000'000;
[[nodiscard]] constexpr std::int64_t BelievedDuration(std::int64_t duration_ns) {
  return duration_ns > 0 && duration_ns <= kLongestProfileNs ? duration_ns : 0;
}

// One profile on its series' way through time.
struct SeenProfile {
  std::uint64_t series = 0;  // whose profiles follow each other
  std::int64_t time_ns = 0;
  std::int64_t duration_ns = 0;  // as it was sent; 0: not said
  std::int64_t length_ns = 0;    // how long it stands for; 0: nobody can tell
  std::int64_t sharers = 1;      // it and others of its series at that moment, which stand for it

  // What its values are multiplied by where they are averaged.
  [[nodiscard]] double Weight() const {
    return static_cast<double>(length_ns) / static_cast<double>(sharers);
  }
};
// Fills in `length_ns` and `sharers`, in whatever order they come. A series has one value at a
// time: a profile stands for its duration, but not beyond the next one of its series. Where it has
// none, up to the next one, at most for twice the median distance of its series, and the last one
// for that distance. A single one stands for what is usual among the others; where nobody can tell
// of any of them, all stand for `unknown_ns`.
void FillLengths(std::span<SeenProfile> profiles, std::int64_t unknown_ns = 0);
// For snapshots of which nobody can tell: each is a moment, and they count alike.
inline constexpr std::int64_t kMomentNs = 1000;

// Averages are in thousandths.
inline constexpr std::int64_t kAverageScale = 1000;
// From a sum of value x weight.
[[nodiscard]] std::int64_t AverageOf(double weighed, std::int64_t observed_ns);

// Steps of time: [start + k * width, start + (k + 1) * width).
struct TimeGrid {
  std::int64_t start_ns = 0;
  std::int64_t width_ns = 1;
  std::size_t steps = 0;

  // Calls visit(step, how much of it) for what an interval has of each step. What lies before the
  // first or behind the last one is theirs, so that together they have all of it.
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

// A union of intervals. Memory: about one entry per gap, if they come more or less in order.
class ObservedTime {
 public:
  void Add(std::int64_t begin_ns, std::int64_t length_ns);
  [[nodiscard]] std::int64_t total_ns();
  [[nodiscard]] std::vector<std::int64_t> PerStep(const TimeGrid& grid);

 private:
  using Part = std::pair<std::int64_t, std::int64_t>;  // begin, end
  void Merge();

  std::vector<Part> parts_;
  std::size_t merged_ = 0;  // how many were left when they were last put together
};

}  // namespace wherefore::profile
