// The threads of this process, as /proc/self/task names them. Ordinary context, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace wherefore::sdk {

// Why the thread ids below cannot be used; empty when they can. A process in a new PID namespace
// that sees the outer /proc finds its threads there under the ids they have outside.
[[nodiscard]] const char* WhyThreadIdsDiffer();
// How many there are, by one system call; nothing when /proc is not available.
[[nodiscard]] std::optional<std::int64_t> CountThreads();
// Fills `tids`; false when /proc is not available.
bool ListThreads(std::vector<std::uint32_t>& tids);
// Whether the first thread ended by itself (pthread_exit in main) while others go on.
[[nodiscard]] bool FirstThreadEnded();

}  // namespace wherefore::sdk
