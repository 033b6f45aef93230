#include "profile/observed_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wherefore::profile {
namespace {

// The lower median; 0 if there are no values.
std::int64_t MedianOf(std::vector<std::int64_t>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The profiles of one series, ordered by time.
class OneSeries {
 public:
  OneSeries(std::span<SeenProfile> profiles, std::span<const std::size_t> order)
      : profiles_(profiles), order_(order) {
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (At(i).time_ns > At(i - 1).time_ns)
        distances_.push_back(At(i).time_ns - At(i - 1).time_ns);
    }
    usual_ = MedianOf(distances_);
  }

  void Fill() {
    for (std::size_t first = 0, end = 0; first < order_.size(); first = end) {
      while (end < order_.size() && At(end).time_ns == At(first).time_ns) ++end;
      const std::int64_t next =
          end < order_.size() ? At(end).time_ns - At(first).time_ns : INT64_MAX;
      for (std::size_t i = first; i < end; ++i) {
        SeenProfile& p = At(i);
        p.sharers = static_cast<std::int64_t>(end - first);
        const std::int64_t said = BelievedDuration(p.duration_ns);
        const std::int64_t most = said > 0 ? said : next == INT64_MAX ? usual_ : 2 * usual_;
        p.length_ns = std::min(most, next);
      }
    }
  }

 private:
  [[nodiscard]] SeenProfile& At(std::size_t i) const { return profiles_[order_[i]]; }

  std::span<SeenProfile> profiles_;
  std::span<const std::size_t> order_;
  std::vector<std::int64_t> distances_;
  std::int64_t usual_ = 0;
};

}  // namespace

void FillLengths(std::span<SeenProfile> profiles, std::int64_t unknown_ns) {
  std::vector<std::size_t> order(profiles.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(
      order, {}, [&](std::size_t i) { return std::pair(profiles[i].series, profiles[i].time_ns); });
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && profiles[order[end]].series == profiles[order[first]].series)
      ++end;
    OneSeries(profiles, std::span(order).subspan(first, end - first)).Fill();
  }
  std::vector<std::int64_t> lengths;
  for (const SeenProfile& p : profiles) {
    if (p.length_ns > 0) lengths.push_back(p.length_ns);
  }
  const std::int64_t usual = lengths.empty() ? unknown_ns : MedianOf(lengths);
  for (SeenProfile& p : profiles) {
    if (p.length_ns == 0) p.length_ns = usual;
  }
}

std::int64_t AverageOf(double weighed, std::int64_t observed_ns) {
  if (observed_ns <= 0) return 0;
  const double average = weighed * kAverageScale / static_cast<double>(observed_ns);
  constexpr double kMost = 9.2e18;
  return std::llround(std::clamp(average, -kMost, kMost));
}

void ObservedTime::Add(std::int64_t begin_ns, std::int64_t length_ns) {
  if (length_ns <= 0) return;
  const std::int64_t end = begin_ns > INT64_MAX - length_ns ? INT64_MAX : begin_ns + length_ns;
  if (!parts_.empty() && begin_ns <= parts_.back().second && end >= parts_.back().first) {
    parts_.back().first = std::min(parts_.back().first, begin_ns);
    parts_.back().second = std::max(parts_.back().second, end);
    return;
  }
  constexpr std::size_t kFew = 1024;
  if (parts_.size() >= std::max(kFew, 2 * merged_)) Merge();
  parts_.emplace_back(begin_ns, end);
}

void ObservedTime::Merge() {
  std::ranges::sort(parts_);
  std::size_t kept = 0;
  for (const Part& part : parts_) {
    if (kept > 0 && part.first <= parts_[kept - 1].second) {
      parts_[kept - 1].second = std::max(parts_[kept - 1].second, part.second);
    } else {
      parts_[kept++] = part;
    }
  }
  parts_.resize(kept);
  merged_ = kept;
}

std::int64_t ObservedTime::total_ns() {
  Merge();
  std::int64_t total = 0;
  for (const auto& [begin, end] : parts_) total += end - begin;
  return total;
}

std::vector<std::int64_t> ObservedTime::PerStep(const TimeGrid& grid) {
  Merge();
  std::vector<std::int64_t> out(grid.steps);
  for (const auto& [begin, end] : parts_)
    grid.Each(begin, end, [&](std::size_t step, std::int64_t ns) { out[step] += ns; });
  return out;
}

}  // namespace wherefore::profile
