// What the host's own limits on memory (ulimit -v, ulimit -d) leave of its address space.
//
// Any thread, not in signal handlers. Allocates nothing, so it works when memory has run out. If
// the system does not say, there is no limit.
#pragma once

#include <cstdint>

namespace wherefore::sdk {

// Bytes that may still be mapped; INT64_MAX without a limit.
[[nodiscard]] std::int64_t AddressSpaceLeft();

}  // namespace wherefore::sdk
