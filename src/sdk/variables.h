// Names in the environment that look like ours and are none: a misspelt setting is not silent.
//
// Plain functions. Whoever calls them sees to it that nobody changes the environment meanwhile.
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
