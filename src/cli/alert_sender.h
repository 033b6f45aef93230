// How alerts reach their receivers: HTTP with kept connections. Any thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "insight/alerts/alerts.h"

namespace wherefore::cli {

// The token's file is read for every request, so that it may be replaced.
[[nodiscard]] Result<insight::SendAlerts> MakeAlertSender();

}  // namespace wherefore::cli
