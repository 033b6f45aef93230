// What is looked for over time, wherever it is kept: it must be what the flame graph finds.
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/context.h"
#include "query/flame.h"
#include "query/heat.h"
#include "query/snapshots.h"
#include "query/timeline.h"
#include "query/view.h"
#include "store/test_queries.h"

namespace wherefore::query {
namespace {

using store::BatchBuilder;
using Values = std::vector<std::int64_t>;

constexpr std::int64_t kStep = 60 * kNsPerSecond;
constexpr std::int64_t kSteps = 10;

class MatchesTest : public store::QueryTest {
 protected:
  void SetUp() override {
    QueryTest::SetUp();
    context_ = std::make_unique<QueryContext>(reader());
  }
  void Put(BatchBuilder& batch, std::string_view name) {
    Write(batch.Request(name));
    Flush();
  }
  [[nodiscard]] Selection All(const std::string& type = "samples",
                              const std::string& query = "") const {
    Selection selection{.type = type, .range = {start_, start_ + kSteps * kStep}};
    if (!query.empty()) selection.selector = *Selector::Parse(query);
    return selection;
  }
  static LensSearch Wanted(const std::string& search, const std::string& lens = "") {
    auto parsed = Lens::Parse(lens);
    auto text = Search::Parse(search);
    EXPECT_TRUE(parsed && text) << lens << " " << search;
    return {.lens = *std::move(parsed), .search = *std::move(text)};
  }
  TimelineAnswer Series(const LensSearch& wanted, const Selection& selection) {
    auto answer = Timeline(*context_, selection,
                           {.steps = {.width_ns = kStep, .spread = true}, .wanted = wanted}, {});
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *std::move(answer) : TimelineAnswer{};
  }
  Values Matched(const LensSearch& wanted, const Selection& selection) {
    return Series(wanted, selection).matched.value_or(Values{});
  }
  // What the flame graph of the same question says.
  std::int64_t FoundInFlame(const LensSearch& wanted, const Selection& selection) {
    auto flame = Flame(*context_, selection, {});
    EXPECT_TRUE(flame) << flame.error().message();
    if (!flame) return -1;
    const auto seen =
        ShowTree(std::move(flame->tree), {.lens = wanted.lens, .search = wanted.search}, {});
    EXPECT_TRUE(seen && seen->found);
    return seen && seen->found ? seen->found->value : -1;
  }
  static std::int64_t Sum(const Values& values) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0});
  }

  const std::int64_t start_ = (now_ - 3600 * kNsPerSecond) / kStep * kStep;
  std::unique_ptr<QueryContext> context_;
};

