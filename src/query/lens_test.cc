#include "query/lens.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

using profile::FlameTree;
using profile::TreeBuilder;

FlameTree Sample() {
  TreeBuilder b;
  const auto add = [&](std::initializer_list<const char*> stack, std::int64_t value) {
    std::uint32_t node = 0;
    for (const char* name : stack) node = b.Child(node, b.AddFunction({.name = name}));
    b.AddValue(node, value, 1);
  };
  add({"main", "handle", "parse", "std::sort"}, 10);
  add({"main", "handle", "parse"}, 5);
  add({"main", "handle", "rec", "rec", "rec"}, 4);
  add({"main", "idle"}, 3);
  return b.Build();
}

std::string Draw(const FlameTree& t) {
  std::string out;
  for (std::size_t i = 1; i < t.size(); ++i) {
    out += fmt::format("{}{}:{}/{} ", std::string(t.depth[i] - 1, '.'), t.Name(i), t.total[i],
                       t.self[i]);
  }
  return out + fmt::format("= {}", t.total[0]);
}

std::string Through(const char* text) {
  const auto lens = Lens::Parse(text);
  EXPECT_TRUE(lens) << text;
  return Draw(lens->Apply(Sample()));
}

TEST(Lens, EachStepDoesWhatItSays) {
  EXPECT_EQ(Through(""),
            "main:22/0 .handle:19/0 ..parse:15/5 ...std::sort:10/10 ..rec:4/0 ...rec:4/0 "
            "....rec:4/4 .idle:3/3 = 22");
  EXPECT_EQ(Through("focus:^parse$"), "parse:15/5 .std::sort:10/10 = 15");
  EXPECT_EQ(Through("hide:^handle$"),
            "main:22/0 .idle:3/3 .parse:15/5 ..std::sort:10/10 .rec:4/0 ..rec:4/0 ...rec:4/4 = 22");
  EXPECT_EQ(Through("merge:rec"),
            "main:22/0 .handle:19/0 ..parse:15/5 ...std::sort:10/10 ..rec:4/4 .idle:3/3 = 22");
  EXPECT_EQ(Through("collapse:handle"), "main:22/0 .handle:19/19 .idle:3/3 = 22");
  EXPECT_EQ(Through("drop:parse"),
            "main:7/0 .handle:4/0 ..rec:4/0 ...rec:4/0 ....rec:4/4 .idle:3/3 = 7");
  EXPECT_EQ(Through("my-code > focus:handle > merge:rec"),
            "handle:19/0 .parse:15/15 .rec:4/4 = 19");
}

TEST(Lens, TemplateInstancesBecomeOne) {
  TreeBuilder b;
  for (const char* name : {"Map<int, Less<int>>::find(int)", "Map<long>::find(int)",
                           "bool operator<(A<int>, B)", "broken<", "a->b"}) {
    b.AddValue(b.Child(0, b.AddFunction({.name = name})), 1, 1);
  }
  EXPECT_EQ(Draw(Lens::Parse("merge-templates")->Apply(b.Build())),
            "Map<>::find(int):2/2 a->b:1/1 bool operator<(A<int>, B):1/1 broken<:1/1 = 5");
  EXPECT_EQ(Lens::Parse("merge-templates > hide:a")->Text(), "merge-templates > hide:a");
}

TEST(Lens, RejectsUnknownWordsAndBadPatterns) {
  EXPECT_FALSE(Lens::Parse("zoom:x"));
  EXPECT_FALSE(Lens::Parse("focus:("));
  EXPECT_FALSE(Lens::Parse("focus"));
  EXPECT_EQ(Lens::Parse("hide:a > my-code")->Text(), "hide:a > my-code");
}

}  // namespace
}  // namespace wherefore::query
