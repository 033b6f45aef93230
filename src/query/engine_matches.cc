// Engine: what is looked for, over time. Which stacks have it is found in their tries; the store
// then adds up samples of those stacks only.
#include <algorithm>

#include "query/engine.h"
#include "store/step_sums.h"

namespace wherefore::query {

Result<std::optional<store::SampleQuery>> Engine::Narrowed(const store::SampleQuery& query,
                                                           const LookedFor& wanted,
                                                           const CancelToken& cancel) {
  // An id in a statement: its digits, and what the engine makes of them.
  constexpr std::size_t kBytesPerId = 64;
  store::SampleQuery narrowed = query;
  bool any = false;
  for (store::SeriesSelection& s : narrowed.selections) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    WHEREFORE_ASSIGN_OR_RETURN(s.stacks, tries_.Matching(wanted, s.dictionary, cancel));
    any = any || s.stacks->all_below || !s.stacks->stacks.empty();
    WHEREFORE_RETURN_IF_ERROR(cancel.Charge(s.stacks->stacks.size() * kBytesPerId));
  }
  if (!any) return std::nullopt;
  return narrowed;
}

Result<std::vector<store::SeriesPoint>> Engine::MatchedPoints(const Resolved& r,
                                                              const store::Steps& cut,
                                                              const LookedFor& wanted,
                                                              const CancelToken& cancel) {
  const MemoryScope scope(cancel);  // ids and rows; what is left is a point per step
  WHEREFORE_ASSIGN_OR_RETURN(const auto narrowed, Narrowed(r.query, wanted, cancel));
  if (!narrowed) return std::vector<store::SeriesPoint>();
  if (r.needs_samples) return reader_.Timeline(*narrowed, cut, true, cancel);
  // Profile by profile, so that what all of it matches is rounded as the whole is.
  WHEREFORE_ASSIGN_OR_RETURN(auto profiles, reader_.SumProfiles(*narrowed, cancel));
  store::StepSums sums(cut, r.query.range.to_ns);
  for (store::ProfileSum& p : profiles) {
    const store::SeriesRow* series = ProfileLevel(r.series[p.dictionary], p.series);
    p.series = series != nullptr ? series->series : 0;
    sums.Add(p);
  }
  return sums.Take();
}

}  // namespace wherefore::query
