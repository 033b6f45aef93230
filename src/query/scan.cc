#include "query/scan.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "query/snapshots.h"

namespace wherefore::query {
namespace {

Result<ValuesBySelection> Sum(QueryContext& context, const Resolved& r, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto sums, context.reader.SumStacks(r.query, cancel));
  ValuesBySelection by_selection(r.query.selections.size());
  for (const store::StackSum& s : sums) {
    const TypeUse& use = r.types.at(s.type);
    by_selection[s.dictionary].push_back(
        {.stack = s.stack, .value = use.Value(s.value), .count = use.Count(s.value, s.count)});
  }
  return by_selection;
}

}  // namespace

Result<ValuesBySelection> SumOrAverage(QueryContext& context, const Resolved& r,
                                       const CancelToken& cancel) {
  if (r.query.selections.empty()) return ValuesBySelection();
  ValuesBySelection values;
  {
    const MemoryScope scope(cancel);  // the sums they are made of
    WHEREFORE_ASSIGN_OR_RETURN(values,
                               r.snapshot ? Average(context, r, cancel) : Sum(context, r, cancel));
  }
  std::size_t bytes = 0;
  for (const auto& of_selection : values) bytes += of_selection.capacity() * sizeof(StackValue);
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(bytes));
  return values;
}

Result<Resolved> Resolve(QueryContext& context, const Selection& selection,
                         const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Resolved r, context.catalog.Resolve(selection, {}, cancel));
  if (!r.snapshot || r.query.selections.empty()) return r;
  return context.catalog.Resolve(selection, {.with_series = true}, cancel);
}

// Which stacks match is found in their tries; the store then adds up samples of those stacks only,
// one dictionary after the other: a condition that holds the ids of all of them would be evaluated
// whole for every row.
Result<> EachNarrowed(QueryContext& context, const store::SampleQuery& query,
                      const LensSearch& wanted,
                      const std::function<Result<>(std::uint32_t, const store::SampleQuery&)>& ask,
                      const CancelToken& cancel) {
  // An id in a statement: its digits, and what the engine makes of them.
  constexpr std::size_t kBytesPerId = 64;
  for (std::uint32_t i = 0; i < query.selections.size(); ++i) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    store::SampleQuery one{query.tenant, query.range, {query.selections[i]}};
    std::optional<store::StackSet>& stacks = one.selections[0].stacks;
    WHEREFORE_ASSIGN_OR_RETURN(
        stacks, context.tries.Matching(wanted, one.selections[0].dictionary, cancel));
    if (!stacks->all_below && stacks->stacks.empty()) continue;
    MemoryClaim ids(cancel);
    WHEREFORE_RETURN_IF_ERROR(ids.Resize(stacks->stacks.size() * kBytesPerId));
    WHEREFORE_RETURN_IF_ERROR(ask(i, one));
  }
  return {};
}

Result<> EachMatching(QueryContext& context, const Resolved& r, const LensSearch& wanted,
                      const std::function<Result<>(const store::ProfileSum&)>& visit,
                      const CancelToken& cancel) {
  const auto ask = [&](std::uint32_t at, const store::SampleQuery& one) -> Result<> {
    const MemoryScope scope(cancel);  // rows go, what they are added to stays
    WHEREFORE_ASSIGN_OR_RETURN(auto profiles,
                               context.reader.SumProfiles(one, r.needs_samples, cancel));
    for (store::ProfileSum& p : profiles) {
      p.dictionary = at;
      if (!r.needs_samples) {
        const store::SeriesRow* series = ProfileLevel(r.series[at], p.series);
        p.series = series != nullptr ? series->series : 0;
      }
      WHEREFORE_RETURN_IF_ERROR(visit(p));
    }
    return {};
  };
  return EachNarrowed(context, r.query, wanted, ask, cancel);
}

}  // namespace wherefore::query
