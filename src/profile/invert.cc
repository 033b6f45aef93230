#include "profile/invert.h"

#include <vector>

namespace wherefore::profile {

Result<FlameTree> Inverted(const FlameTree& tree, const CancelToken& cancel) {
  constexpr std::size_t kBetweenChecks = 65'536;  // nodes
  TreeBuilder builder;
  MemoryClaim claim(cancel);
  std::vector<std::uint32_t> ids(tree.functions.size());
  for (std::size_t f = 1; f < ids.size(); ++f) ids[f] = builder.AddFunction(tree.functions[f]);
  std::vector<std::uint32_t> path;  // functions, root first
  std::size_t steps = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    path.resize(i == 0 ? 0 : tree.depth[i] - 1);
    if (i > 0) path.push_back(ids[tree.function[i]]);
    if (tree.self[i] == 0 && tree.self_count[i] == 0) continue;
    std::uint32_t node = 0;
    for (std::size_t at = path.size(); at-- > 0;) {
      node = builder.Child(node, path[at]);
      if (++steps % kBetweenChecks != 0) continue;
      WHEREFORE_RETURN_IF_ERROR(cancel.Check());
      WHEREFORE_RETURN_IF_ERROR(claim.Resize(builder.bytes()));
    }
    builder.AddValue(node, tree.self[i], tree.self_count[i]);
  }
  WHEREFORE_RETURN_IF_ERROR(claim.Resize(builder.bytes()));
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(builder.BuildBytes()));
  FlameTree out = builder.Build();
  out.type = tree.type;
  out.unit = tree.unit;
  out.scale = tree.scale;
  out.inverted = !tree.inverted;
  return out;
}

}  // namespace wherefore::profile
