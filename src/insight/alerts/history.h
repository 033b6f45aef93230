// What happened to alerts, as layers above ask for it. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "store/alert_event.h"

namespace wherefore::insight {

using AlertHistoryEvent = store::AlertEvent;

struct AlertHistoryQuery {
  std::uint32_t tenant = 0;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = INT64_MAX;
  std::string alert;        // empty: all
  std::string service;      // empty: all
  bool deliveries = false;  // those too, not states alone
  std::size_t limit = 1000;
};

// Newest first. What was only written again, so that it is kept, is left out.
Result<std::vector<AlertHistoryEvent>> AlertHistory(query::QueryContext& context,
                                                    const AlertHistoryQuery& query,
                                                    const CancelToken& cancel);

}  // namespace wherefore::insight
