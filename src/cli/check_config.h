// `check` for configurations, and for what a redact processor would take out of a file. One thread.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace wherefore::cli {

// Whether the file is a configuration with pipelines (or parts of one), by its content.
[[nodiscard]] bool IsConfigFile(const std::string& path);

// Prints every problem; kFound if there is an error, or with `strict` a warning.
int CheckConfig(const Context& context, const std::vector<std::string>& files,
                const std::vector<std::string>& sets, bool strict);

// Lists what would go, with the rules of the first redact processor of `config` (empty: the
// defaults); kFound if anything would.
int CheckRedaction(const Context& context, const std::vector<std::string>& files,
                   const std::vector<std::string>& config);

}  // namespace wherefore::cli
