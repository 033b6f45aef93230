#include "query/scan.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "query/snapshots.h"

namespace wherefore::query {
namespace {

Result<ValuesBySelection> Sum(QueryContext& context, const Resolved& r, Tier& tier,
                              const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto sums, SumStacksOfTiers(context, r, tier, cancel));
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
                                       const CancelToken& cancel, Tier* tier) {
  if (r.query.selections.empty()) return ValuesBySelection();
  ValuesBySelection values;
  Tier made_of;
  {
    const MemoryScope scope(cancel);  // the sums they are made of
    if (r.snapshot) {
      WHEREFORE_RETURN_IF_ERROR(
          NoteGoneSamples(context, r, "averages of snapshots need", made_of, cancel));
    }
    WHEREFORE_ASSIGN_OR_RETURN(
        values, r.snapshot ? Average(context, r, cancel) : Sum(context, r, made_of, cancel));
  }
  if (tier != nullptr) *tier = std::move(made_of);
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

namespace {

// Selections with few stacks, gathered until they are worth a statement. One with many is asked for
// by itself: a list of dictionaries and stacks is looked through for every row of all of them.
class Narrowed {
 public:
  Narrowed(const store::SampleQuery& query, const AskNarrowed& ask, const CancelToken& cancel)
      : query_(query), ask_(ask), ids_(cancel) {}

  Result<> Add(std::uint32_t at, store::StackSet stacks) {
    if (!stacks.all_below && stacks.stacks.empty()) return {};
    const std::size_t known = stacks.all_below.value_or(0) + stacks.stacks.size();
    if (known > kFewStacks) {
      Gathered alone;
      WHEREFORE_RETURN_IF_ERROR(Gather(at, std::move(stacks), alone));
      return Ask(alone);
    }
    // All but some of many dictionaries cannot be said in one list; those that match can.
    if (stacks.all_below) stacks = Listed(stacks);
    if (gathered_.query.selections.size() == kMostDictionaries ||
        gathered_.stacks + stacks.stacks.size() > kMostStacks) {
      WHEREFORE_RETURN_IF_ERROR(Finish());
    }
    return Gather(at, std::move(stacks), gathered_);
  }
  // Asks for what is left.
  Result<> Finish() {
    const Gathered last = std::exchange(gathered_, {});
    return last.at.empty() ? Result<>() : Ask(last);
  }

 private:
  static constexpr std::size_t kFewStacks = 2'000;
  static constexpr std::size_t kMostDictionaries = 2'000;
  static constexpr std::size_t kMostStacks = 100'000;

  struct Gathered {
    std::vector<std::uint32_t> at;
    store::SampleQuery query;
    std::size_t stacks = 0;
  };

  static store::StackSet Listed(const store::StackSet& set) {
    store::StackSet listed;
    const std::set<std::uint32_t> without(set.stacks.begin(), set.stacks.end());
    for (std::uint32_t stack = 0; stack < *set.all_below; ++stack) {
      if (!without.contains(stack)) listed.stacks.push_back(stack);
    }
    return listed;
  }

  Result<> Gather(std::uint32_t at, store::StackSet stacks, Gathered& to) {
    // An id in a statement: its digits, and what the engine makes of them.
    constexpr std::size_t kBytesPerId = 64;
    to.at.push_back(at);
    to.query.tenant = query_.tenant;
    to.query.range = query_.range;
    to.stacks += stacks.stacks.size();
    to.query.selections.push_back(query_.selections[at]);
    to.query.selections.back().stacks = std::move(stacks);
    return ids_.Resize(to.stacks * kBytesPerId);
  }
  Result<> Ask(const Gathered& gathered) { return ask_(gathered.at, gathered.query); }

  const store::SampleQuery& query_;
  const AskNarrowed& ask_;
  MemoryClaim ids_;
  Gathered gathered_;
};

}  // namespace

// Which stacks match is found in their tries; the store then adds up samples of those stacks only.
Result<> EachNarrowed(QueryContext& context, const store::SampleQuery& query,
                      const LensSearch& wanted, const AskNarrowed& ask, const CancelToken& cancel) {
  std::vector<store::DictionaryKey> dictionaries;
  dictionaries.reserve(query.selections.size());
  for (const store::SeriesSelection& one : query.selections) dictionaries.push_back(one.dictionary);
  Narrowed narrowed(query, ask, cancel);
  const auto add = [&](std::size_t at, store::StackSet&& stacks) {
    return narrowed.Add(static_cast<std::uint32_t>(at), std::move(stacks));
  };
  WHEREFORE_RETURN_IF_ERROR(context.tries.EachMatching(wanted, dictionaries, add, cancel));
  return narrowed.Finish();
}

Result<> EachMatching(QueryContext& context, const Resolved& r, const LensSearch& wanted,
                      const std::function<Result<>(const store::ProfileSum&)>& visit,
                      const CancelToken& cancel) {
  const auto ask = [&](std::span<const std::uint32_t> at,
                       const store::SampleQuery& some) -> Result<> {
    const MemoryScope scope(cancel);  // rows go, what they are added to stays
    WHEREFORE_ASSIGN_OR_RETURN(auto profiles,
                               context.reader.SumProfiles(some, r.needs_samples, cancel));
    for (store::ProfileSum& p : profiles) {
      p.dictionary = at[p.dictionary];
      if (!r.needs_samples) {
        const store::SeriesRow* series = ProfileLevel(r.series[p.dictionary], p.series);
        p.series = series != nullptr ? series->series : 0;
      }
      WHEREFORE_RETURN_IF_ERROR(visit(p));
    }
    return {};
  };
  return EachNarrowed(context, r.query, wanted, ask, cancel);
}

}  // namespace wherefore::query
