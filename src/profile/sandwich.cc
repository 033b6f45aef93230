#include "profile/sandwich.h"

#include <vector>

namespace wherefore::profile {
namespace {

// Calls `visit(first, end, path)` for the subtree [first, end) of every outermost node of the
// function. `path` holds the nodes from the root's child down to `first`.
template <typename Visit>
void EachOutermost(const FlameTree& tree, const WantedFunction& function, const Visit& visit) {
  std::vector<char> wanted(tree.functions.size(), 0);
  for (std::size_t f = 0; f < tree.functions.size(); ++f) {
    const FlameFunction& candidate = tree.functions[f];
    wanted[f] = candidate.kind != FrameKind::kOther && candidate.name == function.name &&
                (!function.module || candidate.module == *function.module);
  }
  std::vector<std::uint32_t> path;
  for (std::uint32_t i = 1; i < tree.size();) {
    path.resize(tree.depth[i] - 1);
    path.push_back(i);
    if (!wanted[tree.function[i]]) {
      ++i;
      continue;
    }
    std::uint32_t end = i + 1;
    while (end < tree.size() && tree.depth[end] > tree.depth[i]) ++end;
    visit(i, end, path);
    i = end;
  }
}

FlameTree Finish(TreeBuilder& builder, const FlameTree& from) {
  FlameTree out = builder.Build();
  out.type = from.type;
  out.unit = from.unit;
  out.scale = from.scale;
  return out;
}

}  // namespace

FlameTree Callees(const FlameTree& tree, const WantedFunction& function) {
  TreeBuilder builder;
  EachOutermost(tree, function, [&](std::uint32_t first, std::uint32_t end, const auto&) {
    std::vector<std::uint32_t> above = {0};
    for (std::uint32_t i = first; i < end; ++i) {
      above.resize(tree.depth[i] - tree.depth[first] + 1);
      const std::uint32_t own = builder.AddFunction(tree.functions[tree.function[i]]);
      above.push_back(builder.Child(above.back(), own));
      builder.AddValue(above.back(), tree.self[i], tree.self_count[i]);
    }
  });
  return Finish(builder, tree);
}

FlameTree Callers(const FlameTree& tree, const WantedFunction& function) {
  TreeBuilder builder;
  EachOutermost(tree, function, [&](std::uint32_t first, std::uint32_t, const auto& path) {
    std::uint32_t node = 0;
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      node = builder.Child(node, builder.AddFunction(tree.functions[tree.function[*it]]));
    }
    builder.AddValue(node, tree.total[first], tree.total_count[first]);
  });
  return Finish(builder, tree);
}

}  // namespace wherefore::profile
