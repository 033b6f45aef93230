// What the host's own limits on memory (ulimit -v, ulimit -d) leave of its address space.
//
// Any thread, not in signal handlers; allocates nothing, so it may be asked when there is nothing
// left to allocate. Where the system does not tell, there is no limit.
#pragma once

#include <cstdint>

namespace wherefore::sdk {

// Bytes that may still be mapped; INT64_MAX without a limit.
[[nodiscard]] std::int64_t AddressSpaceLeft();

}  // namespace wherefore::sdk
