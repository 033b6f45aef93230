// A dry run: when rules would have fired over data that is stored.
//
// The same judging and the same states as of the server's own rounds, at the same times of the
// clock. Any thread. Failure: kLimit when time is over, with what to do; kInvalid for too many
// moments.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "insight/alerts/rule.h"
#include "insight/alerts/state.h"
#include "query/context.h"

namespace wherefore::insight {

struct DryRunOptions {
  store::TimeRange range;
  std::int64_t step_ns = 0;  // 0: each group's `every`, or longer where there are many moments
  std::size_t most_moments = 720;  // then
};

// A time in which an alert was pending or fired.
struct WouldFire {
  std::size_t rule = 0;  // over all groups
  std::string service;
  AlertPhase phase = AlertPhase::kFiring;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;  // 0: it still is at the end
  Measured first;          // when it began
  Measured most;           // with the value farthest from the bound
};

struct DryRun {
  std::vector<AlertRule> rules;
  std::vector<WouldFire> times;  // by beginning
  struct OfRule {
    std::size_t services = 0;
    std::size_t moments = 0;  // at which it was judged, of all services together
    std::size_t unknown = 0;  // of them: nothing was known
    std::string note;         // why, the last time
    std::int64_t step_ns = 0;
  };
  std::vector<OfRule> of_rules;
};

Result<DryRun> RunDry(query::QueryContext& context, const AlertConfig& config,
                      const DryRunOptions& options, const CancelToken& cancel);

}  // namespace wherefore::insight
