// Statistics of differences, wherever the profiles are kept.
#include "query/tested_diff.h"

#include <cmath>

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
  TestedDifference Test(Compared compared = Compared::kShares) {
    auto tested = TestDifference(*context_, Of("v1"), Of("v2"), compared, {}, nullptr, {});
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

TEST_P(TestedDiffTest, NodesOfTheShownTreeHaveVerdictsToo) {
  Put("v1", {100, 130, 85});
  Put("v2", {190, 198, 205});
  profile::TreeBuilder tree;
  const auto add = [&](std::uint32_t parent, const char* name) {
    return tree.Child(parent, tree.AddFunction({.name = name, .module = "shop"}));
  };
  const std::uint32_t main = add(0, "main");
  for (const char* name : {"parse", "render", "never"}) tree.AddValue(add(main, name), 1, 1);
  const profile::FlameTree shown = tree.Build();
  const auto tested =
      TestDifference(*context_, Of("v1"), Of("v2"), Compared::kShares, {}, &shown, {});
  ASSERT_TRUE(tested) << tested.error().message();
  std::map<std::string, Verdict> verdicts;
  for (std::size_t n = 1; n < shown.size(); ++n)
    verdicts[std::string(shown.Name(n))] = tested->nodes[n];
  EXPECT_EQ(verdicts, (std::map<std::string, Verdict>{{"main", Verdict::kUndecided},
                                                      {"parse", Verdict::kMore},
                                                      {"render", Verdict::kLess},
                                                      {"never", Verdict::kUnknown}}));
}

TEST_P(TestedDiffTest, NodesOfOwnCodeAreTestedAsTheyAreShown) {
  Put("v1", {100, 130, 85});
  Put("v2", {190, 198, 205});
  const auto lens = Lens::Parse("own:-^main$");
  ASSERT_TRUE(lens) << lens.error().message();
  profile::TreeBuilder tree;
  for (const char* name : {"parse", "render"})
    tree.AddValue(tree.Child(0, tree.AddFunction({.name = name, .module = "shop"})), 1, 1);
  const profile::FlameTree shown = tree.Build();
  const auto tested =
      TestDifference(*context_, Of("v1"), Of("v2"), Compared::kShares, *lens, &shown, {});
  ASSERT_TRUE(tested) << tested.error().message();
  EXPECT_EQ(tested->nodes,
            (std::vector<Verdict>{Verdict::kUnknown, Verdict::kMore, Verdict::kLess}));
  EXPECT_TRUE(tested->charged);
  // Functions are those that ran.
  EXPECT_NE(tested->Find({.name = "main", .module = "shop"}), nullptr);
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
  const TestedDifference tested = Test(Compared::kPerSecond);
  const TestedFunction parse = Of(tested, "parse");
  // 100 in ten seconds, of each; both sides are shown for four of them.
  EXPECT_NEAR(parse.self.comparison.before, 40, 1e-9);
  EXPECT_NEAR(parse.self.comparison.after, 40, 1e-9);
  EXPECT_EQ(parse.self.verdict, Verdict::kUndecided);
  EXPECT_NEAR(tested.whole.after, 400, 1e-9);
  EXPECT_NE(tested.note.find("2.0 and 4.0 instances on average"), std::string::npos) << tested.note;
}

TEST_P(TestedDiffTest, ABlockHasTheTimeOfItsProfiles) {
  Put("v1", {100});      // one profile of ten seconds
  Put("v2", {100}, 16);  // 16 of them
  const TestedDifference tested = Test(Compared::kPerSecond);
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
  const auto tested = TestDifference(*context_, span, Of("v1"), Compared::kShares, {}, nullptr, {});
  ASSERT_TRUE(tested) << tested.error().message();
  EXPECT_EQ(tested->grouping, Grouping::kNone);
  EXPECT_EQ(tested->note, "samples of single spans, traces or profiles are not tested");
}

WHEREFORE_ASK_WHEREVER_IT_CAN(TestedDiffTest);

}  // namespace
}  // namespace wherefore::query
