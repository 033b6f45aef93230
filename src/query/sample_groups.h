// Groups: what of a selection is independent of the rest of it, for statistics.h. Instances where
// there are enough of them, else blocks of time.
//
// A group has its exact sums per stack and how long it was observed; together the groups are the
// selection, each sample in exactly one. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/observed_time.h"
#include "query/context.h"
#include "query/scan.h"

namespace wherefore::query {

// Which process a label set is of, by the labels that senders use for it; empty: they do not say.
[[nodiscard]] std::string_view InstanceOf(const Labels& labels);

// None: not tested, for a reason that stands beside it.
enum class Grouping : std::uint8_t { kInstances, kBlocks, kDays, kFiles, kNone };
[[nodiscard]] std::string_view GroupingName(Grouping grouping);

// Beyond this many instances several share a group.
inline constexpr std::size_t kMostGroups = 32;
inline constexpr std::size_t kBlocks = 8;
// With fewer instances on both sides together, blocks of time say more.
inline constexpr std::size_t kFewestInstances = 4;

struct SampleGroup {
  ValuesBySelection values;  // empty: no samples
  double observed_s = 0;     // instance-seconds
};

// Which group of a selection something belongs to: a sample by its label set and the time of its
// profile, a request by its instance and start.
class GroupIndex {
 public:
  // None: nothing of that instance, or of that time, was profiled.
  [[nodiscard]] std::optional<std::size_t> OfSample(std::uint32_t selection, std::uint32_t series,
                                                    std::int64_t time_ns) const;
  [[nodiscard]] std::optional<std::size_t> OfRequest(std::uint64_t service,
                                                     std::string_view instance,
                                                     std::int64_t start_ns) const;
  // Numbers the instance of a profile, and notes when it was seen.
  std::uint32_t Add(const Resolved& resolved, const store::ProfileSum& profile);
  // How long it was seen, once the lengths of profiles are known.
  void Extend(std::uint32_t instance, std::int64_t begin_ns, std::int64_t end_ns);
  // Once all were added.
  void SortCovered();
  void CutByInstance();
  // In equal parts, from the first profile to behind the last.
  void CutByTime();
  void CutByTime(const profile::TimeGrid& blocks);

  [[nodiscard]] std::size_t instances() const { return instances_.size(); }
  [[nodiscard]] std::size_t groups() const { return groups_; }
  [[nodiscard]] std::size_t GroupOf(std::uint32_t instance, std::int64_t time_ns) const;
  [[nodiscard]] const std::optional<profile::TimeGrid>& blocks() const { return blocks_; }

 private:
  struct Instance {
    std::size_t group = 0;
    std::int64_t begin_ns = INT64_MAX;
    std::int64_t end_ns = INT64_MIN;
    std::int64_t last_begin_ns = INT64_MIN;
    // What its profiles cover, by when they begin; the end is the latest one so far. Empty where a
    // length is not known: then everything between the first and the last counts as covered.
    std::vector<std::pair<std::int64_t, std::int64_t>> covered;
    bool all_lengths_known = true;
  };
  using Name = std::pair<std::uint64_t, std::string>;  // of a service, and in it
  std::map<Name, std::uint32_t> by_name_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_series_;  // selection, series
  std::vector<Instance> instances_;
  std::optional<profile::TimeGrid> blocks_;
  std::size_t groups_ = 0;
};

struct GroupedSelection {
  Resolved resolved;
  std::vector<store::ProfileSum> profiles;
  GroupIndex index;
  std::vector<SampleGroup> groups;

  // By the label set of a sample, which extends its profile's. None: not profiled.
  [[nodiscard]] std::optional<std::size_t> GroupOfSample(std::uint32_t selection,
                                                         std::uint32_t series,
                                                         std::int64_t profile_time_ns) const;
};

// Instances seen on average, while any was.
[[nodiscard]] double InstancesOf(const GroupedSelection& side);

// Both sides of a comparison, cut alike. Not for snapshots, whose values do not add up over time,
// nor for single spans, traces or profiles: kUnsupported.
struct GroupedSides {
  Grouping grouping = Grouping::kInstances;
  GroupedSelection before;
  GroupedSelection after;
};
Result<GroupedSides> GroupSides(QueryContext& context, const Selection& before,
                                const Selection& after, const CancelToken& cancel);

// The same in days, counted back from the end of each side's range.
Result<GroupedSides> GroupSidesByDay(QueryContext& context, const Selection& before,
                                     const Selection& after, const CancelToken& cancel);

// One selection by itself; a side without a second one.
struct GroupedAlone {
  Grouping grouping = Grouping::kInstances;
  GroupedSelection selection;
};
Result<GroupedAlone> GroupAlone(QueryContext& context, const Selection& selection,
                                const CancelToken& cancel);

}  // namespace wherefore::query
