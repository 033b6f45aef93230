#include "cli/difference.h"

#include <gtest/gtest.h>

#include "query/diff.h"

namespace wherefore::cli {
namespace {

profile::FlameTree Side(std::int64_t parse, std::int64_t send) {
  profile::TreeBuilder b;
  b.AddValue(b.Child(0, b.AddFunction({.name = "parse"})), parse, 1);
  b.AddValue(b.Child(0, b.AddFunction({.name = "send"})), send, 1);
  profile::FlameTree t = b.Build();
  t.type = "cpu";
  t.unit = "nanoseconds";
  return t;
}

std::size_t Place(const std::string& text, std::string_view what) {
  return text.find(what);
}

TEST(ChooseMeasure, TakesTheOneThatDoesNotMislead) {
  const auto mode = [](std::string_view wanted, const DiffSides& sides) {
    return DiffModeName(ChooseMeasure(wanted, sides).mode);
  };
  EXPECT_EQ(mode("", {.two_selectors = true, .before_seconds = 60, .after_seconds = 60}), "share");
  EXPECT_EQ(mode("", {.before_seconds = 60, .after_seconds = 60.5}), "raw");
  EXPECT_EQ(mode("", {.before_seconds = 60, .after_seconds = 600}), "rate");
  EXPECT_EQ(mode("", {}), "raw");
  EXPECT_EQ(mode("rate", {}), "raw");
  EXPECT_EQ(mode("rate", {.averaged = true, .before_seconds = 60, .after_seconds = 600}), "raw");
  EXPECT_EQ(mode("raw", {.before_seconds = 60, .after_seconds = 600}), "raw");
  EXPECT_EQ(mode("rate", {.two_selectors = true, .before_seconds = 60, .after_seconds = 60}),
            "rate");
}

TEST(RenderDiff, SharesRankByTheirChangeAndUnequalSumsDoNot) {
  // Ten times as much in total; the share of `parse` is a third higher.
  const query::DiffTree diff =
      query::Diff(Side(60'000'000, 40'000'000), Side(800'000'000, 200'000'000));
  const std::string shares =
      RenderDiff(diff, {.mode = DiffMode::kShare, .why = "why"}, nullptr, 10);
  EXPECT_NE(Place(shares, "shares of each side's total, changes in percentage points: why\n"),
            std::string::npos)
      << shares;
  EXPECT_NE(Place(shares, "+20.0     60.0 %     80.0 %        +20.0  parse"), std::string::npos)
      << shares;
  EXPECT_NE(Place(shares, "-20.0     40.0 %     20.0 %        -20.0  send"), std::string::npos)
      << shares;
  EXPECT_NE(Place(RenderDiff(diff, {}, nullptr, 10), "+160 ms"), std::string::npos);
}

TEST(RenderDiff, PerSecondWhatRanLongerHasNotGrown) {
  const query::DiffTree diff =
      query::Diff(Side(60'000'000, 40'000'000), Side(600'000'000, 300'000'000));
  const std::string text = RenderDiff(
      diff, {.mode = DiffMode::kRate, .sides = {.before_seconds = 10, .after_seconds = 100}},
      nullptr, 10);
  EXPECT_NE(Place(text, "per second of observed time (10 s and 100 s): before 10 ms, after 9 ms"),
            std::string::npos)
      << text;
  EXPECT_NE(Place(text, "-1 ms       4 ms       3 ms        -1 ms  send"), std::string::npos)
      << text;
  EXPECT_EQ(Place(text, "parse"), std::string::npos) << text;  // the same per second
}

TEST(RenderDiff, SaysWhichChangesAreSure) {
  const query::DiffTree diff = query::Diff(Side(60, 40), Side(80, 20));
  Verdicts verdicts{.groups = "instances (5 and 5)", .note = "More samples would help"};
  verdicts.rows[{"parse", ""}] = {.self = {.low = 0.15, .high = 0.25, .verdict = "more"},
                                  .total = {.verdict = "undecided"}};
  const std::string text = RenderDiff(diff, {.mode = DiffMode::kShare}, &verdicts, 10);
  EXPECT_NE(Place(text, "+15.0 to +25.0  more     ?  parse"), std::string::npos) << text;
  EXPECT_NE(Place(text, "compared by instances (5 and 5)"), std::string::npos) << text;
  EXPECT_NE(Place(text, "More samples would help"), std::string::npos) << text;
}

TEST(DiffJson, HasTheExactSumsInTheOrderShown) {
  const query::DiffTree diff =
      query::Diff(Side(900'000'000'000'000'001, 1), Side(900'000'000'000'000'003, 1));
  const std::string text = DiffJson(diff, {}, nullptr);
  EXPECT_NE(Place(text, R"("mode":"raw")"), std::string::npos) << text;
  EXPECT_NE(Place(text, "900000000000000003"), std::string::npos) << text;
}

}  // namespace
}  // namespace wherefore::cli
