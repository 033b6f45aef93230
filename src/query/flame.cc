#include "query/flame.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "query/scan.h"
#include "query/snapshots.h"
#include "query/span_profile.h"

namespace wherefore::query {
namespace {

// Which selection of a resolved query a stored sample belongs to, if any.
class Membership {
 public:
  explicit Membership(const Resolved& resolved) : resolved_(resolved) {
    for (std::uint32_t i = 0; i < resolved.query.selections.size(); ++i) {
      index_[resolved.query.selections[i].dictionary] = i;
    }
  }
  // -1: it does not.
  [[nodiscard]] int Find(const store::DictionaryKey& key, std::uint64_t type,
                         std::uint32_t series) const {
    const auto it = index_.find(key);
    if (it == index_.end() || !resolved_.types.contains(type)) return -1;
    const store::SeriesSelection& s = resolved_.query.selections[it->second];
    const auto among = [](const auto& list, auto id) {
      return list.empty() || std::find(list.begin(), list.end(), id) != list.end();
    };
    return among(s.types, type) && among(s.series, series) ? static_cast<int>(it->second) : -1;
  }

 private:
  const Resolved& resolved_;
  std::map<store::DictionaryKey, std::uint32_t> index_;
};

void AddRow(const Resolved& r, ValuesBySelection& values, int selection, std::uint64_t type,
            std::uint32_t stack, std::int64_t value, std::int64_t count) {
  const TypeUse& use = r.types.at(type);
  values[static_cast<std::size_t>(selection)].push_back(
      {.stack = stack, .value = use.Value(value), .count = use.Count(value, count)});
}

Result<> AddProfiles(store::Reader& reader, const Resolved& r, const Narrowing& narrowing,
                     ValuesBySelection& values, const CancelToken& cancel) {
  const Membership member(r);
  const std::set<profile::ProfileId> ids(narrowing.profiles.begin(), narrowing.profiles.end());
  for (const profile::ProfileId& id : ids) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto rows, reader.ProfileById(r.query.tenant, id, cancel));
    for (const store::ProfileRow& row : rows) {
      if (row.time_ns < r.query.range.from_ns || row.time_ns >= r.query.range.to_ns ||
          !r.types.contains(row.type)) {
        continue;
      }
      WHEREFORE_ASSIGN_OR_RETURN(const auto samples, reader.ProfileSamples(row, cancel));
      for (const store::SampleRow& s : samples) {
        const bool linked =
            (narrowing.spans.empty() || std::find(narrowing.spans.begin(), narrowing.spans.end(),
                                                  s.span) != narrowing.spans.end()) &&
            (narrowing.traces.empty() || std::find(narrowing.traces.begin(), narrowing.traces.end(),
                                                   s.trace) != narrowing.traces.end());
        const int at = linked ? member.Find(row.dictionary, row.type, s.series) : -1;
        if (at >= 0) AddRow(r, values, at, row.type, s.stack, s.value, s.count);
      }
    }
  }
  return {};
}

// Samples that are linked to some traces and spans.
Result<ValuesBySelection> LinkedValues(QueryContext& context, const Resolved& resolved,
                                       const Narrowing& narrowing, const CancelToken& cancel) {
  ValuesBySelection values(resolved.query.selections.size());
  const Membership member(resolved);
  const std::uint32_t tenant = resolved.query.tenant;
  std::vector<profile::TraceId> traces = narrowing.traces;
  if (traces.empty()) traces.emplace_back();  // spans by their id alone
  for (const profile::TraceId& trace : traces) {
    WHEREFORE_ASSIGN_OR_RETURN(
        auto links, context.reader.LinkedSamples(tenant, trace, narrowing.spans, cancel));
    const auto at = [&](const store::LinkRow& link) {
      return member.Find(link.dictionary, link.type, link.series);
    };
    std::erase_if(links, [&](const store::LinkRow& link) { return at(link) < 0; });
    std::vector<std::int64_t> counts;  // follow from values as they are
    for (const store::LinkRow& link : links)
      counts.push_back(resolved.types.at(link.type).Count(link.value, link.count));
    WHEREFORE_RETURN_IF_ERROR(ClipLooks(context, tenant, trace, resolved.types, links, cancel));
    for (std::size_t i = 0; i < links.size(); ++i) {
      const store::LinkRow& link = links[i];
      values[static_cast<std::size_t>(at(link))].push_back(
          {.stack = link.stack,
           .value = resolved.types.at(link.type).Value(link.value),
           .count = counts[i]});
    }
  }
  return values;
}

}  // namespace

