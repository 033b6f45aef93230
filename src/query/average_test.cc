// Averages of snapshots and observed time, wherever their profiles are kept.
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/context.h"
#include "query/flame.h"
#include "query/overview.h"
#include "query/snapshots.h"
#include "query/timeline.h"
#include "store/test_queries.h"

namespace wherefore::query {
namespace {

using store::BatchBuilder;
using Values = std::vector<std::int64_t>;

constexpr std::int64_t kSecond = kNsPerSecond;
constexpr std::int64_t kStep = 60 * kSecond;

struct Instance {
  std::string pod;
  std::int64_t from_s = 0;
  std::int64_t to_s = 0;
  std::int64_t every_s = 10;
  std::uint64_t duration_s = 0;
  std::int64_t threads = 6;
  std::string service = "shop";
};

class AverageTest : public store::QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    context_ = std::make_unique<QueryContext>(reader());
  }
  void Put(const std::vector<Instance>& instances) {
    BatchBuilder batch;
    for (const Instance& i : instances) {
      for (std::int64_t at = i.from_s; at < i.to_s; at += i.every_s) {
        batch.Add({.service = i.service,
                   .resource = {{"pod", i.pod}},
                   .time_ns = start_ + at * kSecond,
                   .duration_ns = i.duration_s * kSecond,
                   .type = "threads",
                   .unit = "count"},
                  {{{"run", "main"}, i.threads - 1}, {{"main"}, 1}});
      }
    }
    Write(batch.Request(fmt::format("request {}", ++requests_)));
    Flush();
  }
  [[nodiscard]] Selection Of(const std::string& query = "", std::int64_t from_s = 0,
                             std::int64_t to_s = 600) const {
    Selection selection{.type = "threads",
                        .range = {start_ + from_s * kSecond, start_ + to_s * kSecond}};
    if (!query.empty()) selection.selector = *Selector::Parse(query);
    return selection;
  }
  // In threads, as the flame graph has it.
  double Average(const Selection& selection) {
    const auto flame = Flame(*context_, selection, {});
    EXPECT_TRUE(flame) << flame.error().message();
    if (!flame) return -1;
    EXPECT_TRUE(flame->averaged);
    return static_cast<double>(flame->tree.total[0]) / static_cast<double>(flame->tree.scale);
  }
  TimelineAnswer Series(const Selection& selection, const std::vector<std::string>& by = {},
                        std::int64_t step_ns = kStep) {
    auto answer = Timeline(*context_, selection,
                           {.steps = {.width_ns = step_ns, .spread = true}, .group_by = by}, {});
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *std::move(answer) : TimelineAnswer{};
  }

  // Steps of ten minutes begin there too.
  const std::int64_t start_ = (now_ - 3600 * kSecond) / (10 * kStep) * (10 * kStep);
  std::unique_ptr<QueryContext> context_;
  int requests_ = 0;
};

TEST_P(AverageTest, InstancesThatNeverLivedTogetherAreNotAddedUp) {
  Put({{.pod = "a", .from_s = 0, .to_s = 200},
       {.pod = "b", .from_s = 200, .to_s = 400},
       {.pod = "c", .from_s = 400, .to_s = 600}});
  EXPECT_EQ(Average(Of()), 6);
  EXPECT_EQ(Series(Of()).groups.at(0).values, Values(10, 6000));
  // Each had a third of it: parts add up.
  const auto by_pod = Series(Of(), {"pod"}, 600 * kSecond);
  ASSERT_EQ(by_pod.groups.size(), 3u);
  for (const TimelineGroup& group : by_pod.groups) EXPECT_EQ(group.values, Values{2000});
  EXPECT_EQ(Average(Of(R"({pod="a"})")), 6) << "alone it is its own whole";
}

