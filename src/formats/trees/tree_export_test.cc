#include <simdjson.h>

#include <gtest/gtest.h>

#include "formats/formats.h"

namespace wherefore::formats {
namespace {

profile::FlameTree SmallTree() {
  profile::TreeBuilder builder;
  const auto main = builder.Child(
      0, builder.AddFunction({.name = "main", .module = "app", .file = "m.cc", .start_line = 3}));
  const auto a = builder.Child(main, builder.AddFunction({.name = "std::map<\"a\" & 'b'>"}));
  const auto z = builder.Child(main, builder.AddFunction({.name = "z"}));
  builder.AddValue(main, 1'000'000, 1);
  builder.AddValue(a, 5'000'000, 1);
  builder.AddValue(z, 7'000'000, 1);
  profile::FlameTree tree = builder.Build();
  tree.unit = "nanoseconds";
  return tree;
}

TEST(Speedscope, EventsAreBalancedAndCoverTheTotal) {
  const std::string json = EncodeSpeedscope(SmallTree(), "my \"title\"");
  simdjson::dom::parser parser;
  const simdjson::dom::element root = parser.parse(json);
  EXPECT_EQ(std::string_view(root["name"]), "my \"title\"");
  const simdjson::dom::element p = root["profiles"].at(0);
  EXPECT_EQ(std::string_view(p["unit"]), "nanoseconds");
  EXPECT_EQ(std::int64_t(p["endValue"]), 13'000'000);
  std::vector<std::int64_t> open;
  std::int64_t at = 0;
  std::size_t events = 0;
  for (const simdjson::dom::element e : p["events"].get_array()) {
    EXPECT_GE(std::int64_t(e["at"]), at);
    at = e["at"];
    if (std::string_view(e["type"]) == "O") {
      open.push_back(e["frame"]);
    } else {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), std::int64_t(e["frame"]));
      open.pop_back();
    }
    ++events;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(at, 13'000'000);
  EXPECT_EQ(events, 6U);
}

TEST(Svg, NamesAreEscapedAndValuesAreInTheHoverText) {
  const std::string svg = EncodeSvg(SmallTree(), {.title = "a < b", .subtitle = "x & y"});
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_NE(svg.find("std::map&lt;&quot;a&quot; &amp; &#39;b&#39;&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("std::map<"), std::string::npos);
  EXPECT_NE(svg.find("<title>z\n7"), std::string::npos) << svg;
  EXPECT_NE(svg.find("(53.85 %)"), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
}

TEST(Svg, BoxesTooNarrowToSeeAreCounted) {
  profile::TreeBuilder builder;
  builder.AddValue(builder.Child(0, builder.AddFunction({.name = "big"})), 1'000'000'000, 1);
  const auto small = builder.Child(0, builder.AddFunction({.name = "small"}));
  builder.AddValue(builder.Child(small, builder.AddFunction({.name = "inside"})), 1, 1);
  const std::string svg = EncodeSvg(builder.Build(), {});
  EXPECT_EQ(svg.find("inside"), std::string::npos);
  EXPECT_NE(svg.find("2 boxes are too narrow"), std::string::npos);
}

TEST(Svg, EmptyTreeGivesAValidPicture) {
  EXPECT_TRUE(EncodeSvg(profile::FlameTree{}, {.title = "nothing"}).ends_with("</svg>\n"));
  EXPECT_NE(EncodeSpeedscope(profile::FlameTree{}, "nothing").find("\"events\":[]"),
            std::string::npos);
}

}  // namespace
}  // namespace wherefore::formats
