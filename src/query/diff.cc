// The difference of two flame graphs: both are laid over each other by function path.
#include <algorithm>

#include "query/engine.h"

namespace wherefore::query {
namespace {

using profile::FlameTree;
using profile::TreeBuilder;

// Adds the shape of `tree` to `builder`; its values too unless `shape_only`.
void AddTree(TreeBuilder& builder, const FlameTree& tree, bool shape_only) {
  std::vector<std::uint32_t> path;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    path.resize(tree.depth[i]);
    const std::uint32_t node =
        i == 0 ? 0
               : builder.Child(path.back(), builder.AddFunction(tree.functions[tree.function[i]]));
    if (!shape_only) builder.AddValue(node, tree.self[i], tree.self_count[i]);
    path.push_back(node);
  }
}

FlameTree UnionWithValuesOf(const FlameTree& before, const FlameTree& after, bool values_of_after) {
  TreeBuilder builder;
  AddTree(builder, before, values_of_after);
  AddTree(builder, after, !values_of_after);
  return builder.Build();
}

}  // namespace

DiffTree Diff(const FlameTree& before, const FlameTree& after) {
  // The same shape twice, once with each side's values; children are ordered by name, so nodes line
  // up.
  DiffTree diff{.tree = UnionWithValuesOf(before, after, true)};
  FlameTree left = UnionWithValuesOf(before, after, false);
  diff.before = std::move(left.total);
  diff.before_self = std::move(left.self);
  diff.tree.type = after.type.empty() ? before.type : after.type;
  diff.tree.unit = after.unit.empty() ? before.unit : after.unit;
  diff.tree.scale = std::max(before.scale, after.scale);
  return diff;
}

std::vector<DiffRow> DiffTop(const DiffTree& diff) {
  FlameTree left = diff.tree;
  left.self = diff.before_self;
  left.total = diff.before;
  std::vector<DiffRow> rows(diff.tree.functions.size());
  for (const profile::TopRow& r : profile::Top(left)) {
    rows[r.function].self_before = r.self;
    rows[r.function].total_before = r.total;
  }
  for (const profile::TopRow& r : profile::Top(diff.tree)) {
    rows[r.function].self_after = r.self;
    rows[r.function].total_after = r.total;
  }
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i].function = i;
  if (!rows.empty()) rows.erase(rows.begin());  // the root
  const auto change = [](const DiffRow& r) { return std::abs(r.self_after - r.self_before); };
  std::stable_sort(rows.begin(), rows.end(), [&](const DiffRow& a, const DiffRow& b) {
    if (change(a) != change(b)) return change(a) > change(b);
    return std::abs(a.total_after - a.total_before) > std::abs(b.total_after - b.total_before);
  });
  return rows;
}

}  // namespace wherefore::query
