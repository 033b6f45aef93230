// Bodies of deliveries: Alertmanager's API version 2, and its webhook's version 4. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "insight/alerts/outbox.h"
#include "insight/alerts/rule.h"

namespace wherefore::insight {

// What fires ends, unless it is told again, after four times as long as it is told again.
[[nodiscard]] std::string AlertmanagerBody(std::span<const Notice> notices, std::int64_t now_ns);
[[nodiscard]] std::string WebhookBody(std::span<const Notice> notices, const std::string& receiver,
                                      const std::string& external_url);

}  // namespace wherefore::insight
