// Whether our hooks stand where the host calls: first in line before the real functions, which is
// so in an executable that has us inside, linked or preloaded, and not in a library opened by
// dlopen.
//
// Looked at once and kept: the order of libraries does not change. Any thread; ordinary context.
#pragma once

#include <string>

namespace wherefore::sdk {

// Why the host's calls of malloc do not come to us; empty when they do.
[[nodiscard]] const std::string& WhyNoAllocations();
// The same of locks, conditions and semaphores.
[[nodiscard]] const std::string& WhyNoLocks();

}  // namespace wherefore::sdk
