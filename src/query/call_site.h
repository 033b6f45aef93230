// Call sites: the part of a flame graph below one path of functions. Pure; any thread.
#pragma once

#include <string>
#include <vector>

#include "profile/flame_tree.h"

namespace wherefore::query {

// Only the stacks that begin with these functions, root first, by name; the path itself stays, with
// no value of its own above its last function. No names: the whole tree.
[[nodiscard]] profile::FlameTree UnderCallSite(const profile::FlameTree& tree,
                                               const std::vector<std::string>& names);

}  // namespace wherefore::query
