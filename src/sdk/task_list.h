// The threads of this process, as /proc/self/task names them. Ordinary context, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace wherefore::sdk {

// Why nothing can be done with the numbers below; empty: something can. A process in a new PID
// namespace that sees the outer /proc finds its threads there under the numbers they have outside.
[[nodiscard]] const char* WhyNumbersAreNotOurs();
// How many there are, for one system call; nothing when /proc is not to be had.
[[nodiscard]] std::optional<std::int64_t> CountThreads();
// Fills `tids`; false when /proc is not to be had.
bool ListThreads(std::vector<std::uint32_t>& tids);
// Whether the first thread ended by itself (pthread_exit in main) while others go on.
[[nodiscard]] bool FirstThreadEnded();

}  // namespace wherefore::sdk
