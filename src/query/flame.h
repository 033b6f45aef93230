// The flame graph of a selection: whole, or only as far as it is shown. Exact either way. Any
// thread.
#pragma once

#include <string>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/context.h"
#include "query/tiers.h"
#include "query/trie_sums.h"
#include "query/view.h"

namespace wherefore::query {

struct FlameAnswer {
  profile::FlameTree tree;
  bool averaged = false;  // snapshots: the average over the range, values in 1/tree.scale
  std::string hint;       // set when nothing was found
  Tier tier;
};

// Every path. A selector that names a span, trace or profile narrows it to those samples.
Result<FlameAnswer> Flame(QueryContext& context, const Selection& selection,
                          const CancelToken& cancel);

struct ShownFlame {
  View view;
  bool averaged = false;
  std::string hint;  // why there is nothing
  Tier tier;
};
// What ShowTree() makes of that tree, without building it where the view asks for no more than the
// largest paths.
Result<ShownFlame> ShowFlame(QueryContext& context, const Selection& selection,
                             const ViewOptions& options, const CancelToken& cancel);

struct FlameByNameOptions {
  Narrowing narrowing;  // beside the selector's own
  // The largest this many nodes and what they leave out; 0: all of them.
  std::size_t max_nodes = 0;
};
// Functions are told apart by name alone, as Pyroscope's clients do. Links have no time of their
// own, so traces and spans are not narrowed by the range.
Result<profile::FlameTree> FlameByName(QueryContext& context, const Selection& selection,
                                       const FlameByNameOptions& options,
                                       const CancelToken& cancel);

// The difference of two selections, without building whole trees where it asks for no more than
// the largest paths. `whole`: both trees are wanted, unpruned.
struct ShownDifference {
  DiffView view;
  bool averaged = false;
  std::string hint;  // why there is nothing on a side
  Tier tier;
};
Result<ShownDifference> ShowDifference(QueryContext& context, const Selection& before,
                                       const Selection& after, const ViewOptions& options,
                                       bool whole, const CancelToken& cancel);

// What the samples of a selection add up to, on their tries.
struct SummedSelection {
  Resolved resolved;
  TrieSums sums;
  Tier tier;
};
Result<SummedSelection> SumSelection(QueryContext& context, const Selection& selection,
                                     const Narrowing& narrowing, const CancelToken& cancel);
// Why nothing was found; empty where something was.
[[nodiscard]] std::string HintFor(QueryContext& context, const Selection& selection, bool found,
                                  const CancelToken& cancel);

}  // namespace wherefore::query
