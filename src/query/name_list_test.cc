#include "query/name_list.h"

#include <gtest/gtest.h>

#include "query/selector.h"

namespace wherefore::query {
namespace {

NameFilter Filter(std::string_view text) {
  auto filter = NameFilter::Parse(text);
  EXPECT_TRUE(filter) << text;
  return filter ? *filter : NameFilter();
}

TEST(NameFilter, FindsPlainTextInAnyCase) {
  EXPECT_TRUE(Filter("").Matches("anything"));
  EXPECT_TRUE(Filter("OUT").Matches("checkout"));
  EXPECT_TRUE(Filter("é").Matches("CAFÉ"));
  EXPECT_FALSE(Filter("out$").Matches("checkout")) << "no regular expression";
  EXPECT_TRUE(Filter("a.b(").Matches("xa.b(y"));
  EXPECT_FALSE(Filter("a.b").Matches("axb"));
  EXPECT_TRUE(Filter("two\nlines").Matches("of two\nlines"));
  EXPECT_FALSE(NameFilter::Parse(std::string(1001, 'x')));
  const auto broken = NameFilter::Parse("\xff");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message(), "byte 1 is not UTF-8 (0xff)");
}

TEST(NameSet, CountsAllAndListsTheFirst) {
  const ListOf wanted{.search = Filter("B"), .limit = 2};
  const CancelToken cancel;
  NameSet set(wanted, cancel);
  for (const char* name : {"b3", "a", "b1", "b2", "b1"}) EXPECT_TRUE(set.Add(name));
  const NameList list = set.Take();
  EXPECT_EQ(list.names, (std::vector<std::string>{"b1", "b2"}));
  EXPECT_EQ(list.total, 3u);
}

TEST(Selector, OfServicesMeansThoseAlone) {
  Selector some = Selector::OfServices({"a", "b"});
  EXPECT_TRUE(some.MatchesService("a"));
  EXPECT_FALSE(some.MatchesService("c"));
  EXPECT_FALSE(Selector::OfServices({}).MatchesService("a")) << "none is not all";
  some.Add(Selector::OfServices({"b", "c"}));
  EXPECT_FALSE(some.MatchesService("a"));
  EXPECT_TRUE(some.MatchesService("b"));
}

}  // namespace
}  // namespace wherefore::query
