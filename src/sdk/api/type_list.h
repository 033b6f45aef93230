// What is on and what is off, for the log. Pure function; any thread.
#pragma once

#include <string>
#include <vector>

#include "sdk/collect/type_state.h"

namespace wherefore::sdk {

// "on: cpu 100 Hz, heap every 512 KiB; off: mutex (switched off)"
[[nodiscard]] std::string ListTypes(const std::vector<TypeState>& states);

}  // namespace wherefore::sdk