namespace {

struct ResolvedValues {
  Resolved resolved;
  ValuesBySelection values;
  Tier tier;

  void AppendTo(std::vector<StackTries::Values>& all, Side side) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i].empty())
        all.push_back({resolved.query.selections[i].dictionary, values[i], side});
    }
  }
};

// Whether there is any value, even if all of them add up to 0.
bool AnyOf(const ValuesBySelection& values) {
  return std::ranges::any_of(values,
                             [](const auto& of_selection) { return !of_selection.empty(); });
}

Result<ResolvedValues> ValuesOf(QueryContext& context, const Selection& selection,
                                const Narrowing& narrowing, const CancelToken& cancel) {
  ResolvedValues out;
  Resolved& r = out.resolved;
  if (narrowing.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(r, Resolve(context, selection, cancel));
    WHEREFORE_ASSIGN_OR_RETURN(out.values, SumOrAverage(context, r, cancel, &out.tier));
    return out;
  }
  WHEREFORE_ASSIGN_OR_RETURN(r, context.catalog.Resolve(selection, {.narrowed = true}, cancel));
  out.values.resize(r.query.selections.size());
  if (!narrowing.profiles.empty()) {
    WHEREFORE_RETURN_IF_ERROR(AddProfiles(context.reader, r, narrowing, out.values, cancel));
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(out.values, LinkedValues(context, r, narrowing, cancel));
  }
  r.snapshot = false;  // values as they were sent
  return out;
}

}  // namespace

Result<SummedSelection> SumSelection(QueryContext& context, const Selection& selection,
                                     const Narrowing& narrowing, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(ResolvedValues found, ValuesOf(context, selection, narrowing, cancel));
  std::vector<StackTries::Values> all;
  found.AppendTo(all, Side::kAfter);
  WHEREFORE_ASSIGN_OR_RETURN(TrieSums sums, context.tries.Sum(all, cancel));
  return SummedSelection{.resolved = std::move(found.resolved),
                         .sums = std::move(sums),
                         .tier = std::move(found.tier)};
}

std::string HintFor(QueryContext& context, const Selection& selection, bool found,
                    const CancelToken& cancel) {
  if (found) return "";
  if (!selection.selector.narrowing().empty()) return "no samples of that span, trace or profile";
  return context.catalog.ExplainEmpty(selection, cancel);
}

namespace {

void Describe(profile::FlameTree& tree, const Resolved& r) {
  tree.scale = r.snapshot ? kAverageScale : 1;
  tree.type = r.type;
  tree.unit = r.unit;
}

std::string HintFor(QueryContext& context, const Selection& selection,
                    const profile::FlameTree& tree, const CancelToken& cancel) {
  return HintFor(context, selection, tree.size() > 1 || tree.total[0] != 0, cancel);
}

// Does it ask for nothing but the largest paths, of what a lens may leave?
bool IsCutOnly(const ViewOptions& options) {
  return options.lens.IsByFunction() && !options.side && !options.root && options.search.empty() &&
         (options.prune.max_nodes > 0 || options.prune.min_share > 0);
}

}  // namespace

Result<FlameAnswer> Flame(QueryContext& context, const Selection& selection,
                          const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(
      SummedSelection summed,
      SumSelection(context, selection, selection.selector.narrowing(), cancel));
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  FlameAnswer answer{.averaged = summed.resolved.snapshot, .tier = summed.tier};
  WHEREFORE_ASSIGN_OR_RETURN(answer.tree, summed.sums.Whole(Identity::kFunction));
  Describe(answer.tree, summed.resolved);
  answer.hint = HintFor(context, selection, answer.tree, cancel);
  return answer;
}

