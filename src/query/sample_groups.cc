#include "query/sample_groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <string>
#include <unordered_map>

#include "base/hash.h"
#include "query/snapshots.h"

namespace wherefore::query {

std::string_view InstanceOf(const Labels& labels) {
  return FirstLabel(labels, store::kInstanceLabels);
}

std::string_view GroupingName(Grouping grouping) {
  switch (grouping) {
    case Grouping::kInstances:
      return "instances";
    case Grouping::kBlocks:
      return "blocks";
    case Grouping::kDays:
      return "days";
    case Grouping::kFiles:
      return "files";
    case Grouping::kNone:
      break;
  }
  return "none";
}

namespace {

std::uint64_t SeriesKey(std::uint32_t selection, std::uint32_t series) {
  return std::uint64_t{selection} << 32U | series;
}

}  // namespace

std::uint32_t GroupIndex::Add(const Resolved& resolved, const store::ProfileSum& profile) {
  const auto [known, fresh] = by_series_.try_emplace(SeriesKey(profile.dictionary, profile.series));
  if (fresh) {
    const store::SeriesRow* const row =
        ProfileLevel(resolved.series[profile.dictionary], profile.series);
    Name name{resolved.query.selections[profile.dictionary].dictionary.service,
              row != nullptr ? std::string(InstanceOf(row->labels)) : std::string()};
    const auto [at, new_name] =
        by_name_.try_emplace(std::move(name), static_cast<std::uint32_t>(instances_.size()));
    if (new_name) instances_.emplace_back();
    known->second = at->second;
  }
  return known->second;
}

void GroupIndex::Extend(std::uint32_t instance, std::int64_t begin_ns, std::int64_t end_ns) {
  Instance& of = instances_[instance];
  of.begin_ns = std::min(of.begin_ns, begin_ns);
  of.last_begin_ns = std::max(of.last_begin_ns, begin_ns);
  of.end_ns = std::max(of.end_ns, end_ns);
  of.all_lengths_known = of.all_lengths_known && end_ns > begin_ns;
  of.covered.emplace_back(begin_ns, end_ns);
}

void GroupIndex::SortCovered() {
  for (Instance& of : instances_) {
    if (!of.all_lengths_known) of.covered.clear();
    std::ranges::sort(of.covered);
    std::int64_t latest = INT64_MIN;
    for (auto& [begin, end] : of.covered) end = latest = std::max(latest, end);
  }
}

void GroupIndex::CutByInstance() {
  groups_ = std::min(instances_.size(), kMostGroups);
  for (const auto& [name, number] : by_name_) {
    // Too many: the group is one that the name chooses.
    const std::uint64_t hash = Hash64(name.second) ^ name.first;
    instances_[number].group = instances_.size() <= kMostGroups ? number : hash % kMostGroups;
  }
}

void GroupIndex::CutByTime() {
  std::int64_t first = INT64_MAX;
  std::int64_t last = INT64_MIN;
  for (const Instance& of : instances_) {
    first = std::min(first, of.begin_ns);
    last = std::max(last, of.last_begin_ns);
  }
  const std::int64_t width = (last + 1 - first + kBlocks - 1) / static_cast<std::int64_t>(kBlocks);
  CutByTime({.start_ns = first, .width_ns = std::max<std::int64_t>(width, 1), .steps = kBlocks});
}

void GroupIndex::CutByTime(const profile::TimeGrid& blocks) {
  blocks_ = blocks;
  groups_ = blocks.steps;
}

std::size_t GroupIndex::GroupOf(std::uint32_t instance, std::int64_t time_ns) const {
  return blocks_ ? blocks_->StepOf(time_ns) : instances_[instance].group;
}

std::optional<std::size_t> GroupIndex::OfSample(std::uint32_t selection, std::uint32_t series,
                                                std::int64_t time_ns) const {
  const auto known = by_series_.find(SeriesKey(selection, series));
  if (known == by_series_.end()) return std::nullopt;
  return GroupOf(known->second, time_ns);
}

std::optional<std::size_t> GroupIndex::OfRequest(std::uint64_t service, std::string_view instance,
                                                 std::int64_t start_ns) const {
  // Profiles that do not say whose they are may be of any instance.
  for (const std::string_view name : {instance, std::string_view()}) {
    const auto known = by_name_.find({service, std::string(name)});
    if (known == by_name_.end()) continue;
    const Instance& of = instances_[known->second];
    if (start_ns < of.begin_ns || start_ns >= of.end_ns) return std::nullopt;
    if (of.covered.empty()) return GroupOf(known->second, std::min(start_ns, of.last_begin_ns));
    // Between two profiles nothing was measured, so what ran there does not count either.
    const auto later = std::ranges::upper_bound(of.covered, start_ns, {},
                                                &std::pair<std::int64_t, std::int64_t>::first);
    const auto& [begin, end] = *std::prev(later);
    if (start_ns >= end) return std::nullopt;
    return GroupOf(known->second, begin);
  }
  return std::nullopt;
}

std::optional<std::size_t> GroupedSelection::GroupOfSample(std::uint32_t selection,
                                                           std::uint32_t series,
                                                           std::int64_t profile_time_ns) const {
  const store::SeriesRow* const row = ProfileLevel(resolved.series[selection], series);
  return index.OfSample(selection, row != nullptr ? row->series : series, profile_time_ns);
}

namespace {

// One side before it is known how it is cut.
struct Uncut {
  GroupedSelection selection;
  std::vector<profile::SeenProfile> seen;  // of each profile
  std::vector<std::uint32_t> instance;     // of each profile
};

Result<Uncut> ReadSide(QueryContext& context, const Selection& selection,
                       const CancelToken& cancel) {
  if (!selection.selector.narrowing().empty()) {
    return Error(Code::kUnsupported, "samples of single spans, traces or profiles are not tested");
  }
  Uncut side;
  GroupedSelection& of = side.selection;
  WHEREFORE_ASSIGN_OR_RETURN(of.resolved,
                             context.catalog.Resolve(selection, {.with_series = true}, cancel));
  if (of.resolved.snapshot)
    return Error(Code::kUnsupported, "averages of snapshots are not tested");
  if (of.resolved.query.selections.empty()) return side;
  WHEREFORE_ASSIGN_OR_RETURN(of.profiles,
                             context.reader.ProfileTotals(ProfilesOf(of.resolved), cancel));
  for (const store::ProfileSum& p : of.profiles) {
    side.instance.push_back(of.index.Add(of.resolved, p));
    side.seen.push_back({.series = side.instance.back() ^ p.type,
                         .time_ns = p.time_ns,
                         .duration_ns = p.duration_ns});
  }
  profile::FillLengths(side.seen);
  for (std::size_t i = 0; i < side.seen.size(); ++i) {
    const profile::SeenProfile& seen = side.seen[i];
    of.index.Extend(side.instance[i], seen.time_ns, seen.time_ns + seen.length_ns);
  }
  of.index.SortCovered();
  return side;
}

// How long each instance was observed, by group. A profile is in the block in which it began, with
// all of its samples, so all of its time counts there.
void AddObserved(Uncut& side) {
  std::map<std::pair<std::uint32_t, std::size_t>, profile::ObservedTime> observed;
  for (std::size_t i = 0; i < side.seen.size(); ++i) {
    const profile::SeenProfile& seen = side.seen[i];
    observed[{side.instance[i], side.selection.index.GroupOf(side.instance[i], seen.time_ns)}].Add(
        seen.time_ns, seen.length_ns);
  }
  for (auto& [where, time] : observed) {
    side.selection.groups[where.second].observed_s += static_cast<double>(time.total_ns()) / 1e9;
  }
}

void AddSum(const Resolved& r, const store::StackSum& s, SampleGroup& group) {
  const TypeUse& use = r.types.at(s.type);
  group.values.resize(r.query.selections.size());
  group.values[s.dictionary].push_back(
      {.stack = s.stack, .value = use.Value(s.value), .count = use.Count(s.value, s.count)});
}

Result<> SumInstances(QueryContext& context, GroupedSelection& side, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto sums,
                             context.reader.SumStacksBySeries(side.resolved.query, cancel));
  for (const store::StackSumBySeries& s : sums) {
    const auto group = side.GroupOfSample(s.sum.dictionary, s.series, 0);
    if (group) AddSum(side.resolved, s.sum, side.groups[*group]);
  }
  return {};
}

Result<> SumBlocks(QueryContext& context, GroupedSelection& side, const CancelToken& cancel) {
  store::SampleQuery query = side.resolved.query;
  const profile::TimeGrid& blocks = *side.index.blocks();
  for (std::size_t i = 0; i < blocks.steps; ++i) {
    query.range.from_ns = blocks.start_ns + static_cast<std::int64_t>(i) * blocks.width_ns;
    query.range.to_ns = query.range.from_ns + blocks.width_ns;
    WHEREFORE_ASSIGN_OR_RETURN(const auto sums, context.reader.SumStacks(query, cancel));
    for (const store::StackSum& s : sums) AddSum(side.resolved, s, side.groups[i]);
  }
  return {};
}

profile::TimeGrid DaysOf(const store::TimeRange& range) {
  const std::int64_t days =
      std::max<std::int64_t>((range.to_ns - range.from_ns + kNsPerDay - 1) / kNsPerDay, 1);
  return {.start_ns = range.to_ns - days * kNsPerDay,
          .width_ns = kNsPerDay,
          .steps = static_cast<std::size_t>(days)};
}

Result<GroupedSelection> Cut(QueryContext& context, Uncut side, Grouping grouping,
                             const CancelToken& cancel) {
  GroupedSelection& of = side.selection;
  if (of.profiles.empty()) return std::move(of);
  if (grouping == Grouping::kInstances) {
    of.index.CutByInstance();
  } else if (grouping == Grouping::kDays) {
    of.index.CutByTime(DaysOf(of.resolved.query.range));
  } else {
    of.index.CutByTime();
  }
  of.groups.resize(of.index.groups());
  WHEREFORE_RETURN_IF_ERROR(grouping == Grouping::kInstances ? SumInstances(context, of, cancel)
                                                             : SumBlocks(context, of, cancel));
  AddObserved(side);
  return std::move(of);
}

}  // namespace

