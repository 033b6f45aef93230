// Groups: what of a selection is independent of the rest of it, for statistics.h. Instances where
// there are enough of them, else blocks of time.
//
// A group has its exact sums per stack and how long it was observed; together the groups are the
// selection, each sample in exactly one. Any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "query/scan.h"

namespace wherefore::query {

// Which process a label set is of, by the labels that senders use for it; empty: they do not say.
[[nodiscard]] std::string_view InstanceOf(const Labels& labels);

// None: not tested, for a reason that stands beside it.
enum class Grouping : std::uint8_t { kInstances, kBlocks, kNone };
[[nodiscard]] std::string_view GroupingName(Grouping grouping);

// Beyond this many instances several share a group.
inline constexpr std::size_t kMostGroups = 32;
inline constexpr std::size_t kBlocks = 8;
// With fewer instances on both sides together, blocks of time say more.
inline constexpr std::size_t kFewestInstances = 4;

struct SampleGroup {
  ValuesBySelection values;
  double observed_s = 0;  // instance-seconds
};
struct GroupedSelection {
  Resolved resolved;
  std::vector<SampleGroup> groups;  // at least one profile each
  std::size_t instances = 0;
};

// Both sides of a comparison, cut alike. Not for snapshots, whose values do not add up over time,
// nor for single spans, traces or profiles: kUnsupported.
struct GroupedSides {
  Grouping grouping = Grouping::kInstances;
  GroupedSelection before;
  GroupedSelection after;
};
Result<GroupedSides> GroupSides(QueryContext& context, const Selection& before,
                                const Selection& after, const CancelToken& cancel);

}  // namespace wherefore::query
