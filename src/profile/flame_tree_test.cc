#include "profile/flame_tree.h"

#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

void Add(TreeBuilder& b, std::initializer_list<const char*> stack, std::int64_t value) {
  std::uint32_t node = 0;
  for (const char* name : stack) node = b.Child(node, b.AddFunction({.name = name}));
  b.AddValue(node, value, value);
}

// "name total/self" with two spaces per depth.
std::string Draw(const FlameTree& t) {
  std::string out;
  for (std::size_t i = 0; i < t.size(); ++i) {
    out += fmt::format("{:>{}}{} {}/{}\n", "", 2 * t.depth[i], t.Name(i), t.total[i], t.self[i]);
  }
  return out;
}

TEST(TreeBuilder, AddsUpTotalsAndOrdersSiblingsByName) {
  TreeBuilder b;
  Add(b, {"main", "b"}, 3);
  Add(b, {"main", "a", "x"}, 5);
  Add(b, {"main"}, 1);
  Add(b, {"main", "b"}, 4);
  EXPECT_EQ(Draw(b.Build()),
            "total 13/0\n"
            "  main 13/1\n"
            "    a 5/0\n"
            "      x 5/5\n"
            "    b 7/7\n");
}

TEST(TreeBuilder, KeepsModulesApart) {
  TreeBuilder b;
  EXPECT_NE(b.AddFunction({.name = "f", .module = "liba.so"}),
            b.AddFunction({.name = "f", .module = "libb.so"}));
}

TEST(TreeBuilder, SaysWhatItHolds) {
  TreeBuilder b;
  const std::size_t empty = b.bytes();
  const std::string name(1000, 'x');
  Add(b, {"main", name.c_str()}, 3);
  EXPECT_GT(b.bytes(), empty + 1000);
  EXPECT_GE(b.BuildBytes(), 3 * FlameTree::kNodeBytes);
  const FlameTree tree = b.Build();
  EXPECT_GE(WrittenOutBytes(tree), std::string("main;" + name + " 3\n").size());
  EXPECT_LT(WrittenOutBytes(tree), 1100u);
}

TEST(TreeBuilder, NewChildrenAreFoundAgainHoweverTheyWereMade) {
  TreeBuilder plain;
  TreeBuilder quick;
  const auto make = [&](TreeBuilder& b, bool by_new) {
    std::vector<std::uint32_t> functions;
    functions.reserve(40);
    for (int f = 0; f < 40; ++f)
      functions.push_back(b.AddFunction({.name = fmt::format("f{}", f)}));
    std::set<std::pair<std::uint32_t, std::uint32_t>> known;
    std::mt19937 same(9);
    for (int i = 0; i < 20'000; ++i) {
      std::uint32_t node = 0;
      for (std::uint64_t d = 1 + same() % 6; d > 0; --d) {
        const std::uint32_t f = functions[same() % functions.size()];
        const bool fresh = known.emplace(node, f).second;
        node = fresh && by_new ? b.NewChild(node, f) : b.Child(node, f);
      }
      b.AddValue(node, 1 + i % 7, 1);
    }
  };
  make(plain, false);
  make(quick, true);
  EXPECT_EQ(plain.size(), quick.size());
  EXPECT_EQ(Draw(plain.Build()), Draw(quick.Build()));
}

TEST(Prune, CutsIntoAnExplicitOtherWithTheExactValue) {
  TreeBuilder b;
  Add(b, {"main", "big"}, 90);
  Add(b, {"main", "small1", "deep"}, 3);
  Add(b, {"main", "small2"}, 2);
  Add(b, {"main"}, 5);
  const FlameTree pruned = Prune(b.Build(), {.min_share = 0.1});
  EXPECT_EQ(Draw(pruned),
            "total 100/0\n"
            "  main 100/5\n"
            "    big 90/90\n"
            "    other 5/5\n");
  EXPECT_EQ(pruned.hidden_nodes.back(), 3u);
}

TEST(Prune, FunctionsNoNodeHasAreNotSent) {
  TreeBuilder b;
  for (int i = 0; i < 1000; ++i) {
    b.AddValue(b.Child(0, b.AddFunction({.name = fmt::format("f{}", i)})), i == 500 ? 1000 : 1, 1);
  }
  const FlameTree pruned = Prune(b.Build(), {.max_nodes = 2});
  ASSERT_EQ(pruned.functions.size(), 3u);  // the root, f500, other
  EXPECT_EQ(pruned.Name(1), "f500");
  EXPECT_EQ(pruned.functions[pruned.function[2]].kind, FrameKind::kOther);
  EXPECT_EQ(pruned.total[0], 1999);
}

TEST(Prune, OfAChainOfEqualNodesTheUpperEndStays) {
  TreeBuilder b;
  std::uint32_t node = 0;
  for (int i = 0; i < 100; ++i) {
    node = b.Child(node, b.AddFunction({.name = "f" + std::to_string(i)}));
  }
  b.AddValue(node, 7, 1);
  const FlameTree pruned = Prune(b.Build(), {.max_nodes = 11});
  ASSERT_EQ(pruned.size(), 12U) << "root, ten functions, other";
  EXPECT_EQ(pruned.Name(10), "f9");
  EXPECT_EQ(pruned.functions[pruned.function[11]].kind, FrameKind::kOther);
  EXPECT_EQ(pruned.total[11], 7);
}

TEST(Prune, NeverChangesATotalOfAKeptNode) {
  std::mt19937 random(7);
  TreeBuilder b;
  for (int i = 0; i < 5000; ++i) {
    std::uint32_t node = 0;
    const std::uint64_t depth = 1 + random() % 20;
    for (std::uint64_t d = 0; d < depth; ++d) {
      node = b.Child(node, b.AddFunction({.name = fmt::format("f{}", random() % 12)}));
    }
    b.AddValue(node, static_cast<std::int64_t>(random() % 100), 1);
  }
  const FlameTree full = b.Build();
  const FlameTree pruned = Prune(full, {.max_nodes = 200});
  EXPECT_LT(pruned.size(), 600u);
  EXPECT_EQ(pruned.total[0], full.total[0]);
  EXPECT_EQ(pruned.total_count[0], full.total_count[0]);
  std::int64_t selves = 0;
  for (const std::int64_t s : pruned.self) selves += s;
  EXPECT_EQ(selves, full.total[0]);
}

TEST(Top, CountsARecursiveFunctionOnce) {
  TreeBuilder b;
  Add(b, {"main", "f", "g", "f"}, 10);
  Add(b, {"main", "f"}, 5);
  const FlameTree t = b.Build();
  const std::vector<TopRow> rows = Top(t);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(t.functions[rows[0].function].name, "f");
  EXPECT_EQ(rows[0].self, 15);
  EXPECT_EQ(rows[0].total, 15);
}

}  // namespace
}  // namespace wherefore::profile
