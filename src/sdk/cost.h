// What the profiler costs the host program, measured while it works.
//
// Handlers and hooks add the ticks they spend; the governor reads the sum once a second. Any thread,
// any context.
#pragma once

#include <x86intrin.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace wherefore::sdk {

// What can be made cheaper by sampling less.
enum class Sampler : std::uint8_t { kCpu, kHeap, kLocks, kWall };
inline constexpr std::size_t kSamplerCount = 4;

struct Cost {
  std::array<std::atomic<std::uint64_t>, kSamplerCount> ticks{};  // of the time stamp counter
  std::atomic<double> ticks_per_ns{0};    // by the collector, once a second; 0: not known yet
  std::atomic<std::uint64_t> signals{0};  // delivered: the kernel's part of each is not in `ticks`

  void AddSince(Sampler sampler, std::uint64_t start) {
    ticks[static_cast<std::size_t>(sampler)].fetch_add(__rdtsc() - start, std::memory_order_relaxed);
  }
};

}  // namespace wherefore::sdk
