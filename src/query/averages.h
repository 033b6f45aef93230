// Averages of snapshots and the time they are over: what the files of Engine share. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/observed_time.h"
#include "query/catalog.h"
#include "store/read.h"

namespace wherefore::query {

using profile::AverageOf;
using profile::kAverageScale;

struct Snapshot {
  store::ProfileSum profile;
  profile::SeenProfile seen;  // how long it stands for
};
// Those of a question, and the time in which any of them was taken.
struct Snapshots {
  std::vector<Snapshot> all;
  profile::ObservedTime observed;
};

// The same question of the profiles its samples are in: labels of samples are left to them.
[[nodiscard]] store::SampleQuery ProfilesOf(const Resolved& resolved);

// The time in which profiles were taken, as far as they say how long they took or follow each
// other.
[[nodiscard]] profile::ObservedTime UnionOf(const std::vector<store::SeenRow>& rows);

}  // namespace wherefore::query
