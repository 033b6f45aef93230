#include "formats/trees/flamebearer.h"

#include <gtest/gtest.h>

namespace wherefore::formats {
namespace {

using profile::FlameTree;
using profile::TreeBuilder;
using Level = std::vector<std::int64_t>;

// main 1 { a 5 (twice, in two modules), z 7 { leaf 2 } }
FlameTree Tree() {
  TreeBuilder builder;
  const auto child = [&](std::uint32_t parent, const char* name, const char* module,
                         std::int64_t value) {
    const auto node = builder.Child(parent, builder.AddFunction({.name = name, .module = module}));
    builder.AddValue(node, value, 1);
    return node;
  };
  const auto main = child(0, "main", "", 1);
  child(main, "a", "x", 2);
  child(main, "a", "y", 3);
  child(child(main, "z", "", 7), "leaf", "", 2);
  return builder.Build();
}

TEST(Flamebearer, BoxesAreDeltaCodedInsideTheirParents) {
  const FlameGraph graph = ToFlameGraph(MergedByName(Tree()));
  EXPECT_EQ(graph.names, (std::vector<std::string>{"total", "main", "a", "z", "leaf"}));
  ASSERT_EQ(graph.levels.size(), 4u);
  EXPECT_EQ(graph.levels[0], (Level{0, 15, 0, 0}));
  EXPECT_EQ(graph.levels[1], (Level{0, 15, 1, 1}));
  EXPECT_EQ(graph.levels[2], (Level{1, 5, 5, 2, 0, 9, 7, 3}));
  EXPECT_EQ(graph.levels[3], (Level{13, 2, 2, 4}));
  EXPECT_EQ(graph.total, 15);
  EXPECT_EQ(graph.max_self, 7);
}

TEST(Flamebearer, NothingIsOneEmptyRoot) {
  const FlameGraph graph = ToFlameGraph(TreeBuilder().Build());
  EXPECT_EQ(graph.names, (std::vector<std::string>{"total"}));
  EXPECT_EQ(graph.levels, (std::vector<Level>{{0, 0, 0, 0}}));
}

TEST(Flamebearer, ADifferenceCutsBothSidesAlike) {
  const FlameTree tree = MergedByName(Tree());
  const Level left_self(tree.size(), 0);
  Level left_total(tree.size(), 0);
  left_total[0] = left_total[1] = 4;
  Level self = left_self;
  self[1] = 4;
  const TwoSidedTree both{.tree = &tree, .left_total = left_total, .left_self = self};
  const FlameGraph whole = ToFlameGraphDiff(both, 0);
  EXPECT_EQ(whole.left_ticks, 4);
  EXPECT_EQ(whole.right_ticks, 15);
  EXPECT_EQ(whole.total, 19);
  EXPECT_EQ(whole.levels[1], (Level{0, 4, 4, 0, 15, 1, 1}));
  // root, main and z are the three largest; a and leaf become "other" where they were.
  const FlameGraph cut = ToFlameGraphDiff(both, 3);
  EXPECT_EQ(cut.names, (std::vector<std::string>{"total", "main", "z", "other"}));
  EXPECT_EQ(cut.levels[2], (Level{4, 0, 0, 1, 9, 7, 2, 0, 0, 0, 0, 5, 5, 3}));
  EXPECT_EQ(cut.levels[3], (Level{4, 0, 0, 8, 2, 2, 3}));
}

TEST(Flamebearer, TheBinaryTreeComesLastChildFirst) {
  using namespace std::string_literals;
  EXPECT_EQ(EncodePyroscopeTree(MergedByName(Tree())),
            "\0\0\x01"s
            "\x04main\x01\x02"s
            "\x01z\x07\x01"s
            "\x04leaf\x02\0"s
            "\x01"s
            "a\x05\0"s);
}

TEST(Flamebearer, CallGraphsNameTheLargestFunctionsAndSayHowManyThereAre) {
  const std::string dot = EncodeDot(Tree(), "t", 2);
  EXPECT_NE(dot.find("2 of 4 functions"), std::string::npos);
  EXPECT_NE(dot.find("main"), std::string::npos);
  EXPECT_EQ(dot.find("leaf"), std::string::npos);
  EXPECT_NE(dot.find("->"), std::string::npos);
}

TEST(Flamebearer, TheJsonFileSaysWhatItShows) {
  Flamebearer file{.graph = ToFlameGraph(MergedByName(Tree()))};
  DescribeUnits("cpu", "nanoseconds", file);
  const Timeline timeline{.start_seconds = 60, .step_seconds = 15, .samples = {0, 5}};
  file.timeline = &timeline;
  EXPECT_EQ(EncodeFlamebearer(file),
            R"({"version":1,"flamebearer":{"names":["total","main","a","z","leaf"],)"
            R"("levels":[[0,15,0,0],[0,15,1,1],[1,5,5,2,0,9,7,3],[13,2,2,4]],"numTicks":15,)"
            R"("maxSelf":7},"metadata":{"format":"single","spyName":"","sampleRate":1000000000,)"
            R"("units":"samples","name":"cpu"},"timeline":{"startTime":60,"samples":[0,5],)"
            R"("durationDelta":15,"watermarks":null},"groups":null,"heatmap":null})");
}

TEST(Flamebearer, ASavedGraphIsReadBack) {
  const FlameTree tree = MergedByName(Tree());
  Flamebearer file{.graph = ToFlameGraph(tree)};
  DescribeUnits("alloc_space", "bytes", file);
  const auto back = DecodeFlamebearer(EncodeFlamebearer(file));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->total, tree.total);
  EXPECT_EQ(back->self, tree.self);
  EXPECT_EQ(back->depth, tree.depth);
  EXPECT_EQ(back->Name(2), tree.Name(2));
  EXPECT_EQ(back->unit, "bytes");
}

TEST(Flamebearer, WhatIsNoGraphIsRefused) {
  for (const char* text :
       {"", "{}", R"({"flamebearer":{"names":["total"],"levels":[[0,1,0]]}})",
        R"({"flamebearer":{"names":["total"],"levels":[[0,1,0,1]]}})",
        R"({"flamebearer":{"names":["total","a"],"levels":[[0,1,0,0],[1,1,1,1]]}})",
        R"({"flamebearer":{"names":["total","a"],"levels":[[0,-1,0,0]]}})",
        R"({"flamebearer":{"names":["a"],"levels":[[9223372036854775807,2,0,0]]}})",
        R"({"flamebearer":{"names":["a"],"levels":[]},"metadata":{"format":"double"}})"}) {
    EXPECT_FALSE(DecodeFlamebearer(text)) << text;
  }
}

}  // namespace
}  // namespace wherefore::formats
