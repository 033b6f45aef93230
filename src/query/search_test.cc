#include "query/search.h"

#include <functional>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "query/diff.h"

namespace wherefore::query {
namespace {

using profile::FlameTree;
using profile::TreeBuilder;

FlameTree RandomTree(unsigned seed, unsigned names) {
  std::mt19937 random(seed);
  TreeBuilder b;
  for (int i = 0; i < 600; ++i) {
    std::uint32_t node = 0;
    const std::uint64_t depth = 1 + random() % 15;
    for (std::uint64_t d = 0; d < depth; ++d) {
      const std::uint64_t n = random() % names;
      node = b.Child(node, b.AddFunction({.name = fmt::format("f{}", n),
                                          .module = n % 7 == 0 ? "libseven.so" : ""}));
    }
    b.AddValue(node, static_cast<std::int64_t>(random() % 1000), 1 + random() % 3);
  }
  return b.Build();
}

// What lies at or below a match, asked of every node by walking up to the root.
struct Walked {
  std::int64_t value = 0;
  std::int64_t count = 0;
  std::size_t nodes = 0;
  std::set<std::uint32_t> functions;
};
Walked Walk(const FlameTree& tree, const std::function<bool(const profile::FlameFunction&)>& hit) {
  Walked out;
  for (std::size_t i = 1; i < tree.size(); ++i) {
    bool below = false;
    std::uint32_t depth = tree.depth[i] + 1;
    for (std::size_t k = i + 1; k-- > 1;) {
      if (tree.depth[k] >= depth) continue;  // no ancestor
      depth = tree.depth[k];
      below = below || hit(tree.functions[tree.function[k]]);
    }
    if (below) out.value += tree.self[i];
    if (below) out.count += tree.self_count[i];
    if (!hit(tree.functions[tree.function[i]])) continue;
    ++out.nodes;
    out.functions.insert(tree.function[i]);
  }
  return out;
}

TEST(Search, WhatItFindsIsWhatAWalkOverEveryNodeFinds) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const FlameTree tree = RandomTree(seed, 5 + seed * 40);
    const auto starts = [](std::string_view with) {
      return [with](const profile::FlameFunction& f) { return f.name.starts_with(with); };
    };
    const auto check = [&](const char* pattern, const auto& hit) {
      const Found found = Search::Parse(pattern)->In(tree);
      const Walked walked = Walk(tree, hit);
      EXPECT_EQ(found.value, walked.value) << pattern;
      EXPECT_EQ(found.count, walked.count) << pattern;
      EXPECT_EQ(found.nodes, walked.nodes) << pattern;
      EXPECT_EQ(found.function_count, walked.functions.size()) << pattern;
      for (std::uint32_t f = 0; f < tree.functions.size(); ++f) {
        EXPECT_EQ(found.functions[f] != 0, walked.functions.contains(f)) << pattern;
      }
    };
    check("^F1", starts("f1"));  // case does not matter
    check("f3", starts("f3"));
    check("SEVEN", [](const profile::FlameFunction& f) { return !f.module.empty(); });
    check("nowhere", starts("nowhere"));
    check("^total$", starts("total"));  // the root is no function
  }
}

TEST(Search, NothingIsLookedForInEmptyText) {
  const Found found = Search::Parse("")->In(RandomTree(1, 10));
  EXPECT_EQ(found.nodes, 0U);
  EXPECT_EQ(found.value, 0);
}

TEST(Search, MistakesHaveAPlace) {
  const auto problem = [](std::string_view text) {
    const auto search = Search::Parse(text);
    return search ? std::string("none") : search.error().message();
  };
  EXPECT_TRUE(problem("ab(c[)]").ends_with("at character 3")) << problem("ab(c[)]");
  EXPECT_TRUE(problem("(a))b").ends_with("at character 4")) << problem("(a))b");
  EXPECT_TRUE(problem("x[ab").ends_with("at character 2")) << problem("x[ab");
  EXPECT_TRUE(problem("a**").ends_with("at character 2")) << problem("a**");
  EXPECT_TRUE(problem("ab\\").ends_with("at character 3")) << problem("ab\\");
  EXPECT_EQ(problem(std::string(Search::kMostBytes, 'x')), "none");
  EXPECT_NE(problem(std::string(Search::kMostBytes + 1, 'x')), "none");
}

// Matches in a pruned tree, of a tree in which they would be the first to go.
TEST(Search, KeepsTheLargestMatchesWhenPruning) {
  TreeBuilder b;
  const std::uint32_t main = b.Child(0, b.AddFunction({.name = "main"}));
  for (int i = 0; i < 5000; ++i) {
    b.AddValue(b.Child(main, b.AddFunction({.name = fmt::format("big{}", i)})), 1000 + i, 1);
  }
  const std::uint32_t deep = b.Child(main, b.AddFunction({.name = "deep"}));
  for (int i = 0; i < 100; ++i) {
    b.AddValue(b.Child(deep, b.AddFunction({.name = fmt::format("needle{}", i)})), i + 1, 1);
  }
  const FlameTree tree = b.Build();
  const auto drawn = [&](std::size_t max_nodes) {
    const Found found = Search::Parse("needle")->In(tree);
    EXPECT_EQ(found.nodes, 100U);
    EXPECT_EQ(found.value, 5050);
    const FlameTree pruned =
        profile::Prune(tree, {.max_nodes = max_nodes, .wanted = found.functions});
    EXPECT_EQ(pruned.total[0], tree.total[0]);
    EXPECT_EQ(pruned.total_count[0], tree.total_count[0]);
    std::int64_t selves = 0;
    std::size_t named = 0;
    std::set<std::string> needles;
    for (std::size_t i = 0; i < pruned.size(); ++i) {
      selves += pruned.self[i];
      named += pruned.hidden_nodes[i] == 0 ? 1 : 0;
      if (pruned.Name(i).starts_with("needle")) needles.emplace(pruned.Name(i));
    }
    EXPECT_EQ(selves, tree.total[0]);
    EXPECT_EQ(named, max_nodes);
    return needles;
  };
  EXPECT_EQ(drawn(1000).size(), 100U);
  const auto few = drawn(20);  // half of it: the root, main, deep and the seven largest
  EXPECT_EQ(few.size(), 7U);
  EXPECT_TRUE(few.contains("needle99") && few.contains("needle93"));
}

TEST(Search, KeepsMatchesOfADifferenceAndTheirSideBefore) {
  const auto tree = [](std::int64_t needle) {
    TreeBuilder b;
    for (int i = 0; i < 100; ++i) {
      b.AddValue(b.Child(0, b.AddFunction({.name = fmt::format("big{}", i)})), 1000, 1);
    }
    b.AddValue(b.Child(0, b.AddFunction({.name = "needle"})), needle, 1);
    return b.Build();
  };
  const DiffTree diff = Diff(tree(3), tree(5));
  const Found found = Search::Parse("needle")->In(diff.tree, diff.before);
  EXPECT_EQ(found.before, 3);
  EXPECT_EQ(found.value, 5);
  const DiffTree pruned = PruneDiff(diff, {.max_nodes = 10, .wanted = found.functions});
  std::size_t needles = 0;
  for (std::size_t i = 0; i < pruned.tree.size(); ++i) {
    needles += pruned.tree.Name(i) == "needle" ? 1 : 0;
  }
  EXPECT_EQ(needles, 1U);
  EXPECT_EQ(pruned.before[0], diff.before[0]);
}

}  // namespace
}  // namespace wherefore::query
