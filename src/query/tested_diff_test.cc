// Statistics of differences, wherever the profiles are kept.
#include "query/tested_diff.h"

#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/test_queries.h"

namespace wherefore::query {
namespace {

constexpr std::int64_t kSecond = kNsPerSecond;

class TestedDiffTest : public store::QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    context_ = std::make_unique<QueryContext>(reader());
  }
  // One profile of each pod and minute: `parse` of 1,000 samples, the rest elsewhere.
  void Put(const std::string& version, const std::vector<int>& parse, int minutes = 1) {
    store::BatchBuilder batch;
    for (std::size_t pod = 0; pod < parse.size(); ++pod) {
      for (int minute = 0; minute < minutes; ++minute) {
        batch.Add({.resource = {{"pod", fmt::format("{}-{}", version, pod)}, {"version", version}},
                   .time_ns = start_ + minute * 60 * kSecond,
                   .duration_ns = static_cast<std::uint64_t>(10 * kSecond)},
                  {{{"parse", "main"}, parse[pod]}, {{"render", "main"}, 1000 - parse[pod]}});
      }
    }
    Write(batch.Request(version));
    Flush();
  }
  [[nodiscard]] Selection Of(const std::string& version) const {
    Selection selection{.type = "samples", .range = {start_, start_ + 3600 * kSecond}};
    selection.selector = *Selector::Parse(fmt::format("{{version=\"{}\"}}", version));
    return selection;
  }
  TestedDifference Test(Measure measure = Measure::kShare) {
    auto tested = TestDifference(*context_, Of("v1"), Of("v2"), measure, {}, {});
    EXPECT_TRUE(tested) << tested.error().message();
    return tested ? *std::move(tested) : TestedDifference{};
  }
  static TestedFunction Of(const TestedDifference& tested, const std::string& name) {
    const TestedFunction* found = tested.Find({.name = name, .module = "shop"});
    EXPECT_NE(found, nullptr) << name;
    return found != nullptr ? *found : TestedFunction{};
  }

  const std::int64_t start_ = (now_ / kSecond - 4000) * kSecond;
  std::unique_ptr<QueryContext> context_;
};

TEST_P(TestedDiffTest, AChangeInEveryInstanceIsFound) {
  Put("v1", {100, 130, 85});
  Put("v2", {190, 198, 205});
  const TestedDifference tested = Test();
  EXPECT_EQ(tested.grouping, Grouping::kInstances);
  EXPECT_EQ(tested.groups_before, 3u);
  EXPECT_EQ(tested.groups_after, 3u);
  const TestedFunction parse = Of(tested, "parse");
  EXPECT_EQ(parse.self.verdict, Verdict::kMore);
  EXPECT_NEAR(parse.self.comparison.before, 0.105, 1e-9);
  EXPECT_NEAR(parse.self.comparison.after, 593 / 3000.0, 1e-9);
  EXPECT_EQ(Of(tested, "render").total.verdict, Verdict::kLess);
  // In every sample, before and after: nothing to be found.
  EXPECT_EQ(Of(tested, "main").total.comparison.change, 0);
  EXPECT_NE(Of(tested, "main").total.verdict, Verdict::kMore);
}

TEST_P(TestedDiffTest, OneInstanceThatDiffersIsNoChange) {
  Put("v1", {100, 130, 85});
  Put("v2", {110, 95, 400});
  const TestedFunction parse = Of(Test(), "parse");
  EXPECT_GT(parse.self.comparison.change, 0.09);
  EXPECT_EQ(parse.self.verdict, Verdict::kUndecided);
  EXPECT_GT(parse.self.comparison.spread, 20);
}

TEST_P(TestedDiffTest, FewInstancesAreCutIntoBlocksOfTime) {
  Put("v1", {100}, 16);
  Put("v2", {200}, 16);
  const TestedDifference tested = Test();
  EXPECT_EQ(tested.grouping, Grouping::kBlocks);
  EXPECT_EQ(tested.groups_before, 8u);
  EXPECT_EQ(Of(tested, "parse").self.verdict, Verdict::kMore);
  EXPECT_NE(tested.note.find("differences between instances are not in the intervals"),
            std::string::npos)
      << tested.note;
}

