// Engine: what is looked for, over time. Which stacks have it is found in their tries; the store
// then adds up samples of those stacks only, one dictionary after the other: a condition that holds
// the ids of all of them would be evaluated whole for every row.
#include "query/engine.h"
#include "store/step_sums.h"

namespace wherefore::query {

Result<> Engine::EachNarrowed(
    const store::SampleQuery& query, const LookedFor& wanted,
    const std::function<Result<>(std::uint32_t, const store::SampleQuery&)>& ask,
    const CancelToken& cancel) {
  // An id in a statement: its digits, and what the engine makes of them.
  constexpr std::size_t kBytesPerId = 64;
  for (std::uint32_t i = 0; i < query.selections.size(); ++i) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    store::SampleQuery one{query.tenant, query.range, {query.selections[i]}};
    std::optional<store::StackSet>& stacks = one.selections[0].stacks;
    WHEREFORE_ASSIGN_OR_RETURN(stacks,
                               tries_.Matching(wanted, one.selections[0].dictionary, cancel));
    if (!stacks->all_below && stacks->stacks.empty()) continue;
    MemoryClaim ids(cancel);
    WHEREFORE_RETURN_IF_ERROR(ids.Resize(stacks->stacks.size() * kBytesPerId));
    WHEREFORE_RETURN_IF_ERROR(ask(i, one));
  }
  return {};
}

Result<std::vector<store::SeriesPoint>> Engine::MatchedPoints(const Resolved& r,
                                                              const store::Steps& cut,
                                                              const LookedFor& wanted,
                                                              const CancelToken& cancel) {
  store::StepSums sums(cut, r.query.range.to_ns);
  MemoryClaim held(cancel);
  const auto add = [&](std::uint32_t at, const store::SampleQuery& one) -> Result<> {
    WHEREFORE_RETURN_IF_ERROR(held.Resize(sums.bytes()));
    const MemoryScope scope(cancel);  // rows go, a point per step stays
    if (r.needs_samples) {
      WHEREFORE_ASSIGN_OR_RETURN(auto points, reader_.Timeline(one, cut, true, cancel));
      for (store::SeriesPoint& p : points) {
        p.dictionary = at;
        sums.AddWithin(p);
      }
      return {};
    }
    // Profile by profile, so that what matches altogether is rounded as the whole is.
    WHEREFORE_ASSIGN_OR_RETURN(auto profiles, reader_.SumProfiles(one, cancel));
    for (store::ProfileSum& p : profiles) {
      const store::SeriesRow* series = ProfileLevel(r.series[at], p.series);
      p.series = series != nullptr ? series->series : 0;
      p.dictionary = at;
      sums.Add(p);
    }
    return {};
  };
  WHEREFORE_RETURN_IF_ERROR(EachNarrowed(r.query, wanted, add, cancel));
  return sums.Take();
}

}  // namespace wherefore::query
