#include "query/diff.h"

#include <algorithm>
#include <numeric>

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

// The larger side of every node, in magnitude.
std::vector<std::int64_t> LargerSide(const DiffTree& diff) {
  std::vector<std::int64_t> out(diff.tree.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto magnitude = [](std::int64_t v) { return v < 0 ? -(v + 1) : v; };
    out[i] = std::max(magnitude(diff.tree.total[i]), magnitude(diff.before[i]));
  }
  return out;
}

// What a kept node's folded children add up to.
struct Folded {
  std::int64_t after = 0;
  std::int64_t before = 0;
  std::int64_t count = 0;
  std::int64_t before_count = 0;
  std::uint32_t nodes = 0;
};

void AppendDiffNode(DiffTree& out, std::uint32_t function, std::uint32_t depth,
                    const Folded& values) {
  out.tree.function.push_back(function);
  out.tree.depth.push_back(depth);
  out.tree.self.push_back(values.after);
  out.tree.self_count.push_back(values.count);
  out.tree.hidden_nodes.push_back(values.nodes);
  out.before_self.push_back(values.before);
  out.before_count.push_back(values.before_count);
}

}  // namespace

DiffTree PruneDiff(const DiffTree& diff, const profile::PruneOptions& options) {
  const FlameTree& tree = diff.tree;
  const std::vector<char> keep = profile::ChooseNodes(tree, LargerSide(diff), options);
  if (keep.empty()) return diff;

  DiffTree out;
  out.tree.type = tree.type;
  out.tree.unit = tree.unit;
  out.tree.scale = tree.scale;
  out.tree.inverted = tree.inverted;
  out.tree.functions = tree.functions;
  const auto other = static_cast<std::uint32_t>(out.tree.functions.size());
  out.tree.functions.push_back({.name = "other", .kind = profile::FrameKind::kOther});
  std::vector<Folded> path;  // by depth of the kept ancestor
  const auto close_to = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back()) {
      if (path.back().nodes == 0) continue;
      AppendDiffNode(out, other, static_cast<std::uint32_t>(path.size()), path.back());
    }
  };
  for (std::size_t i = 0; i < tree.size();) {
    close_to(tree.depth[i]);
    if (keep[i] != 0) {
      AppendDiffNode(out, tree.function[i], tree.depth[i],
                     {.after = tree.self[i],
                      .before = diff.before_self[i],
                      .count = tree.self_count[i],
                      .before_count = diff.before_count[i],
                      .nodes = tree.hidden_nodes[i]});
      path.emplace_back();
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    while (end < tree.size() && tree.depth[end] > tree.depth[i]) ++end;
    Folded& folded = path.back();
    folded.after = SaturatingAdd(folded.after, tree.total[i]);
    folded.before = SaturatingAdd(folded.before, diff.before[i]);
    folded.count = SaturatingAdd(folded.count, tree.total_count[i]);
    for (std::size_t k = i; k < end; ++k) {
      folded.before_count = SaturatingAdd(folded.before_count, diff.before_count[k]);
    }
    folded.nodes += static_cast<std::uint32_t>(end - i);
    i = end;
  }
  close_to(0);
  FlameTree left = out.tree;
  left.self = out.before_self;
  profile::AddUpTotals(left);
  out.before = std::move(left.total);
  profile::AddUpTotals(out.tree);
  profile::DropUnusedFunctions(out.tree);
  return out;
}

DiffTree Diff(const FlameTree& before, const FlameTree& after) {
  // An average has thousandths, a file's snapshot whole units.
  const std::int64_t scale = std::lcm(before.scale, after.scale);
  if (before.scale != scale) return Diff(profile::Rescaled(before, scale), after);
  if (after.scale != scale) return Diff(before, profile::Rescaled(after, scale));
  // The same shape twice, once with each side's values; children are ordered by name, so nodes line
  // up.
  DiffTree diff{.tree = UnionWithValuesOf(before, after, true)};
  FlameTree left = UnionWithValuesOf(before, after, false);
  diff.before = std::move(left.total);
  diff.before_self = std::move(left.self);
  diff.before_count = std::move(left.self_count);
  diff.tree.type = after.type.empty() ? before.type : after.type;
  diff.tree.unit = after.unit.empty() ? before.unit : after.unit;
  diff.tree.scale = scale;
  diff.tree.inverted = before.inverted || after.inverted;
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
  SortDiffTop(rows);
  return rows;
}

void SortDiffTop(std::vector<DiffRow>& rows) {
  const auto apart = [](std::int64_t a, std::int64_t b) {  // any two of 64 bits
    return a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
                 : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
  };
  std::ranges::stable_sort(rows, std::greater(), [&](const DiffRow& r) {
    return std::pair(apart(r.self_before, r.self_after), apart(r.total_before, r.total_after));
  });
}

}  // namespace wherefore::query
