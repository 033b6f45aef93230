// From a selection to sums per stack: what flame graphs, tables, lists and overviews start with.
// Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"

namespace wherefore::query {

// By selection of a resolved query.
using ValuesBySelection = std::vector<std::vector<StackValue>>;

// Like Catalog::Resolve, with the series that averages of snapshots need.
Result<Resolved> Resolve(QueryContext& context, const Selection& selection,
                         const CancelToken& cancel);

// Values per stack: added up, or averaged in thousandths for snapshots.
Result<ValuesBySelection> SumOrAverage(QueryContext& context, const Resolved& resolved,
                                       const CancelToken& cancel);

// Calls `ask` once per selection of `query`, narrowed to the stacks that match; not where none
// does. In what `ask` gets, that selection is number 0; its first argument is the number in
// `query`.
Result<> EachNarrowed(QueryContext& context, const store::SampleQuery& query,
                      const LensSearch& wanted,
                      const std::function<Result<>(std::uint32_t, const store::SampleQuery&)>& ask,
                      const CancelToken& cancel);

// What matches in each profile, one by one; where labels of samples are asked for, in each label
// set of its samples.
Result<> EachMatching(QueryContext& context, const Resolved& resolved, const LensSearch& wanted,
                      const std::function<Result<>(const store::ProfileSum&)>& visit,
                      const CancelToken& cancel);

}  // namespace wherefore::query
