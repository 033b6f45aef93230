#include "query/call_site.h"

#include <algorithm>

namespace wherefore::query {

profile::FlameTree UnderCallSite(const profile::FlameTree& tree,
                                 const std::vector<std::string>& names) {
  if (names.empty()) return tree;
  profile::TreeBuilder builder;
  std::vector<std::size_t> path;     // nodes of `tree`
  std::vector<std::uint32_t> built;  // the same in `builder`, as far as it is there
  std::size_t matching = 0;          // how many functions of the path match
  for (std::size_t i = 1; i < tree.size(); ++i) {
    const std::size_t above = tree.depth[i] - 1;
    path.resize(above);
    if (built.size() > above) built.resize(above);
    matching = std::min(matching, above);
    path.push_back(i);
    if (matching == above && above < names.size() && tree.Name(i) == names[above]) ++matching;
    if (matching < names.size()) continue;
    while (built.size() < path.size()) {
      const std::uint32_t parent = built.empty() ? 0 : built.back();
      const profile::FlameFunction& f = tree.functions[tree.function[path[built.size()]]];
      built.push_back(builder.Child(parent, builder.AddFunction(f)));
    }
    builder.AddValue(built.back(), tree.self[i], tree.self_count[i]);
  }
  profile::FlameTree out = builder.Build();
  out.type = tree.type;
  out.unit = tree.unit;
  out.scale = tree.scale;
  out.inverted = tree.inverted;
  return out;
}

}  // namespace wherefore::query