Result<ShownFlame> ShowFlame(QueryContext& context, const Selection& selection,
                             const ViewOptions& options, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(
      SummedSelection summed,
      SumSelection(context, selection, selection.selector.narrowing(), cancel));
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  ShownFlame shown{.averaged = summed.resolved.snapshot, .tier = summed.tier};
  if (IsCutOnly(options) && summed.sums.IsPlain()) {
    WHEREFORE_RETURN_IF_ERROR(summed.sums.Apply(options.lens));
    WHEREFORE_ASSIGN_OR_RETURN(auto largest,
                               summed.sums.Largest(Identity::kFunction, options.prune));
    shown.view.tree = std::move(largest.tree);
    shown.view.full_nodes = largest.full_nodes;
    Describe(shown.view.tree, summed.resolved);
    shown.hint = HintFor(context, selection, summed.sums.any(), cancel);
    return shown;
  }
  WHEREFORE_ASSIGN_OR_RETURN(profile::FlameTree tree, summed.sums.Whole(Identity::kFunction));
  Describe(tree, summed.resolved);
  shown.hint = HintFor(context, selection, tree, cancel);
  WHEREFORE_ASSIGN_OR_RETURN(shown.view, ShowTree(std::move(tree), options, cancel));
  return shown;
}

Result<profile::FlameTree> FlameByName(QueryContext& context, const Selection& selection,
                                       const FlameByNameOptions& options,
                                       const CancelToken& cancel) {
  const Narrowing& own = selection.selector.narrowing();
  WHEREFORE_ASSIGN_OR_RETURN(
      SummedSelection summed,
      SumSelection(context, selection, options.narrowing.empty() ? own : options.narrowing,
                   cancel));
  const profile::PruneOptions prune{.max_nodes = options.max_nodes};
  profile::FlameTree tree;
  if (options.max_nodes > 0 && summed.sums.IsPlain()) {
    WHEREFORE_ASSIGN_OR_RETURN(auto largest, summed.sums.Largest(Identity::kName, prune));
    tree = std::move(largest.tree);
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(const auto whole, summed.sums.Whole(Identity::kName));
    tree = options.max_nodes > 0 ? profile::Prune(whole, prune) : whole;
  }
  Describe(tree, summed.resolved);
  return tree;
}

namespace {

Result<ShownDifference> WholeDifference(QueryContext& context, const Selection& before,
                                        const Selection& after, const ViewOptions& options,
                                        const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto left, Flame(context, before, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const auto right, Flame(context, after, cancel));
  ShownDifference shown{.averaged = right.averaged,
                        .hint = !right.hint.empty() ? right.hint : left.hint,
                        .tier = right.tier};
  shown.tier.Add(left.tier);
  WHEREFORE_ASSIGN_OR_RETURN(shown.view, ShowDiff(left.tree, right.tree, options, cancel));
  return shown;
}

}  // namespace

Result<ShownDifference> ShowDifference(QueryContext& context, const Selection& before,
                                       const Selection& after, const ViewOptions& options,
                                       bool whole, const CancelToken& cancel) {
  if (whole || !IsCutOnly(options)) return WholeDifference(context, before, after, options, cancel);
  std::array<ResolvedValues, 2> sides;
  std::vector<StackTries::Values> all;
  for (const Side side : {Side::kAfter, Side::kBefore}) {
    const Selection& selection = side == Side::kAfter ? after : before;
    ResolvedValues& found = sides[static_cast<std::size_t>(side)];
    WHEREFORE_ASSIGN_OR_RETURN(
        found, ValuesOf(context, selection, selection.selector.narrowing(), cancel));
    found.AppendTo(all, side);
  }
  const Resolved& now = sides[0].resolved;
  const Resolved& then = sides[1].resolved;
  WHEREFORE_ASSIGN_OR_RETURN(TrieSums sums, context.tries.Sum(all, cancel));
  if (!sums.IsPlain() || now.snapshot != then.snapshot)
    return WholeDifference(context, before, after, options, cancel);
  ShownDifference shown{.averaged = now.snapshot, .tier = sides[0].tier};
  shown.tier.Add(sides[1].tier);
  WHEREFORE_RETURN_IF_ERROR(sums.Apply(options.lens));
  WHEREFORE_ASSIGN_OR_RETURN(shown.view.changes, sums.ChangedFunctions());
  WHEREFORE_ASSIGN_OR_RETURN(auto largest, sums.LargestDiff(options.prune));
  shown.view.shown = std::move(largest.diff);
  shown.view.full_nodes = largest.full_nodes;
  profile::FlameTree& tree = shown.view.shown.tree;
  Describe(tree, now);
  if (tree.type.empty()) tree.type = then.type;
  if (tree.unit.empty()) tree.unit = then.unit;
  shown.hint = HintFor(context, after, AnyOf(sides[0].values), cancel);
  if (shown.hint.empty()) shown.hint = HintFor(context, before, AnyOf(sides[1].values), cancel);
  return shown;
}

}  // namespace wherefore::query
