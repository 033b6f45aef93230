#include "profile/sandwich.h"

#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

// main -> a -> parse -> parse -> copy (7), main -> b -> parse (5), main -> b (1).
FlameTree Sample() {
  TreeBuilder builder;
  const auto add = [&](std::initializer_list<const char*> names, std::int64_t value) {
    std::uint32_t node = 0;
    for (const char* name : names) node = builder.Child(node, builder.AddFunction({.name = name}));
    builder.AddValue(node, value, 1);
  };
  add({"main", "a", "parse", "parse", "copy"}, 7);
  add({"main", "b", "parse"}, 5);
  add({"main", "b"}, 1);
  FlameTree tree = builder.Build();
  tree.unit = "count";
  return tree;
}

std::vector<std::string> Lines(const FlameTree& tree) {
  std::vector<std::string> out;
  for (std::size_t i = 1; i < tree.size(); ++i) {
    out.push_back(std::string(tree.depth[i] - 1, ' ') + std::string(tree.Name(i)) + " " +
                  std::to_string(tree.total[i]));
  }
  return out;
}

TEST(Sandwich, CalleesOfAllCallSitesAreMerged) {
  const FlameTree tree = Callees(Sample(), {.name = "parse"});
  EXPECT_EQ(Lines(tree), (std::vector<std::string>{"parse 12", " parse 7", "  copy 7"}));
  EXPECT_EQ(tree.unit, "count");
}

TEST(Sandwich, CallersGrowUpwardsFromTheOutermostCall) {
  const FlameTree tree = Callers(Sample(), {.name = "parse"});
  EXPECT_EQ(Lines(tree),
            (std::vector<std::string>{"parse 12", " a 7", "  main 7", " b 5", "  main 5"}));
  EXPECT_EQ(tree.total_count[0], 2);
}

TEST(Sandwich, FunctionsOfOneNameAreToldApartByModule) {
  TreeBuilder builder;
  for (const auto& [module, value] : {std::pair("one.so", 3), std::pair("other.so", 4)}) {
    const auto f = builder.Child(0, builder.AddFunction({.name = "f", .module = module}));
    builder.AddValue(f, value, 1);
  }
  const FlameTree tree = builder.Build();
  EXPECT_EQ(Callees(tree, {.name = "f"}).total[0], 7);
  EXPECT_EQ(Callees(tree, {.name = "f", .module = "one.so"}).total[0], 3);
  EXPECT_EQ(Callers(tree, {.name = "f", .module = "other.so"}).total[0], 4);
  EXPECT_EQ(Callers(tree, {.name = "f", .module = ""}).size(), 1u);
}

TEST(Sandwich, AFunctionThatIsNotThereHasNoSides) {
  EXPECT_EQ(Callees(Sample(), {.name = "nothing"}).size(), 1u);
  EXPECT_EQ(Callers(Sample(), {.name = "nothing"}).total[0], 0);
}

}  // namespace
}  // namespace wherefore::profile
