// A tree on its head: below the root the functions that did the work, below each of them its
// callers, out to where the stacks begin. Every stack is in it whole, turned around, with its value
// at its last function, so that the total does not change and twice inverted is the tree itself.
//
// It may be far larger than the tree (what was one path down becomes one per leaf). Not to be used
// on a pruned tree. Pure; any thread.
#pragma once

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"

namespace wherefore::profile {

// kLimit, kCancelled: it needs more memory than the question may have, or nobody waits any more.
[[nodiscard]] Result<FlameTree> Inverted(const FlameTree& tree, const CancelToken& cancel);

}  // namespace wherefore::profile
