// The threads of this process, as /proc/self/task names them. Ordinary context, any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace wherefore::sdk {

// Fills `tids`; false when /proc is not to be had.
bool ListThreads(std::vector<std::uint32_t>& tids);
// Whether the first thread ended by itself (pthread_exit in main) while others go on.
[[nodiscard]] bool FirstThreadEnded();

}  // namespace wherefore::sdk
