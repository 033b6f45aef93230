#include "profile/observed_time.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

using Values = std::vector<std::int64_t>;

// Lengths of the (time, duration) pairs of one series.
Values Lengths(const std::vector<std::pair<std::int64_t, std::int64_t>>& profiles) {
  std::vector<SeenProfile> seen;
  for (const auto& [time, duration] : profiles)
    seen.push_back({.series = 1, .time_ns = time, .duration_ns = duration});
  FillLengths(seen);
  Values out;
  for (const SeenProfile& p : seen) out.push_back(p.length_ns);
  return out;
}

TEST(ObservedTime, AProfileStandsForItsDurationButNotBeyondTheNextOfItsSeries) {
  EXPECT_EQ(Lengths({{0, 10}, {20, 10}, {30, 15}, {40, 15}}), (Values{10, 10, 10, 15}));
}

TEST(ObservedTime, WithoutADurationItStandsUpToTheNextAtMostTwiceTheMedianDistance) {
  EXPECT_EQ(Lengths({{0, 0}, {10, 0}, {20, 0}, {100, 0}, {110, 0}}), (Values{10, 10, 20, 10, 10}));
  EXPECT_EQ(Lengths({{110, 0}, {20, 0}, {0, 0}, {100, 0}, {10, 0}}), (Values{10, 20, 10, 10, 10}))
      << "in any order";
}

TEST(ObservedTime, DurationsMayBeMixed) {
  EXPECT_EQ(Lengths({{0, 4}, {10, 0}, {20, 0}, {30, 7}}), (Values{4, 10, 10, 7}));
}

TEST(ObservedTime, AtTheSameMomentTheyShareWhatTheyStandFor) {
  std::vector<SeenProfile> seen = {{.series = 1, .time_ns = 0},
                                   {.series = 1, .time_ns = 0},
                                   {.series = 1, .time_ns = 10},
                                   {.series = 2, .time_ns = 0}};
  FillLengths(seen);
  EXPECT_EQ(seen[0].length_ns, 10);
  EXPECT_EQ(seen[1].length_ns, 10);
  EXPECT_EQ(seen[0].sharers, 2);
  EXPECT_EQ(seen[2].sharers, 1);
  EXPECT_EQ(seen[3].sharers, 1) << "of another series";
}

TEST(ObservedTime, ASingleOneStandsForWhatIsUsualAndForNothingWhereNobodyCanTell) {
  std::vector<SeenProfile> seen = {{.series = 1, .time_ns = 0},
                                   {.series = 1, .time_ns = 15},
                                   {.series = 1, .time_ns = 30},
                                   {.series = 2, .time_ns = 7}};
  FillLengths(seen);
  EXPECT_EQ(seen[3].length_ns, 15);
  EXPECT_EQ(Lengths({{5, 0}}), (Values{0}));
  EXPECT_EQ(Lengths({{5, 0}, {5, 0}}), (Values{0, 0}));
  EXPECT_EQ(Lengths({{5, INT64_MAX}}), (Values{0})) << "nobody profiles for 292 years";
  EXPECT_EQ(Lengths({{5, -3}}), (Values{0}));
  EXPECT_EQ(Lengths({}), (Values{}));
}

TEST(ObservedTime, TimeSeenTwiceCountsOnceAndGapsDoNot) {
  ObservedTime observed;
  EXPECT_EQ(observed.total_ns(), 0);
  observed.Add(100, 10);
  observed.Add(300, 10);
  observed.Add(105, 10);
  observed.Add(50, 20);
  observed.Add(60, 1);
  observed.Add(70, 30);
  observed.Add(400, 0);
  observed.Add(500, -5);
  EXPECT_EQ(observed.total_ns(), 65 + 10);
  observed.Add(INT64_MAX - 5, 100);
  EXPECT_EQ(observed.total_ns(), 65 + 10 + 5) << "does not run over";
}

TEST(ObservedTime, StepsHaveTheirPartAndTogetherAllOfIt) {
  ObservedTime observed;
  observed.Add(5, 10);    // before the first step
  observed.Add(115, 20);  // across two steps
  observed.Add(180, 50);  // after the last step
  EXPECT_EQ(observed.PerStep({.start_ns = 100, .width_ns = 25, .steps = 4}),
            (Values{20, 10, 0, 50}));
  EXPECT_EQ(observed.PerStep({.start_ns = 100, .width_ns = 25, .steps = 0}), Values{});
}

TEST(ObservedTime, AnyOrderGivesWhatAMarkPerMomentGives) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    constexpr std::int64_t kEnd = 10'000;
    std::vector<char> marked(kEnd);
    ObservedTime observed;
    for (std::uint64_t i = random() % 3000; i > 0; --i) {
      const auto begin = static_cast<std::int64_t>(random() % (kEnd - 100));
      const auto length = static_cast<std::int64_t>(random() % 8);
      observed.Add(begin, length);
      std::fill_n(marked.begin() + begin, length, 1);
    }
    ASSERT_EQ(observed.total_ns(), std::ranges::count(marked, 1));
    const auto steps = observed.PerStep({.start_ns = 1000, .width_ns = 500, .steps = 10});
    EXPECT_EQ(steps[3], std::count(marked.begin() + 2500, marked.begin() + 3000, 1));
  }
}

}  // namespace
}  // namespace wherefore::profile
