// Events of regressions as rows. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "store/regression_event.h"
#include "store/write/rows.h"

namespace wherefore::store {

// In the bucket of their time, as of `now_ns`.
void EncodeRegressionEvents(std::span<const RegressionEvent> events, std::int64_t now_ns,
                            Rows& rows);

}  // namespace wherefore::store
