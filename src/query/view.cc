#include "query/view.h"

#include <algorithm>

#include <fmt/format.h>

#include "profile/tree_path.h"

namespace wherefore::query {
namespace {

using profile::FlameTree;

FlameTree OneSide(const FlameTree& tree, const FunctionSide& side, std::string& hint) {
  // Of an inverted tree callers lie below.
  FlameTree out = side.callers != tree.inverted ? profile::Callers(tree, side.function)
                                                : profile::Callees(tree, side.function);
  if (out.size() == 1) {
    const std::string module = side.function.module.value_or("");
    hint = fmt::format("no function is called '{}' in {}", side.function.name,
                       module.empty() ? "this selection" : module);
  }
  return out;
}

Result<FlameTree> Below(const FlameTree& tree, std::uint64_t root) {
  const auto hashes = profile::PathHashes(tree);
  const auto found = std::ranges::find(hashes, root);
  if (found == hashes.end()) return Error(Code::kNotFound, "no such frame in this selection");
  return profile::Subtree(tree, static_cast<std::size_t>(found - hashes.begin()));
}

}  // namespace

Result<FlameTree> ApplyLens(FlameTree tree, const Lens& lens, const CancelToken& cancel) {
  if (lens.empty()) return tree;
  return lens.Apply(tree, cancel);
}

Result<View> ShowTree(FlameTree tree, const ViewOptions& options, const CancelToken& cancel) {
  View view;
  WHEREFORE_ASSIGN_OR_RETURN(tree, ApplyLens(std::move(tree), options.lens, cancel));
  if (options.side) tree = OneSide(tree, *options.side, view.hint);
  if (options.root) {
    WHEREFORE_ASSIGN_OR_RETURN(tree, Below(tree, *options.root));
  }
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  profile::PruneOptions prune = options.prune;
  if (!options.search.empty()) {
    view.found = options.search.In(tree);
    prune.wanted = view.found->functions;
  }
  view.full_nodes = tree.size();
  view.tree = profile::Prune(tree, prune);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  return view;
}

Result<DiffView> ShowDiff(const FlameTree& before, const FlameTree& after,
                          const ViewOptions& options, const CancelToken& cancel) {
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(before.bytes() + after.bytes()));
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  DiffView view;
  if (options.lens.empty()) {
    view.whole = Diff(before, after);
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(const FlameTree left, options.lens.Apply(before, cancel));
    WHEREFORE_ASSIGN_OR_RETURN(const FlameTree right, options.lens.Apply(after, cancel));
    view.whole = Diff(left, right);
  }
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  profile::PruneOptions prune = options.prune;
  if (!options.search.empty()) {
    view.found = options.search.In(view.whole.tree, view.whole.before);
    prune.wanted = view.found->functions;
  }
  view.shown = PruneDiff(view.whole, prune);
  view.full_nodes = view.whole.tree.size();
  view.changes = {.functions = view.whole.tree.functions, .rows = DiffTop(view.whole)};
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  return view;
}

}  // namespace wherefore::query
