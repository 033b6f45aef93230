// One function over all its call sites: who calls it, and what it calls.
//
// A stack counts once, at the outermost occurrence of the function, so the root's total equals the
// function's total in Top(), with or without recursion. Not for pruned trees. Pure functions, any
// thread.
#pragma once

#include <optional>
#include <string>

#include "profile/flame_tree.h"

namespace wherefore::profile {

// A name and a module; without a module, every function of that name.
struct WantedFunction {
  std::string name;
  std::optional<std::string> module = std::nullopt;
};

// Root, then the function, then its callees. Only a root if the function is not in the tree.
[[nodiscard]] FlameTree Callees(const FlameTree& tree, const WantedFunction& function);
// Root, then the function, then its callers, their callers, and so on. A stack's value is at its
// outermost function.
[[nodiscard]] FlameTree Callers(const FlameTree& tree, const WantedFunction& function);

}  // namespace wherefore::profile