double InstancesOf(const GroupedSelection& side) {
  std::vector<profile::SeenProfile> seen;
  double each = 0;
  for (const SampleGroup& group : side.groups) each += group.observed_s;
  profile::ObservedTime any;
  for (const store::ProfileSum& p : side.profiles)
    seen.push_back({.series = p.type, .time_ns = p.time_ns, .duration_ns = p.duration_ns});
  profile::FillLengths(seen);
  for (const profile::SeenProfile& p : seen) any.Add(p.time_ns, p.length_ns);
  const auto together = static_cast<double>(any.total_ns()) / 1e9;
  return together > 0 ? each / together : 0;
}

Result<GroupedSides> GroupSides(QueryContext& context, const Selection& before,
                                const Selection& after, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Uncut left, ReadSide(context, before, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(Uncut right, ReadSide(context, after, cancel));
  GroupedSides sides;
  const std::size_t instances =
      left.selection.index.instances() + right.selection.index.instances();
  sides.grouping = instances >= kFewestInstances ? Grouping::kInstances : Grouping::kBlocks;
  WHEREFORE_ASSIGN_OR_RETURN(sides.before, Cut(context, std::move(left), sides.grouping, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(sides.after, Cut(context, std::move(right), sides.grouping, cancel));
  return sides;
}

Result<GroupedSides> GroupSidesByDay(QueryContext& context, const Selection& before,
                                     const Selection& after, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Uncut left, ReadSide(context, before, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(Uncut right, ReadSide(context, after, cancel));
  GroupedSides sides{.grouping = Grouping::kDays, .before = {}, .after = {}};
  WHEREFORE_ASSIGN_OR_RETURN(sides.before, Cut(context, std::move(left), sides.grouping, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(sides.after, Cut(context, std::move(right), sides.grouping, cancel));
  return sides;
}

Result<GroupedAlone> GroupAlone(QueryContext& context, const Selection& selection,
                                const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Uncut side, ReadSide(context, selection, cancel));
  GroupedAlone alone;
  alone.grouping = side.selection.index.instances() >= kFewestInstances ? Grouping::kInstances
                                                                        : Grouping::kBlocks;
  WHEREFORE_ASSIGN_OR_RETURN(alone.selection,
                             Cut(context, std::move(side), alone.grouping, cancel));
  return alone;
}

}  // namespace wherefore::query
