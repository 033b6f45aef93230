// Whether this process's memory comes from another allocator than the C library's.
//
// libchdb brings an allocator of its own. What it is handed from outside, it frees with the `free`
// that it finds behind itself, which is the C library's; but what the C library hands out (a path,
// a line) was allocated by the first `malloc` there is. With jemalloc, tcmalloc or mimalloc in
// front, these are two, and the first such pointer ends the process. Hooks that pass on to the C
// library, as a profiler's do, do no harm. Called before the engine is loaded.
#pragma once

#include <string>

namespace wherefore::store {

// The files that have a `malloc` of their own, joined by ", "; empty when memory is the C
// library's.
[[nodiscard]] std::string OtherAllocator();

}  // namespace wherefore::store
