// Flame graphs as Grafana and Pyroscope exchange them: names and levels of delta-coded boxes.
//
// A level lists its boxes from left to right. Of a single graph a box is four numbers: offset,
// total, self, name; of a difference seven: offset, total, self of the left side, the same of the
// right side, name. An offset is the distance to the end of the box before it in the level. Box 0
// is the root, called "total"; children lie inside their parent, behind its self value. Functions
// of the same name are one here, whatever module they are in. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/flame_tree.h"

namespace wherefore::formats {

struct FlameGraph {
  std::vector<std::string> names;
  std::vector<std::vector<std::int64_t>> levels;
  std::int64_t total = 0;
  std::int64_t max_self = 0;
  bool is_diff = false;
  std::int64_t left_ticks = 0;
  std::int64_t right_ticks = 0;
};

// The tree with functions told apart by name alone.
[[nodiscard]] profile::FlameTree MergedByName(const profile::FlameTree& tree);

// `tree` is pruned already.
[[nodiscard]] FlameGraph ToFlameGraph(const profile::FlameTree& tree);

// Two trees laid over each other: `tree` has the values of the right side. What has a smaller sum
// of both sides than the `max_nodes` largest becomes part of an explicit "other" on both sides.
struct TwoSidedTree {
  const profile::FlameTree* tree = nullptr;
  std::span<const std::int64_t> left_total;
  std::span<const std::int64_t> left_self;
};
[[nodiscard]] FlameGraph ToFlameGraphDiff(const TwoSidedTree& trees, std::size_t max_nodes);

// Pyroscope's binary tree: per node the length of the name, the name, the self value and the number
// of children, numbers as varints; the root has no name, and a node's last child comes first.
[[nodiscard]] std::string EncodePyroscopeTree(const profile::FlameTree& tree);

// A call graph in Graphviz's language: a box per function, an arrow per caller and callee. At most
// `max_nodes` functions, the largest; the label of the graph says what was left out.
[[nodiscard]] std::string EncodeDot(const profile::FlameTree& tree, std::string_view title,
                                    std::size_t max_nodes);

// The JSON file around a flame graph ("flamebearer"), as /render answers and as people save it.
struct Timeline {
  std::int64_t start_seconds = 0;
  std::int64_t step_seconds = 0;
  std::vector<std::int64_t> samples;
};
struct Flamebearer {
  FlameGraph graph;
  std::string units;
  std::int64_t sample_rate = 100;
  std::string name;
  const Timeline* timeline = nullptr;
  std::vector<std::pair<std::string, Timeline>> groups;
};
[[nodiscard]] std::string EncodeFlamebearer(const Flamebearer& file);
// What such a file shows for a profile type: units and sample rate.
void DescribeUnits(std::string_view sample_type, std::string_view sample_unit, Flamebearer& file);
// A saved single graph back into a tree; kCorrupt with a sentence when it is none.
[[nodiscard]] Result<profile::FlameTree> DecodeFlamebearer(std::string_view json);

}  // namespace wherefore::formats
