// Engine: what is looked for, over time. Which stacks have it is found in their tries; the store
// then adds up samples of those stacks only, one dictionary after the other: a condition that holds
// the ids of all of them would be evaluated whole for every row.
#include "query/engine.h"

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

Result<> Engine::EachMatching(const Resolved& r, const LookedFor& wanted,
                              const std::function<Result<>(const store::ProfileSum&)>& visit,
                              const CancelToken& cancel) {
  const auto ask = [&](std::uint32_t at, const store::SampleQuery& one) -> Result<> {
    const MemoryScope scope(cancel);  // rows go, what they are added to stays
    WHEREFORE_ASSIGN_OR_RETURN(auto profiles, reader_.SumProfiles(one, r.needs_samples, cancel));
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
  return EachNarrowed(r.query, wanted, ask, cancel);
}

}  // namespace wherefore::query
