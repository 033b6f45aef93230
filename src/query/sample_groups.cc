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
  static constexpr std::array<std::string_view, 6> kNames = {
      "service.instance.id", "k8s.pod.name", "host.name", "hostname", "pod", "instance"};
  return FirstLabel(labels, kNames);
}

std::string_view GroupingName(Grouping grouping) {
  if (grouping == Grouping::kNone) return "none";
  return grouping == Grouping::kInstances ? "instances" : "blocks";
}

namespace {

// The instances of a selection, by number.
class Instances {
 public:
  explicit Instances(const Resolved& resolved) : resolved_(resolved) {}

  std::uint32_t Of(std::uint32_t selection, std::uint32_t series) {
    const auto [known, fresh] = by_series_.try_emplace(std::uint64_t{selection} << 32U | series);
    if (!fresh) return known->second;
    const store::SeriesRow* const row = ProfileLevel(resolved_.series[selection], series);
    std::string name = resolved_.services[selection];
    name += '\0';
    if (row != nullptr) name += InstanceOf(row->labels);
    known->second =
        by_name_.try_emplace(std::move(name), static_cast<std::uint32_t>(by_name_.size()))
            .first->second;
    return known->second;
  }
  [[nodiscard]] std::size_t size() const { return by_name_.size(); }
  // Which group each belongs to: its own, or one that its name chooses.
  [[nodiscard]] std::vector<std::size_t> Groups() const {
    std::vector<std::size_t> groups(by_name_.size());
    for (const auto& [name, number] : by_name_)
      groups[number] = groups.size() <= kMostGroups ? number : Hash64(name) % kMostGroups;
    return groups;
  }

 private:
  const Resolved& resolved_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_series_;
  std::map<std::string, std::uint32_t> by_name_;
};

// One side before it is known how it is cut.
struct Uncut {
  Resolved resolved;
  std::vector<store::ProfileSum> profiles;
  std::vector<profile::SeenProfile> seen;  // of each
  std::vector<std::uint32_t> instance;     // of each
  std::vector<std::size_t> group_of_instance;
  std::size_t instances = 0;
};

Result<Uncut> ReadSide(QueryContext& context, const Selection& selection,
                       const CancelToken& cancel) {
  if (!selection.selector.narrowing().empty()) {
    return Error(Code::kUnsupported, "samples of single spans, traces or profiles are not tested");
  }
  Uncut side;
  WHEREFORE_ASSIGN_OR_RETURN(side.resolved,
                             context.catalog.Resolve(selection, {.with_series = true}, cancel));
  if (side.resolved.snapshot)
    return Error(Code::kUnsupported, "averages of snapshots are not tested");
  if (side.resolved.query.selections.empty()) return side;
  WHEREFORE_ASSIGN_OR_RETURN(side.profiles,
                             context.reader.ProfileTotals(ProfilesOf(side.resolved), cancel));
  Instances instances(side.resolved);
  for (const store::ProfileSum& p : side.profiles) {
    side.instance.push_back(instances.Of(p.dictionary, p.series));
    side.seen.push_back({.series = side.instance.back() ^ p.type,
                         .time_ns = p.time_ns,
                         .duration_ns = p.duration_ns});
  }
  profile::FillLengths(side.seen);
  side.instances = instances.size();
  side.group_of_instance = instances.Groups();
  return side;
}

// How long each instance was observed, by group. A profile is in the block in which it began, with
// all of its samples, so all of its time counts there.
void AddObserved(const Uncut& side, const profile::TimeGrid* blocks,
                 std::vector<SampleGroup>& groups) {
  std::map<std::pair<std::uint32_t, std::size_t>, profile::ObservedTime> observed;
  for (std::size_t i = 0; i < side.seen.size(); ++i) {
    const profile::SeenProfile& seen = side.seen[i];
    const std::size_t group =
        blocks != nullptr ? blocks->StepOf(seen.time_ns) : side.group_of_instance[side.instance[i]];
    observed[{side.instance[i], group}].Add(seen.time_ns, seen.length_ns);
  }
  for (auto& [where, time] : observed)
    groups[where.second].observed_s += static_cast<double>(time.total_ns()) / 1e9;
}

void AddSum(const Resolved& r, const store::StackSum& s, SampleGroup& group) {
  const TypeUse& use = r.types.at(s.type);
  group.values.resize(r.query.selections.size());
  group.values[s.dictionary].push_back(
      {.stack = s.stack, .value = use.Value(s.value), .count = use.Count(s.value, s.count)});
}

Result<> SumInstances(QueryContext& context, const Uncut& side, std::vector<SampleGroup>& groups,
                      const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto sums,
                             context.reader.SumStacksBySeries(side.resolved.query, cancel));
  Instances instances(side.resolved);
  for (const store::ProfileSum& p : side.profiles)
    (void)instances.Of(p.dictionary, p.series);  // the same numbers again
  for (const store::StackSumBySeries& s : sums) {
    const std::uint32_t instance = instances.Of(s.sum.dictionary, s.series);
    if (instance < side.instances)
      AddSum(side.resolved, s.sum, groups[side.group_of_instance[instance]]);
  }
  return {};
}

