// Inverts a tree: the root's children are the functions that did the work, below each are its
// callers, down to where the stacks began. Every stack is kept whole, reversed, with its value at
// the last function, so the total does not change and inverting twice gives the original tree.
//
// The result may be far larger than the tree (one path down becomes one path per leaf). Not for
// pruned trees. Pure; any thread.
#pragma once

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"

namespace wherefore::profile {

// kLimit: needs more memory than the query may use. kCancelled: nobody waits any more.
[[nodiscard]] Result<FlameTree> Inverted(const FlameTree& tree, const CancelToken& cancel);

}  // namespace wherefore::profile
