// View: from a whole tree to what is shown, in one order: lens, then one side of a function, then
// what lies below a root, then the search, then pruning.
//
// Each step may be absent. The search counts in the unpruned tree, and pruning keeps what it found.
// Pure, any thread; ends early when its cancel token fires.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "profile/sandwich.h"
#include "query/diff.h"
#include "query/lens.h"
#include "query/search.h"

namespace wherefore::query {

// One function from all its call sites together.
struct FunctionSide {
  profile::WantedFunction function;
  bool callers = false;  // else what it calls
};

struct ViewOptions {
  Lens lens;
  std::optional<FunctionSide> side;
  std::optional<std::uint64_t> root;  // address of a frame (profile/tree_path.h)
  Search search;
  profile::PruneOptions prune;  // `wanted` is the search's own business
};

struct View {
  profile::FlameTree tree;
  std::size_t full_nodes = 0;  // before pruning
  std::optional<Found> found;  // of a search
  std::string hint;            // why there is nothing, as far as a step of the view is the reason
};
// kNotFound: no frame has the address of the root.
Result<View> ShowTree(profile::FlameTree whole, const ViewOptions& options,
                      const CancelToken& cancel);

struct DiffView {
  DiffTree whole;  // unpruned; not where it was not built (ShowDifference)
  DiffTree shown;
  std::size_t full_nodes = 0;  // before pruning
  Changes changes;
  std::optional<Found> found;
};
// Lens, search and pruning of a difference; `side` and `root` are not for it.
Result<DiffView> ShowDiff(const profile::FlameTree& before, const profile::FlameTree& after,
                          const ViewOptions& options, const CancelToken& cancel);

// The tree itself where there is no lens.
Result<profile::FlameTree> ApplyLens(profile::FlameTree tree, const Lens& lens,
                                     const CancelToken& cancel);

}  // namespace wherefore::query
