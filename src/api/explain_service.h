// What is up with one service, in a few lines: what changed, what is expensive, what fires. Joins
// what regressions, differences of versions, sums, insights and alerts say; nothing is worked out
// here. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/cancel.h"
#include "base/result.h"
#include "insight/alerts/alerts.h"
#include "insight/regressions/watch.h"
#include "insight/rule.h"
#include "query/explain.h"

namespace wherefore::api {

// Who knows what; null: nobody does.
struct KnownOfServices {
  std::span<const insight::Rule> rules;
  const insight::Alerts* alerts = nullptr;
  const insight::Regressions* regressions = nullptr;
  std::int64_t budget_ns = 20'000'000'000;  // for insights
};

// kNotFound where the service has no profiles and no requests in the range.
Result<query::Explanation> ExplainService(query::QueryContext& context,
                                          const KnownOfServices& known, std::uint32_t tenant,
                                          const std::string& service, query::TimeRange range,
                                          const CancelToken& cancel);

}  // namespace wherefore::api
