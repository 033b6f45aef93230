// Values over time, by group and step.
//
// Sums are shared out between the steps a profile lasts in; averages of snapshots are over the part
// of each step in which any of them was taken (snapshots.h). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "query/tiers.h"

namespace wherefore::query {

struct TimelineOptions {
  store::Steps steps;
  std::vector<std::string> group_by;
  std::size_t max_groups = 0;  // 0: no limit
  LensSearch wanted;           // its search may be empty
};
struct TimelineGroup {
  Labels labels;  // the group-by labels
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> profiles;  // how many are in each step
};
struct TimelineAnswer {
  std::string type;
  std::string unit;
  bool averaged = false;
  std::int64_t scale = 1;
  std::int64_t start_ns = 0;  // of the first step
  std::int64_t step_ns = 0;
  std::int64_t newest_ns = 0;  // start of the newest profile in it; 0: none
  // How much of each step was seen, of all groups together; empty unless profiles are shared out.
  std::vector<std::int64_t> observed_ns;
  // Largest first; groups beyond the limit are added up in one called "other".
  std::vector<TimelineGroup> groups;
  // Of what is looked for, all groups together; only with a search.
  std::optional<std::vector<std::int64_t>> matched;
  std::string hint;
  // Profiles are there as long as sums by hour are, so that only a search, or labels of samples,
  // can need samples that are gone.
  Tier tier;
};

Result<TimelineAnswer> Timeline(QueryContext& context, const Selection& selection,
                                const TimelineOptions& options, const CancelToken& cancel);

}  // namespace wherefore::query
