// What the profiler costs the host program, measured while it works.
//
// Handlers and hooks add the ticks they spend; the governor reads the sum once a second. Any thread,
// any context.
#pragma once

#include <x86intrin.h>

#include <atomic>
#include <cstdint>

namespace wherefore::sdk {

struct Cost {
  std::atomic<std::uint64_t> ticks{0};    // of the time stamp counter
  std::atomic<std::uint64_t> signals{0};  // delivered: the kernel's part of each is not in `ticks`

  void AddSince(std::uint64_t start) { ticks.fetch_add(__rdtsc() - start, std::memory_order_relaxed); }
};

}  // namespace wherefore::sdk
