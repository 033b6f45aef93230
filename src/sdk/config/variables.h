// Finds variables that look like ours but are not: a misspelt setting gets a warning.
//
// Plain functions. The caller makes sure that nobody changes the environment meanwhile.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace wherefore::sdk {

// A sentence for each variable of `environment` ("NAME=value", ended by a null pointer) that begins
// with WHEREFORE_ and is not among `known`, with the known name it was probably meant to be; at
// most ten.
[[nodiscard]] std::vector<std::string> UnknownVariables(const char* const* environment,
                                                        std::span<const std::string> known);

}  // namespace wherefore::sdk
