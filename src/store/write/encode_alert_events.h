// Events of alerts as rows. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "store/alert_event.h"
#include "store/write/rows.h"

namespace wherefore::store {

// In the bucket of their time, as of `now_ns`.
void EncodeAlertEvents(std::span<const AlertEvent> events, std::int64_t now_ns, Rows& rows);

}  // namespace wherefore::store