TEST_P(AverageTest, InstancesThatLiveTogetherAreAddedUp) {
  Put({{.pod = "a", .to_s = 600},
       {.pod = "b", .to_s = 300},
       {.pod = "c", .from_s = 300, .to_s = 600}});
  EXPECT_EQ(Average(Of()), 12);
  Put({{.pod = "a", .to_s = 600, .threads = 30, .service = "other"}});
  EXPECT_EQ(Average(Of()), 42);
  EXPECT_EQ(Average(Of("shop")), 12);
  const auto by_service = Series(Of(), {"service_name"});
  ASSERT_EQ(by_service.groups.size(), 2u);
  EXPECT_EQ(by_service.groups[0].values, Values(10, 30'000));
  EXPECT_EQ(by_service.groups[1].values, Values(10, 12'000));
}

TEST_P(AverageTest, TimeInWhichNothingWasSeenDoesNotCount) {
  // Nine minutes of six, then a gap, then ten seconds of sixty.
  Put({{.pod = "a", .to_s = 90, .duration_s = 10},
       {.pod = "a", .from_s = 590, .to_s = 600, .duration_s = 10, .threads = 60}});
  EXPECT_NEAR(Average(Of()), (6 * 90 + 60 * 10) / 100.0, 0.001);
  const auto line = Series(Of());
  EXPECT_EQ(line.groups.at(0).values, (Values{6000, 6000, 0, 0, 0, 0, 0, 0, 0, 60'000}));
  EXPECT_EQ(line.groups.at(0).profiles, (Values{6, 3, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(line.observed_ns,
            (Values{60 * kSecond, 30 * kSecond, 0, 0, 0, 0, 0, 0, 0, 10 * kSecond}));
}

TEST_P(AverageTest, WithoutDurationsAGapIsAtMostTwiceTheMedianDistance) {
  Put({{.pod = "a", .to_s = 100}, {.pod = "a", .from_s = 500, .to_s = 600, .threads = 10}});
  // The snapshot before the gap stands for 20 s, the others for 10.
  EXPECT_NEAR(Average(Of()), (6 * 110 + 10 * 100) / 210.0, 0.001);
}

TEST_P(AverageTest, HowLongASnapshotStandsIsItsWeight) {
  Put({{.pod = "a", .to_s = 60, .duration_s = 60, .threads = 2},
       {.pod = "a", .from_s = 60, .to_s = 120, .duration_s = 10, .threads = 9}});
  EXPECT_EQ(Average(Of()), 5.5);
  // Said to last longer than until the next one: a series has one value at a time.
  Put({{.pod = "long", .to_s = 100, .duration_s = 100, .service = "slow"}});
  EXPECT_EQ(Average(Of("slow")), 6);
}

TEST_P(AverageTest, OneSingleSnapshotIsTheAverage) {
  Put({{.pod = "a", .from_s = 30, .to_s = 31}});
  EXPECT_EQ(Average(Of()), 6);
  EXPECT_EQ(Series(Of()).groups.at(0).values.at(0), 6000);
  // Several at one moment, of which nobody can tell how long they stand.
  Put({{.pod = "b", .from_s = 30, .to_s = 31}});
  EXPECT_EQ(Average(Of()), 12) << "there at once";
}

TEST_P(AverageTest, AShortRangeKnowsHowFarApartSnapshotsAre) {
  Put({{.pod = "a", .to_s = 600, .every_s = 15},
       {.pod = "b", .from_s = 5, .to_s = 600, .every_s = 15}});
  // One snapshot of each, five seconds apart: both stood for 15 s, of which ten were shared.
  EXPECT_NEAR(Average(Of("", 300, 310)), 6 * 30 / 20.0, 0.001);
}

TEST_P(AverageTest, SnapshotsOfOneSeriesAtTheSameTimeAreOneValue) {
  Put({{.pod = "a", .to_s = 100}});
  Put({{.pod = "a", .to_s = 100, .threads = 10}});
  EXPECT_EQ(Average(Of()), 8);
  EXPECT_EQ(Series(Of()).groups.at(0).values.at(0), 8000);
}

TEST_P(AverageTest, StepsAreWhatEachOfThemSaw) {
  Put({{.pod = "a", .to_s = 600, .every_s = 60, .duration_s = 60}});
  // Steps shorter than the distance are filled, not empty.
  const auto fine = Series(Of("", 0, 120), {}, 10 * kSecond);
  EXPECT_EQ(fine.groups.at(0).values, Values(12, 6000));
  EXPECT_EQ(fine.observed_ns.back(), 10 * kSecond);
}

TEST_P(AverageTest, AnAverageOfManyProfilesIsThatOfFew) {
  // More than are weighed in one statement.
  constexpr std::int64_t kProfiles = 20'300;
  BatchBuilder batch;
  for (std::int64_t i = 0; i < kProfiles; ++i) {
    batch.Add({.resource = {{"pod", fmt::format("{}", i % 100)}},
               .time_ns = start_ + i / 100 * kSecond,
               .duration_ns = kSecond,
               .type = "threads",
               .unit = "count"},
              {{{"run"}, i % 7}});
  }
  Write(batch.Request("many"));
  Flush();
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < kProfiles; ++i) sum += i % 7;
  EXPECT_NEAR(Average(Of()), static_cast<double>(sum) / (kProfiles / 100), 0.001);
}

TEST_P(AverageTest, LabelsOfSamplesAreAveragedOverTheSameTime) {
  BatchBuilder batch;
  for (std::int64_t i = 0; i < 10; ++i) {
    batch.Add({.time_ns = start_ + i * 60 * kSecond,
               .duration_ns = 60 * kSecond,
               .type = "threads",
               .unit = "count"},
              {{{"run"}, 4, "", "", {}, {{"pool", "a"}}},
               {{"run"}, i < 5 ? 2 : 0, "", "", {}, {{"pool", "b"}}}});
  }
  Write(batch.Request("pools"));
  Flush();
  EXPECT_EQ(Average(Of(R"({pool="b"})")), 1);
  const auto pools = Series(Of(), {"pool"}, 600 * kSecond);
  ASSERT_EQ(pools.groups.size(), 2u);
  EXPECT_EQ(pools.groups[0].values, Values{4000});
  EXPECT_EQ(pools.groups[1].values, Values{1000});
}

class ObservedTest : public AverageTest {
 protected:
  void Cpu(const std::string& pod, std::int64_t from_s, std::int64_t to_s, std::int64_t every_s,
           std::uint64_t duration_s, const std::string& service = "shop") {
    BatchBuilder batch;
    for (std::int64_t at = from_s; at < to_s; at += every_s) {
      batch.Add({.service = service,
                 .resource = {{"pod", pod}},
                 .time_ns = start_ + at * kSecond,
                 .duration_ns = duration_s * kSecond},
                {{{"main"}, 100, "", "", {}, {{"thread", at % 20 == 0 ? "one" : "two"}}}});
    }
    Write(batch.Request(fmt::format("request {}", ++requests_)));
    Flush();
  }
  [[nodiscard]] Selection Samples(const std::string& query = "") const {
    Selection selection = Of(query);
    selection.type = "samples";
    return selection;
  }
  std::int64_t Seconds(const Selection& selection) {
    const auto observed = ObservedNs(*context_, selection, {});
    EXPECT_TRUE(observed) << observed.error().message();
    return observed ? *observed / kSecond : -1;
  }
};

TEST_P(ObservedTest, TimeIsThatOfTheProfilesOverAllInstancesWithoutGaps) {
  Cpu("a", 0, 100, 10, 10);
  Cpu("b", 50, 150, 10, 10);
  Cpu("a", 500, 520, 10, 2);
  EXPECT_EQ(Seconds(Samples()), 150 + 4);
  EXPECT_EQ(Seconds(Samples(R"({pod="a"})")), 100 + 4);
  EXPECT_EQ(Seconds(Samples(R"({pod="nobody"})")), 0);
  EXPECT_EQ(Seconds(Samples(R"({thread="two"})")), 154) << "a profile without it was taken too";
  Cpu("z", 300, 310, 10, 10, "other");
  EXPECT_EQ(Seconds(Samples()), 164);
  EXPECT_EQ(Seconds(Samples("shop")), 154);
}

TEST_P(ObservedTest, ProfilesThatDoNotSayHowLongTheyTookFollowEachOther) {
  Cpu("a", 0, 100, 10, 0);
  EXPECT_EQ(Seconds(Samples()), 100);
  Cpu("one", 300, 301, 10, 0, "single");
  EXPECT_EQ(Seconds(Samples("single")), 0) << "nobody can tell";
}

TEST_P(ObservedTest, StepsSayHowMuchOfThemWasSeen) {
  Cpu("a", 0, 60, 10, 10);
  Cpu("a", 110, 111, 10, 20);
  for (const char* by : {"pod", "thread"}) {
    const auto line = Series(Samples(), {by});
    EXPECT_EQ(line.observed_ns,
              (Values{60 * kSecond, 10 * kSecond, 10 * kSecond, 0, 0, 0, 0, 0, 0, 0}))
        << by;
    // Labels of samples or not, a profile is shared out between the steps it lasts in.
    Values sums(10);
    for (const TimelineGroup& group : line.groups) {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += group.values[i];
    }
    EXPECT_EQ(sums, (Values{600, 50, 50, 0, 0, 0, 0, 0, 0, 0})) << by;
  }
}

TEST_P(ObservedTest, TheOverviewLeavesGapsOut) {
  Cpu("a", 0, 60, 60, 10);  // 100 samples of 10 ms in 10 s, and again five minutes later
  Cpu("a", 300, 360, 60, 10);
  Cpu("b", 0, 20, 10, 10, "other");
  const auto answer = Overview(*context_, 0, Of().range, {.search = {}, .limit = 10}, {});
  ASSERT_TRUE(answer) << answer.error().message();
  ASSERT_EQ(answer->services.size(), 2u);
  EXPECT_EQ(answer->observed_ns, 30 * kSecond);
  EXPECT_EQ(answer->services[0].info.name, "other");
  EXPECT_EQ(answer->services[0].seen_ns, 20 * kSecond);
  EXPECT_EQ(answer->services[1].seen_ns, 20 * kSecond) << "not from the first to the last";
  EXPECT_NEAR(answer->services[1].cores, 2.0 / 30, 1e-9);
}

TEST_P(AverageTest, TheHeapOfAServiceIsThatOfTheInstancesStillThere) {
  const auto put = [&](const std::string& pod, std::int64_t at_s, std::int64_t bytes) {
    BatchBuilder batch;
    batch.Add({.resource = {{"pod", pod}},
               .time_ns = start_ + at_s * kSecond,
               .duration_ns = 10 * kSecond,
               .type = "inuse_space",
               .unit = "bytes"},
              {{{"main"}, bytes}});
    Write(batch.Request(fmt::format("{} {}", pod, at_s)));
  };
  for (std::int64_t i = 0; i < 6; ++i) put("gone", i * 10, 1000);
  for (std::int64_t i = 6; i < 12; ++i) put("a", i * 10, 300 + i);
  for (std::int64_t i = 6; i < 12; ++i) put("b", i * 10 + 5, 20);
  Flush();
  const auto answer = Overview(*context_, 0, Of().range, {.search = {}, .limit = 10}, {});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->services.at(0).heap_bytes, 311 + 20);
}

WHEREFORE_ASK_WHEREVER_IT_CAN(AverageTest);
WHEREFORE_ASK_WHEREVER_IT_CAN(ObservedTest);

}  // namespace
}  // namespace wherefore::query
