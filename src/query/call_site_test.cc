#include "query/call_site.h"

#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

profile::FlameTree Tree() {
  profile::TreeBuilder builder;
  const auto child = [&](std::uint32_t parent, const char* name, const char* module,
                         std::int64_t value) {
    const auto node = builder.Child(parent, builder.AddFunction({.name = name, .module = module}));
    builder.AddValue(node, value, 1);
    return node;
  };
  const auto main = child(0, "main", "", 1);
  const auto work = child(main, "work", "liba", 10);
  child(work, "leaf", "", 100);
  child(main, "work", "libb", 1000);
  child(main, "rest", "", 10'000);
  const auto other = child(0, "thread", "", 5);
  child(other, "work", "liba", 7);
  return builder.Build();
}

TEST(CallSite, KeepsTheStacksThatBeginWithIt) {
  const auto tree = UnderCallSite(Tree(), {"main", "work"});
  EXPECT_EQ(tree.total[0], 1110);  // both modules' work, not the thread's
  EXPECT_EQ(tree.Name(1), "main");
  EXPECT_EQ(tree.self[1], 0);
  EXPECT_EQ(tree.size(), 5u);
}

TEST(CallSite, WithoutNamesIsEverythingAndWithUnknownNamesNothing) {
  EXPECT_EQ(UnderCallSite(Tree(), {}).total[0], Tree().total[0]);
  EXPECT_EQ(UnderCallSite(Tree(), {"main"}).total[0], 11'111);
  EXPECT_EQ(UnderCallSite(Tree(), {"work"}).size(), 1u);
  EXPECT_EQ(UnderCallSite(Tree(), {"main", "work", "leaf", "deeper"}).total[0], 0);
}

}  // namespace
}  // namespace wherefore::query