TEST_P(TestedDiffTest, ARateIsPerInstanceAndSecond) {
  Put("v1", {100, 100});
  Put("v2", {100, 100, 100, 100});  // twice the instances, the same in each
  const TestedDifference tested = Test(Measure::kRate);
  const TestedFunction parse = Of(tested, "parse");
  EXPECT_NEAR(parse.self.comparison.before, 10, 1e-9);  // 100 in ten seconds
  EXPECT_NEAR(parse.self.comparison.after, 10, 1e-9);
  EXPECT_EQ(parse.self.verdict, Verdict::kUndecided);
  EXPECT_NEAR(tested.whole.after, 100, 1e-9);
}

TEST_P(TestedDiffTest, ABlockHasTheTimeOfItsProfiles) {
  Put("v1", {100});      // one profile of ten seconds
  Put("v2", {100}, 16);  // 16 of them
  const TestedDifference tested = Test(Measure::kRate);
  EXPECT_EQ(tested.grouping, Grouping::kBlocks);
  EXPECT_NEAR(Of(tested, "parse").self.comparison.before, 10, 1e-9);
  EXPECT_NEAR(Of(tested, "parse").self.comparison.after, 10, 1e-9);
  EXPECT_NEAR(tested.whole.before, 100, 1e-9);
  EXPECT_NEAR(tested.whole.after, 100, 1e-9);
}

TEST_P(TestedDiffTest, WhatIsNewIsFound) {
  Put("v1", {0, 0, 0});
  Put("v2", {50, 60, 55});
  const TestedFunction parse = Of(Test(), "parse");
  EXPECT_EQ(parse.self.comparison.before, 0);
  EXPECT_EQ(parse.self.verdict, Verdict::kMore);
}

TEST_P(TestedDiffTest, NothingOnOneSideIsSaid) {
  Put("v1", {100, 100});
  const TestedDifference tested = Test();
  EXPECT_EQ(tested.note, "one side has no samples");
  EXPECT_EQ(tested.groups_after, 0u);
}

TEST_P(TestedDiffTest, SpansAreNotTested) {
  Put("v1", {100, 100});
  Selection span = Of("v1");
  span.selector = *Selector::Parse(R"({span_id="0102030405060708"})");
  const auto tested = TestDifference(*context_, span, Of("v1"), Measure::kShare, {}, {});
  ASSERT_TRUE(tested) << tested.error().message();
  EXPECT_EQ(tested->grouping, Grouping::kNone);
  EXPECT_EQ(tested->note, "samples of single spans, traces or profiles are not tested");
}

WHEREFORE_ASK_WHEREVER_IT_CAN(TestedDiffTest);

// Equal deployments through the store: instances differ by 20 %, 20 functions, 5 + 5 instances.
TEST(TestedDiff, EqualDeploymentsAreRarelyCalledDifferent) {
  constexpr int kPairs = 60;
  constexpr int kFunctions = 20;
  std::mt19937_64 random(18);
  std::gamma_distribution<double> differ(25, 1.0 / 25);
  int different = 0;
  int listed = 0;
  for (int pair = 0; pair < kPairs; ++pair) {
    store::TestData data(store::Kept::kInMemory);
    const std::int64_t time = NowUnixNs() - 600 * kSecond;
    store::BatchBuilder batch;
    for (int instance = 0; instance < 10; ++instance) {
      const std::string version = instance < 5 ? "v1" : "v2";
      std::vector<store::BatchBuilder::Sample> samples;
      for (int f = 0; f < kFunctions; ++f) {
        const int seen = std::poisson_distribution<int>(60 * differ(random))(random);
        samples.push_back({{fmt::format("f{}", f), "main"}, std::max(seen, 1)});
      }
      batch.Add({.resource = {{"pod", fmt::format("p{}", instance)}, {"version", version}},
                 .time_ns = time},
                samples);
    }
    data.Write(batch.Request("r"));
    QueryContext context(data.reader());
    const auto side = [&](const char* version) {
      Selection selection{.type = "samples", .range = {time - kSecond, time + kSecond}};
      selection.selector = *Selector::Parse(fmt::format("{{version=\"{}\"}}", version));
      return selection;
    };
    const auto tested = TestDifference(context, side("v1"), side("v2"), Measure::kShare, {}, {});
    ASSERT_TRUE(tested) << tested.error().message();
    bool any = false;
    for (const TestedFunction& f : tested->functions) {
      different +=
          f.self.comparison.observations >= kMinObservations && f.self.comparison.p <= 0.05;
      any = any || f.self.verdict == Verdict::kMore || f.self.verdict == Verdict::kLess;
    }
    listed += any ? 1 : 0;
  }
  EXPECT_LE(different, kPairs * kFunctions * 6 / 100);
  EXPECT_LE(listed, kPairs * 8 / 100);
}

}  // namespace
}  // namespace wherefore::query
