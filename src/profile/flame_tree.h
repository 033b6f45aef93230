// FlameTree: the answer to "where did it go?", as columns in preorder.
//
// A function is identified by its demangled name and its module (file name of the mapping), not by
// line, address or build id, or every deploy would look new. Node 0 is the root and stands for
// everything selected. total(node) = self(node) + the sum of its children's totals, exactly. What
// was cut away is an explicit child called "other" with its exact value.
//
// Immutable once built (TreeBuilder); any thread may read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/arithmetic.h"
#include "profile/child_index.h"

namespace wherefore::profile {

enum class FrameKind : std::uint8_t {
  kUser = 0,
  kKernel = 1,
  kInlined = 2,
  kNative = 3,
  kJit = 4,
  kOther = 5
};

struct FlameFunction {
  std::string name;    // demangled
  std::string module;  // file name of the mapping, without its folder
  std::string file;    // source file
  std::int64_t start_line = 0;
  FrameKind kind = FrameKind::kUser;
};

struct FlameTree {
  // What was asked for; repeated in every answer.
  std::string type;        // short name or five-part id that was asked for
  std::string unit;        // nanoseconds, bytes, count
  std::int64_t scale = 1;  // values are in 1/scale units; 1000 for averages of snapshots
  // Callers below callees (lens "invert"): the root's children are the functions that did the work,
  // below each are its callers. A function's self value is then its total at depth 1.
  bool inverted = false;
  std::vector<FlameFunction> functions;  // [0] = root

  // One entry per node, in preorder; children of a node are ordered by name, "other" last.
  std::vector<std::uint32_t> function;
  std::vector<std::uint32_t> depth;  // root 0
  std::vector<std::int64_t> self;
  std::vector<std::int64_t> total;
  std::vector<std::int64_t> self_count;  // observations (n)
  std::vector<std::int64_t> total_count;

  // For nodes called "other": how many nodes and stacks they replace. One entry per node, 0 for all
  // others.
  std::vector<std::uint32_t> hidden_nodes;

  static constexpr std::size_t kNodeBytes =
      3 * sizeof(std::uint32_t) + 4 * sizeof(std::int64_t);  // of all columns

  [[nodiscard]] std::size_t size() const { return function.size(); }
  // Approximate memory held. Names are few compared with nodes.
  [[nodiscard]] std::size_t bytes() const {
    return size() * kNodeBytes + functions.size() * (sizeof(FlameFunction) + 64);
  }
  [[nodiscard]] std::string_view Name(std::size_t node) const {
    return functions[function[node]].name;
  }
};

// A tree without nodes that has type, unit, scale, direction and functions of this one.
[[nodiscard]] FlameTree WithoutNodes(const FlameTree& tree);

// Computes total and total_count from the self columns, saturating (base/arithmetic.h).
void AddUpTotals(FlameTree& tree);

// Builds a tree from stacks. Add functions once, then stacks root first.
//
// Not thread-safe. Node 0 and function 0 are the root.
class TreeBuilder {
 public:
  TreeBuilder();

  // The same name and module give the same id; file, line and kind are those of the first call.
  std::uint32_t AddFunction(const FlameFunction& function);
  // The child of `parent` for `function`, created if needed. Node 0 is the root.
  std::uint32_t Child(std::uint32_t parent, std::uint32_t function);
  // The same when the caller knows that there is no such child yet, as for most nodes of a trie. It
  // is indexed only when another child of that parent is looked up.
  std::uint32_t NewChild(std::uint32_t parent, std::uint32_t function);
  void AddValue(std::uint32_t node, std::int64_t value, std::int64_t count) {
    nodes_[node].self = SaturatingAdd(nodes_[node].self, value);
    nodes_[node].count = SaturatingAdd(nodes_[node].count, count);
  }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  // Approximate memory held, and what Build() needs in addition.
  [[nodiscard]] std::size_t bytes() const {
    return nodes_.capacity() * sizeof(Node) + children_.bytes() +
           functions_.capacity() * sizeof(FlameFunction) + text_bytes_;
  }
  [[nodiscard]] std::size_t BuildBytes() const {
    return nodes_.size() * (FlameTree::kNodeBytes + 4 * sizeof(std::uint32_t)) +
           functions_.size() * sizeof(FlameFunction);
  }
  [[nodiscard]] const FlameFunction& function(std::uint32_t id) const { return functions_[id]; }

  // Sorts children and computes totals. The builder is empty afterwards.
  [[nodiscard]] FlameTree Build();

 private:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t function = 0;
    // Children not indexed yet, as a list: the newest, and for each the one before it; 0: none.
    std::uint32_t newest = 0;
    std::uint32_t older = 0;
    std::int64_t self = 0;
    std::int64_t count = 0;
  };
  void IndexChildren(std::uint32_t parent);

  std::vector<FlameFunction> functions_;
  std::unordered_map<std::string, std::uint32_t> function_ids_;
  std::size_t text_bytes_ = 0;
  std::vector<Node> nodes_;
  ChildIndex children_;
};

// The same tree in 1/scale units; `scale` must be a multiple of the tree's own.
[[nodiscard]] FlameTree Rescaled(const FlameTree& tree, std::int64_t scale);

// The same tree in whole units (scale 1), each node's self value rounded: for formats without a
// scale.
[[nodiscard]] FlameTree Unscaled(const FlameTree& tree);

// Size of all stacks with a self value written as "root;...;leaf 12": what a list of stacks needs,
// which may be far more than the tree.
[[nodiscard]] std::size_t WrittenOutBytes(const FlameTree& tree);

struct PruneOptions {
  // Nodes below this share of the root's total become part of "other". 0 keeps everything.
  double min_share = 0;
  // Keeps this many of the largest nodes; the rest becomes "other". 0: no limit.
  std::size_t max_nodes = 0;
  // One entry per function; nonzero: wanted by a search. Their nodes and ancestors are kept however
  // small, the largest first, up to half of max_nodes, so that the rest stays recognisable.
  std::span<const char> wanted;
};
// Which nodes to keep, one entry per node; empty: all. Nodes are compared by `sizes`; among equals
// the first in preorder is kept, so a chain keeps its upper end.
[[nodiscard]] std::vector<char> ChooseNodes(const FlameTree& tree,
                                            const std::vector<std::int64_t>& sizes,
                                            const PruneOptions& options);

// Removes functions that no node uses: after pruning they would be most of an answer.
void DropUnusedFunctions(FlameTree& tree);

// Replaces small nodes by explicit "other" children with exact values; totals do not change.
[[nodiscard]] FlameTree Prune(const FlameTree& tree, const PruneOptions& options);

struct TopRow {
  std::uint32_t function = 0;  // into tree.functions
  std::int64_t self = 0;
  std::int64_t total = 0;  // counted once per stack, however often the function recurs in it
  std::int64_t self_count = 0;
  std::int64_t total_count = 0;
};
// Functions by self value, largest first. A tree and its inversion give the same result. Not for
// pruned trees.
[[nodiscard]] std::vector<TopRow> Top(const FlameTree& tree);
// Into that order; among equals by total, then by name.
void SortTop(std::span<const FlameFunction> functions, std::vector<TopRow>& rows);

}  // namespace wherefore::profile