TEST_P(MatchesTest, EachStepHasWhatTheMatchingStacksHaveInIt) {
  BatchBuilder batch;
  batch.Add({.time_ns = start_}, {{{"parse", "main"}, 5}, {{"write", "main"}, 2}});
  batch.Add({.time_ns = start_ + kStep}, {{{"write", "main"}, 4}});
  batch.Add({.time_ns = start_ + 2 * kStep}, {{{"read", "Parse_all", "main"}, 3}});
  // Half of it in each of two steps.
  batch.Add({.time_ns = start_ + 5 * kStep - 10 * kNsPerSecond, .duration_ns = 20'000'000'000},
            {{{"parse", "main"}, 8}, {{"write", "main"}, 2}});
  Put(batch, "a");
  const auto answer = Series(Wanted("parse"), All());
  ASSERT_EQ(answer.groups.size(), 1u);
  EXPECT_EQ(answer.groups[0].values, (Values{7, 4, 3, 0, 5, 5, 0, 0, 0, 0}));
  EXPECT_EQ(answer.matched, (Values{5, 0, 3, 0, 4, 4, 0, 0, 0, 0}));
  EXPECT_EQ(Matched(Wanted("nowhere"), All()), Values(kSteps));
  EXPECT_EQ(Matched(Wanted("main"), All()), answer.groups[0].values);
  EXPECT_FALSE(Series({}, All()).matched);
  EXPECT_EQ(Matched(Wanted("all", "hide:Parse"), All()), Values(kSteps));
  EXPECT_EQ(Matched(Wanted("main", "drop:write"), All()), (Values{5, 0, 3, 0, 4, 4, 0, 0, 0, 0}));
}

TEST_P(MatchesTest, WhatCameSinceTheLastQuestionIsFound) {
  BatchBuilder batch;
  batch.Add({.time_ns = start_}, {{{"old", "main"}, 1}});
  Put(batch, "a");
  EXPECT_EQ(Sum(Matched(Wanted("new"), All())), 0);
  EXPECT_EQ(Sum(Matched(Wanted("main"), All())), 1);
  batch.Add({.time_ns = start_}, {{{"new", "main"}, 2}, {{}, 4}});
  Put(batch, "b");
  EXPECT_EQ(Sum(Matched(Wanted("new"), All())), 2);
  EXPECT_EQ(Sum(Matched(Wanted("main"), All())), 3);
  // Samples without a stack are shown as one frame, and found by its name.
  EXPECT_EQ(Sum(Matched(Wanted("stack"), All())), FoundInFlame(Wanted("stack"), All()));
  EXPECT_EQ(Sum(Matched(Wanted("."), All())), 7);
}

TEST_P(MatchesTest, ItIsWhatTheFlameGraphFindsAndWithTheRestTheWhole) {
  std::mt19937 random(7);
  const std::vector<std::string> names = {"main", "parse",  "json::get", "map<int>::find", "read",
                                          "send", "malloc", "std::sort", "map<char>::find"};
  for (int request = 0; request < 3; ++request) {
    BatchBuilder batch;
    for (int i = 0; i < 40; ++i) {
      std::vector<BatchBuilder::Sample> samples;
      for (std::uint64_t k = 1 + random() % 8; k > 0; --k) {
        std::vector<std::string> stack;
        for (std::uint64_t depth = random() % 9; depth > 0; --depth)
          stack.push_back(names[random() % names.size()]);
        samples.push_back({stack, static_cast<std::int64_t>(random() % 100'000)});
      }
      batch.Add({.service = request == 2 ? "other" : "shop",
                 .resource = {{"pod", random() % 2 == 0 ? "a" : "b"}},
                 .time_ns = start_ + static_cast<std::int64_t>(random() % (9 * kStep)),
                 .duration_ns = random() % 3 == 0 ? random() % (3 * kStep) : 0},
                samples);
    }
    Put(batch, fmt::format("request {}", request));
  }
  const Values whole = Series({}, All()).groups.at(0).values;
  EXPECT_GT(Sum(whole), 0);
  EXPECT_EQ(Matched(Wanted(".*"), All()), whole);
  for (const char* text : {"parse", "find", "^main$", "JSON", "std::|read", "shop"}) {
    for (const char* lens : {"",
                             "focus:json",
                             "hide:parse",
                             "drop:send",
                             "merge:map",
                             "collapse:read",
                             "my-code",
                             "own",
                             "own:-json +std::",
                             "hide:main > own > invert",
                             "merge-templates",
                             "focus:main > drop:malloc > hide:json",
                             "hide:main > focus:read",
                             "merge-templates > drop:map<int>",
                             "merge-templates > focus:map<> > merge:find",
                             "collapse:json > hide:json > drop:parse",
                             "invert",
                             "recursion:.",
                             "recursion:parse|map",
                             "focus-path:main",
                             "focus-path:main;parse",
                             "merge-path:main;read",
                             "invert > focus:read > invert",
                             "merge-templates > recursion:map > collapse:parse",
                             "hide:main > focus-path:send > invert > drop:malloc",
                             "invert > focus-path:malloc"}) {
      const LensSearch wanted = Wanted(text, lens);
      EXPECT_EQ(Sum(Matched(wanted, All())), FoundInFlame(wanted, All())) << text << " | " << lens;
    }
  }
  for (const char* text : {"parse", "find", "^main$", "read|send"}) {
    const Values matched = Matched(Wanted(text), All());
    const Values rest = Matched(Wanted(".*", fmt::format("drop:{}", text)), All());
    EXPECT_EQ(Sum(matched) + Sum(rest), Sum(whole)) << text;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      // What is shared out between steps is rounded, once per profile.
      EXPECT_NEAR(static_cast<double>(matched[i] + rest[i]), static_cast<double>(whole[i]), 120);
      EXPECT_LE(matched[i], whole[i]);
    }
  }
}

TEST_P(MatchesTest, LabelsOfSamplesAndSnapshotsAreReadAsTheWholeIs) {
  BatchBuilder batch;
  for (int i = 0; i < 5; ++i) {
    for (const char* pod : {"a", "b"}) {
      batch.Add({.resource = {{"pod", pod}}, .time_ns = start_ + i * kStep / 2},
                {{{"parse", "main"}, 3 + i, "", "", {}, {{"thread", "one"}}},
                 {{"write", "main"}, 7, "", "", {}, {{"thread", "two"}}},
                 {{"parse", "main"}, 1, "", "", {}, {{"thread", "two"}}}});
      batch.Add({.resource = {{"pod", pod}},
                 .time_ns = start_ + i * kStep / 2,
                 .type = "inuse_space",
                 .unit = "bytes"},
                {{{"keep", "main"}, 1001}, {{"grow", "main"}, 500 + 100 * i}});
    }
  }
  Put(batch, "a");
  const Selection two = All("samples", R"({thread="two"})");
  EXPECT_EQ(Matched(Wanted("."), two), Series({}, two).groups.at(0).values);
  EXPECT_EQ(Sum(Matched(Wanted("parse"), two)), 10);
  const Selection heap = All("inuse_space");
  const auto answer = Series(Wanted("."), heap);
  EXPECT_TRUE(answer.averaged);
  EXPECT_EQ(answer.matched, answer.groups.at(0).values);
  // Two pods, each with the average of two snapshots.
  EXPECT_EQ(Matched(Wanted("keep"), heap)[0], std::int64_t{2} * 1001 * kAverageScale);
  EXPECT_EQ(Matched(Wanted("grow"), heap)[0], std::int64_t{2} * 550 * kAverageScale);
}

TEST_P(MatchesTest, CellsOfAHeatMapSayHowMuchOfThemMatches) {
  BatchBuilder batch;
  const auto at = [&](std::int64_t ms) {
    return static_cast<std::uint64_t>(start_ + ms * 1'000'000);
  };
  batch.Add({.time_ns = start_}, {{{"parse", "main"}, 3, "", "", {at(5), at(6), at(1005)}},
                                  {{"write", "main"}, 2, "", "", {at(7), at(500)}}});
  Put(batch, "timed");
  auto heat = HeatMap(*context_, All(), kStep, Wanted("parse"), {});
  ASSERT_TRUE(heat) << heat.error().message();
  ASSERT_TRUE(heat->by_offset);
  ASSERT_EQ(heat->cells.size(), 2u);
  EXPECT_EQ(heat->cells[0].count, 4);
  EXPECT_EQ(heat->cells[0].matched, 3);
  EXPECT_EQ(heat->cells[0].whole, 4);
  EXPECT_EQ(heat->cells[1].matched, 0);

  batch.Add({.service = "plain", .time_ns = start_}, {{{"parse"}, 30}, {{"write"}, 10}});
  batch.Add({.service = "plain", .time_ns = start_ + 1}, {{{"write"}, 40}});
  batch.Add({.service = "plain", .time_ns = start_ + kStep}, {{{"parse"}, 400}});
  Put(batch, "plain");
  const Selection plain = All("samples", R"({service_name="plain"})");
  heat = HeatMap(*context_, plain, kStep, Wanted("parse"), {});
  ASSERT_TRUE(heat) << heat.error().message();
  ASSERT_FALSE(heat->by_offset);
  ASSERT_EQ(heat->cells.size(), 2u);
  EXPECT_EQ(heat->cells[0].count, 2);
  EXPECT_EQ(heat->cells[0].matched, 30);
  EXPECT_EQ(heat->cells[0].whole, 80);
  EXPECT_EQ(heat->cells[1].matched, 400);
}

WHEREFORE_ASK_WHEREVER_IT_CAN(MatchesTest);

}  // namespace
}  // namespace wherefore::query
