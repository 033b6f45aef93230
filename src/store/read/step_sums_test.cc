#include "store/read/step_sums.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace wherefore::store {
namespace {

constexpr Steps kSpread{.width_ns = 100, .spread = true};

std::vector<SeriesPoint> Sorted(StepSums& sums) {
  std::vector<SeriesPoint> out = sums.Take();
  std::ranges::sort(out, {},
                    [](const SeriesPoint& p) { return std::pair(p.step_start_ns, p.series); });
  return out;
}

std::map<std::int64_t, std::int64_t> ValuesOf(StepSums& sums) {
  std::map<std::int64_t, std::int64_t> out;
  for (const SeriesPoint& p : sums.Take()) out[p.step_start_ns] += p.value;
  return out;
}

TEST(StepSums, EachStepGetsThePartThatLiesInIt) {
  StepSums sums(kSpread, 1000);
  sums.Add({.time_ns = 150, .duration_ns = 200, .value = 400, .count = 8});
  const auto points = Sorted(sums);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].value, 100);
  EXPECT_EQ(points[0].count, 2);
  EXPECT_EQ(points[1].value, 200);
  EXPECT_EQ(points[2].step_start_ns, 300);
  EXPECT_EQ(points[2].value, 100);
  EXPECT_EQ(points[2].profiles, 1);
  EXPECT_EQ(points[2].last_ns, 150);
}

TEST(StepSums, WhatEndsWhereAStepEndsHasNothingInTheNext) {
  StepSums sums(kSpread, 1000);
  sums.Add({.time_ns = 100, .duration_ns = 100, .value = 7});
  EXPECT_EQ(ValuesOf(sums), (std::map<std::int64_t, std::int64_t>{{100, 7}}));
}

TEST(StepSums, AMomentAndALengthNobodyBelievesArePoints) {
  StepSums sums(kSpread, 1'000'000);
  sums.Add({.time_ns = 150, .duration_ns = 0, .value = 1});
  sums.Add({.time_ns = 150, .duration_ns = INT64_MAX, .value = 2});
  sums.Add({.time_ns = 150, .duration_ns = 100'000, .value = 4});
  EXPECT_EQ(ValuesOf(sums), (std::map<std::int64_t, std::int64_t>{{100, 7}}));
}

TEST(StepSums, WithoutSharingOutEverythingIsWhereItBegins) {
  StepSums sums({.width_ns = 100}, 1000);
  sums.Add({.time_ns = 150, .duration_ns = 200, .value = 400});
  EXPECT_EQ(ValuesOf(sums), (std::map<std::int64_t, std::int64_t>{{100, 400}}));
}

TEST(StepSums, PartsAreTogetherExactlyTheWhole) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    const Steps steps{.width_ns = 1 + static_cast<std::int64_t>(random() % 5000),
                      .phase_ns = static_cast<std::int64_t>(random() % 100),
                      .spread = true};
    const std::int64_t begin = 100 + static_cast<std::int64_t>(random() % 10'000);
    const std::int64_t end = begin + 1 + static_cast<std::int64_t>(random() % 10'000);
    // From single digits to the whole of 64 bits, of both signs.
    const auto value = static_cast<std::int64_t>(random()) >> (random() % 64);
    const auto count = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    StepSums sums(steps, end);
    sums.Add({.time_ns = begin,
              .duration_ns = static_cast<std::int64_t>(random() % 20'000),
              .value = value,
              .count = count});
    std::int64_t values = 0;
    std::int64_t counts = 0;
    std::int64_t expected = (begin - steps.phase_ns) / steps.width_ns * steps.width_ns;
    for (const SeriesPoint& p : Sorted(sums)) {
      EXPECT_EQ(p.step_start_ns - steps.phase_ns, expected) << "one step after the other";
      expected += steps.width_ns;
      EXPECT_TRUE(value >= 0 ? p.value >= 0 : p.value <= 0) << value << " gave " << p.value;
      EXPECT_LT(p.step_start_ns, end);
      values += p.value;
      counts += p.count;
    }
    ASSERT_EQ(values, value);
    ASSERT_EQ(counts, count);
  }
}

TEST(StepSums, WhatWasAddedUpBeforeAndWhatIsSharedOutAddUp) {
  StepSums sums(kSpread, 1000);
  sums.Add({.type = 3, .series = 1, .time_ns = 50, .duration_ns = 100, .value = 10});
  sums.AddWithin({.type = 3,
                  .series = 1,
                  .step_start_ns = 100,
                  .value = 20,
                  .count = 2,
                  .profiles = 4,
                  .last_ns = 180});
  sums.AddWithin({.type = 3, .series = 2, .step_start_ns = 100, .value = 1});
  const auto points = Sorted(sums);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].value, 5);
  EXPECT_EQ(points[1].value, 25);
  EXPECT_EQ(points[1].profiles, 5);
  EXPECT_EQ(points[1].last_ns, 180);
  EXPECT_EQ(points[2].series, 2u);
}

}  // namespace
}  // namespace wherefore::store