Result<> SumBlocks(QueryContext& context, const Uncut& side, const profile::TimeGrid& blocks,
                   std::vector<SampleGroup>& groups, const CancelToken& cancel) {
  store::SampleQuery query = side.resolved.query;
  for (std::size_t i = 0; i < blocks.steps; ++i) {
    query.range.from_ns = blocks.start_ns + static_cast<std::int64_t>(i) * blocks.width_ns;
    query.range.to_ns = query.range.from_ns + blocks.width_ns;
    WHEREFORE_ASSIGN_OR_RETURN(const auto sums, context.reader.SumStacks(query, cancel));
    for (const store::StackSum& s : sums) AddSum(side.resolved, s, groups[i]);
  }
  return {};
}

// From the first profile to behind the last, in equal parts.
profile::TimeGrid BlocksOf(const Uncut& side) {
  const auto [first, last] = std::ranges::minmax(
      side.profiles | std::views::transform([](const auto& p) { return p.time_ns; }));
  const std::int64_t width = (last + 1 - first + kBlocks - 1) / static_cast<std::int64_t>(kBlocks);
  return {.start_ns = first, .width_ns = std::max<std::int64_t>(width, 1), .steps = kBlocks};
}

Result<GroupedSelection> Cut(QueryContext& context, Uncut side, Grouping grouping,
                             const CancelToken& cancel) {
  GroupedSelection out{.instances = side.instances};
  if (!side.profiles.empty()) {
    if (grouping == Grouping::kInstances) {
      out.groups.resize(std::min(side.instances, kMostGroups));
      WHEREFORE_RETURN_IF_ERROR(SumInstances(context, side, out.groups, cancel));
      AddObserved(side, nullptr, out.groups);
    } else {
      const profile::TimeGrid blocks = BlocksOf(side);
      out.groups.resize(blocks.steps);
      WHEREFORE_RETURN_IF_ERROR(SumBlocks(context, side, blocks, out.groups, cancel));
      AddObserved(side, &blocks, out.groups);
    }
    std::erase_if(out.groups, [](const SampleGroup& g) { return g.values.empty(); });
  }
  out.resolved = std::move(side.resolved);
  return out;
}

}  // namespace

Result<GroupedSides> GroupSides(QueryContext& context, const Selection& before,
                                const Selection& after, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Uncut left, ReadSide(context, before, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(Uncut right, ReadSide(context, after, cancel));
  GroupedSides sides;
  sides.grouping = left.instances + right.instances >= kFewestInstances ? Grouping::kInstances
                                                                        : Grouping::kBlocks;
  WHEREFORE_ASSIGN_OR_RETURN(sides.before, Cut(context, std::move(left), sides.grouping, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(sides.after, Cut(context, std::move(right), sides.grouping, cancel));
  return sides;
}

}  // namespace wherefore::query
