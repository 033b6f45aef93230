// Rules of alerts from YAML (docs/alerts.md).
//
// Pure; any thread. Failure: everything that is wrong is among the problems, with file, line,
// column and key, and reading goes on.
#pragma once

#include <string>
#include <string_view>

#include "insight/alerts/rule.h"
#include "settings/problems.h"

namespace wherefore::insight {

[[nodiscard]] AlertConfig ReadAlerts(std::string_view text, std::string_view file,
                                     settings::Problems& problems);

// The same; the first mistake is the error.
[[nodiscard]] Result<AlertConfig> ParseAlerts(std::string_view text, std::string_view file);

// What `when` says: "above 20%", "change above 10% against yesterday", "anomaly", "gap 3m".
[[nodiscard]] Result<Condition> ReadCondition(std::string_view text);

// A name that Prometheus and Alertmanager take for a label.
[[nodiscard]] bool IsLabelName(std::string_view name);

}  // namespace wherefore::insight
