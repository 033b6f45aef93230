#include "cli/render.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include "cli/command.h"

namespace wherefore::cli {
namespace {

profile::FlameTree Sample() {
  profile::TreeBuilder b;
  const std::uint32_t main = b.Child(0, b.AddFunction({.name = "main"}));
  b.AddValue(b.Child(main, b.AddFunction({.name = "größe<int>"})), 150'000'000, 3);
  b.AddValue(main, 50'000'000, 1);
  profile::FlameTree t = b.Build();
  t.type = "cpu";
  t.unit = "nanoseconds";
  return t;
}

TEST(Fit, CutsByCharactersNotBytes) {
  EXPECT_EQ(Fit("größe", 5), "größe");
  EXPECT_EQ(Fit("größe", 4), "grö…");
  EXPECT_EQ(Fit("abc", 1), "…");
  EXPECT_EQ(Fit("abc", 0), "");
}

TEST(RenderTop, PrintsValuesSharesAndWhatIsLeft) {
  const std::string all = RenderTop(Sample(), 10, 100);
  EXPECT_NE(all.find("150 ms"), std::string::npos) << all;
  EXPECT_NE(all.find("75.0 %"), std::string::npos);
  const std::string one = RenderTop(Sample(), 1, 100);
  EXPECT_NE(one.find("50 ms   25.0 %"), std::string::npos) << one;
  EXPECT_NE(one.find("other (1 functions)"), std::string::npos);
}

TEST(RenderTop, AShareSeenAlwaysOrNeverIsNotCertain) {
  profile::TreeBuilder b;
  const std::uint32_t main = b.Child(0, b.AddFunction({.name = "main"}));
  b.AddValue(b.Child(main, b.AddFunction({.name = "all_of_it"})), 140'000'000, 14);
  const std::string text = RenderTop(b.Build(), 10, 100);
  EXPECT_NE(text.find("100.0 %    ±22"), std::string::npos) << text;
  EXPECT_NE(text.find("0.0 %    ±22"), std::string::npos) << text;
}

TEST(RenderTopLine, NamesTheFunctionsWithMostAndSaysThatThereAreMore) {
  EXPECT_EQ(RenderTopLine(Sample(), 3, 100), "größe<int> 75.0 % · main 25.0 %");
  EXPECT_EQ(RenderTopLine(Sample(), 1, 100), "größe<int> 75.0 % · …");
  EXPECT_EQ(RenderTopLine(profile::TreeBuilder().Build(), 3, 100), "");
}

TEST(RenderTopLine, CutsNamesNotShares) {
  profile::TreeBuilder b;
  for (const char* name : {"a_very_long_name_of_a_function", "another_very_long_name", "short"})
    b.AddValue(b.Child(0, b.AddFunction({.name = name})), 10, 1);
  const profile::FlameTree tree = b.Build();
  for (const std::size_t width : {0U, 5U, 40U, 60U, 200U}) {
    const std::string line = RenderTopLine(tree, 3, width);
    EXPECT_LE(ScreenWidth(line), width) << line;
    const bool whole = re2::RE2::FullMatch(line, "[^ ·]+ 33.3 % · [^ ·]+ 33.3 % · [^ ·]+ 33.3 %");
    EXPECT_EQ(whole, width >= 40) << line;
  }
}

TEST(RenderFlame, NoRowIsWiderThanTheTerminal) {
  for (const int width : {20, 33, 80, 121}) {
    const std::string text = RenderFlame(Sample(), width, 10, false);
    std::string_view rest = text;
    rest.remove_prefix(rest.find('\n') + 1);
    while (!rest.empty()) {
      EXPECT_LE(ScreenWidth(rest.substr(0, rest.find('\n'))), static_cast<std::size_t>(width));
      rest.remove_prefix(std::min(rest.find('\n') + 1, rest.size()));
    }
  }
}

}  // namespace
}  // namespace wherefore::cli
