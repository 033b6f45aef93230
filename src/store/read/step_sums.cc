#include "store/read/step_sums.h"

#include <algorithm>
#include <type_traits>

#include "base/arithmetic.h"
#include "base/hash.h"

namespace wherefore::store {
namespace {

constexpr std::int64_t kMostSteps = 1000;

// value * part / whole, rounded towards zero; 0 <= part <= whole.
std::int64_t Share(std::int64_t value, std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(static_cast<__int128>(value) * part / whole);
}

}  // namespace

std::size_t StepSums::KeyHash::operator()(const Key& key) const {
  static_assert(std::has_unique_object_representations_v<Key>);
  return HashBytes(&key, sizeof key).low;
}

void StepSums::Add(const ProfileSum& p) {
  const auto step_of = [this](std::int64_t time_ns) {
    return (time_ns - steps_.phase_ns) / steps_.width_ns;
  };
  const std::int64_t span = std::max<std::int64_t>(p.duration_ns, 1);
  const std::int64_t end = span > end_ns_ - p.time_ns ? end_ns_ : p.time_ns + span;
  const std::int64_t first = step_of(p.time_ns);
  const bool point = !steps_.spread || span / steps_.width_ns >= kMostSteps;
  const std::int64_t last = point ? first : step_of(end - 1);
  std::int64_t value_before = 0;
  std::int64_t count_before = 0;
  for (std::int64_t step = first; step <= last; ++step) {
    const std::int64_t begins = step * steps_.width_ns + steps_.phase_ns;
    const std::int64_t until = begins + steps_.width_ns - p.time_ns;
    const std::int64_t value = step == last ? p.value : Share(p.value, until, span);
    const std::int64_t count = step == last ? p.count : Share(p.count, until, span);
    AddWithin({.dictionary = p.dictionary,
               .type = p.type,
               .series = p.series,
               .step_start_ns = begins,
               .value = value - value_before,
               .count = count - count_before,
               .profiles = 1,
               .last_ns = p.time_ns});
    value_before = value;
    count_before = count;
  }
}

void StepSums::AddWithin(const SeriesPoint& sums) {
  const auto [found, fresh] =
      points_.try_emplace({sums.dictionary, sums.series, sums.type, sums.step_start_ns}, sums);
  if (fresh) return;
  SeriesPoint& at = found->second;
  at.value = SaturatingAdd(at.value, sums.value);
  at.count = SaturatingAdd(at.count, sums.count);
  at.profiles += sums.profiles;
  at.last_ns = std::max(at.last_ns, sums.last_ns);
}

std::vector<SeriesPoint> StepSums::Take() {
  std::vector<SeriesPoint> out;
  out.reserve(points_.size());
  for (const auto& [key, point] : points_) out.push_back(point);
  points_.clear();
  return out;
}

}  // namespace wherefore::store
