#include "cli/serve_memory.h"

#include <malloc.h>

#include <algorithm>

#include "base/memory_budget.h"
#include "base/metrics.h"

namespace wherefore::cli {

void DivideMemory(store::StoreOptions& o, Limits& limits) {
  const MemoryShares shares = MemoryBudget::Process().shares();
  o.engine_bytes = std::min(o.engine_bytes, shares.engine);
  o.flush_bytes = std::min(o.flush_bytes, shares.work / 8);
  o.max_queued_bytes = std::min(o.max_queued_bytes, shares.work / 2);
  o.dictionary_bytes = std::min(o.dictionary_bytes, shares.work / 6);
  limits.query_memory_bytes =
      std::min(limits.query_memory_bytes, static_cast<std::int64_t>(o.engine_bytes / 10 * 6));
  o.query_memory_bytes = limits.query_memory_bytes;
  limits.query_cache_bytes = std::min(limits.query_cache_bytes, shares.work / 6);
}

void AddMemoryMetrics() {
  Metrics::Global().SetCallback("wherefore_memory_resident_bytes", "Resident memory.", [] {
    return static_cast<double>(ReadProcessMemory().resident_bytes);
  });
  Metrics::Global().SetCallback("wherefore_memory_anonymous_bytes", "Anonymous memory.", [] {
    return static_cast<double>(ReadProcessMemory().anonymous_bytes);
  });
  Metrics::Global().SetCallback("wherefore_memory_limit_bytes", "Memory the server may use.", [] {
    return static_cast<double>(MemoryBudget::Process().limit());
  });
  Metrics::Global().SetCallback("wherefore_memory_held_bytes",
                                "Memory held for requests, queries and names.",
                                [] { return static_cast<double>(MemoryBudget::Process().held()); });
}

void KeepFreeMemorySmall(std::size_t limit) {
  if (limit >= (std::size_t{4} << 30)) return;
  mallopt(M_MMAP_THRESHOLD, 512 << 10);
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
  mallopt(M_ARENA_MAX, 2);
}

void ReturnFreeMemory() {
  constexpr std::size_t kWorthIt = 32u << 20;
  if (mallinfo2().fordblks > kWorthIt) malloc_trim(0);
}

}  // namespace wherefore::cli
