// Memory of `serve`: how the limit is divided between its parts, and what is given back. Any
// thread, unless said otherwise.
#pragma once

#include <cstddef>

#include "cli/serve_limits.h"
#include "store/store.h"

namespace wherefore::cli {

// Limit for answers that wait to be read; lower if there is little memory.
inline constexpr std::size_t kMaxUnread = std::size_t{1} << 30;

// The defaults suit a large machine; on a small one each part gets less.
void DivideMemory(store::StoreOptions& options, Limits& limits);
// What /metrics says about it.
void AddMemoryMetrics();

// Before threads start: otherwise the allocator learns to keep large freed blocks, one heap per
// thread: half of a small machine.
void KeepFreeMemorySmall(std::size_t limit);
// The tree of a large query is in the heap of the worker that built it, and the C library keeps
// freed memory below its threshold. Returns it, from where no query waits for it.
void ReturnFreeMemory();

}  // namespace wherefore::cli
