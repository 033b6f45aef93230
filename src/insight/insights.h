// Insights: which known patterns cost how much, in which service. Any thread.
//
// Services are looked at one after the other, those that use most CPU first, until the time given
// is over: the answer says how many it looked at. Exact sums; intervals by statistics.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "insight/findings.h"
#include "insight/rule.h"
#include "query/context.h"

namespace wherefore::insight {

struct InsightOptions {
  std::size_t limit = 100;                  // findings
  std::int64_t budget_ns = 20'000'000'000;  // after which no other service is begun
  std::string rule;                         // only this one; empty: all
};

struct InsightsAnswer {
  std::vector<Finding> findings;  // most cores saved first, then by share
  std::size_t found = 0;          // listed or not
  std::size_t services = 0;       // that match
  std::size_t looked_at = 0;
  std::string hint;  // why there is nothing to look at
};

Result<InsightsAnswer> FindInsights(query::QueryContext& context, const query::Selection& selection,
                                    std::span<const Rule> rules, const InsightOptions& options,
                                    const CancelToken& cancel);

}  // namespace wherefore::insight
