// Averages of snapshots, and the time in which anything of a selection was seen.
//
// The average over a range is the sum over all snapshots of value x how long it stands for, divided
// by the time in which any of them was taken: instances that never lived together are not added up,
// and what services and groups have adds up to the whole. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/observed_time.h"
#include "query/scan.h"

namespace wherefore::query {

using profile::AverageOf;
using profile::kAverageScale;

struct Snapshot {
  store::ProfileSum profile;
  profile::SeenProfile seen;  // how long it stands for
};
// Those of a query, and the time in which any of them was taken.
struct Snapshots {
  std::vector<Snapshot> all;
  profile::ObservedTime observed;
};

// The same query of the profiles its samples are in: labels of samples are left to them.
[[nodiscard]] store::SampleQuery ProfilesOf(const Resolved& resolved);

// The time in which profiles were taken, as far as they say how long they took or follow each
// other.
[[nodiscard]] profile::ObservedTime UnionOf(const std::vector<store::SeenRow>& rows);

// `resolved` has its series.
Result<Snapshots> ReadSnapshots(QueryContext& context, const Resolved& resolved,
                                const CancelToken& cancel);
Result<ValuesBySelection> Average(QueryContext& context, const Resolved& resolved,
                                  const CancelToken& cancel);

// The time in which any profile of the selection was taken, over all instances: what values per
// second are divided by. 0: not known, as of single samples.
Result<std::int64_t> ObservedNs(QueryContext& context, const Selection& selection,
                                const CancelToken& cancel);

}  // namespace wherefore::query
