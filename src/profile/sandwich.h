// One function seen from all its call sites together: who calls it, and what it calls.
//
// A stack counts once, at the outermost occurrence of the function in it, so that the root's total
// is the function's total in Top(), recursion or not. Not to be used on a pruned tree. Pure
// functions, any thread.
#pragma once

#include <optional>
#include <string>

#include "profile/flame_tree.h"

namespace wherefore::profile {

// A function is its name and its module; without a module every function of that name is meant.
struct WantedFunction {
  std::string name;
  std::optional<std::string> module = std::nullopt;
};

// Root, then the function, then what it calls. Only a root when the function is not in the tree.
[[nodiscard]] FlameTree Callees(const FlameTree& tree, const WantedFunction& function);
// Root, then the function, then its callers, their callers, ... A stack's value is at its first
// function.
[[nodiscard]] FlameTree Callers(const FlameTree& tree, const WantedFunction& function);

}  // namespace wherefore::profile
