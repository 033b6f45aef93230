// Whether the host's calls reach our hooks. They do when the library is linked into the executable
// or preloaded, because the dynamic linker then finds ours first; they do not in a library opened
// by dlopen.
//
// Checked once: the order of libraries does not change. Any thread; ordinary context.
#pragma once

#include <string>

namespace wherefore::sdk {

// Why the host's calls of malloc do not come to us; empty when they do.
[[nodiscard]] const std::string& WhyNoAllocations();
// The same of locks, conditions and semaphores.
[[nodiscard]] const std::string& WhyNoLocks();

}  // namespace wherefore::sdk
