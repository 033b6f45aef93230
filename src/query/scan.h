// From a selection to sums per stack: what flame graphs, tables, lists and overviews start with.
// Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "query/tiers.h"

namespace wherefore::query {

// By selection of a resolved query.
using ValuesBySelection = std::vector<std::vector<StackValue>>;

// Like Catalog::Resolve, with the series that averages of snapshots need.
Result<Resolved> Resolve(QueryContext& context, const Selection& selection,
                         const CancelToken& cancel);

// Values per stack: added up, or averaged in thousandths for snapshots. `tier`: what they are made
// of.
Result<ValuesBySelection> SumOrAverage(QueryContext& context, const Resolved& resolved,
                                       const CancelToken& cancel, Tier* tier = nullptr);

// Calls `ask` with the selections of `query` narrowed to the stacks that match, each once and
// several at a time; those where none matches are left out. Its first argument is their numbers in
// `query`.
using AskNarrowed =
    std::function<Result<>(std::span<const std::uint32_t>, const store::SampleQuery&)>;
Result<> EachNarrowed(QueryContext& context, const store::SampleQuery& query,
                      const LensSearch& wanted, const AskNarrowed& ask, const CancelToken& cancel);

// What matches in each profile, one by one; where labels of samples are asked for, in each label
// set of its samples.
Result<> EachMatching(QueryContext& context, const Resolved& resolved, const LensSearch& wanted,
                      const std::function<Result<>(const store::ProfileSum&)>& visit,
                      const CancelToken& cancel);

}  // namespace wherefore::query
