// Flame graphs as Grafana and Pyroscope exchange them: names, and levels of delta-coded boxes.
//
// A level lists its boxes from left to right. In a single graph a box is four numbers: offset,
// total, self, name; in a diff seven: offset, total, self of the left side, the same of the right
// side, name. An offset is the distance from the end of the previous box of the level. Box 0 is the
// root, called "total"; children lie inside their parent, after its self value. Functions of the
// same name are merged here, whatever module they are in. Pure functions; any thread.
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

// The tree with functions identified by name alone.
[[nodiscard]] profile::FlameTree MergedByName(const profile::FlameTree& tree);

// `tree` must be pruned already.
[[nodiscard]] FlameGraph ToFlameGraph(const profile::FlameTree& tree);

// Two trees with a common shape; `tree` has the values of the right side. Nodes are ranked by the
// sum of both sides; all but the `max_nodes` largest become an explicit "other" on both sides.
struct TwoSidedTree {
  const profile::FlameTree* tree = nullptr;
  std::span<const std::int64_t> left_total;
  std::span<const std::int64_t> left_self;
};
[[nodiscard]] FlameGraph ToFlameGraphDiff(const TwoSidedTree& trees, std::size_t max_nodes);

// Pyroscope's binary tree: per node the length of its name, the name, the self value and the number
// of children, numbers as varints. The root has no name, and a node's last child comes first.
[[nodiscard]] std::string EncodePyroscopeTree(const profile::FlameTree& tree);

// A call graph in Graphviz's language: a box per function, an arrow from caller to callee. Shows at
// most `max_nodes` functions, the largest; the graph's label says what was left out.
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
// Units and sample rate that such a file shows for a profile type.
void DescribeUnits(std::string_view sample_type, std::string_view sample_unit, Flamebearer& file);
// Converts a saved single graph back into a tree; kCorrupt, with a reason, if it is malformed.
[[nodiscard]] Result<profile::FlameTree> DecodeFlamebearer(std::string_view json);

}  // namespace wherefore::formats
