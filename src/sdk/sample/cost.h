// What the profiler costs the host program, measured while it works.
//
// Handlers and hooks add the ticks they spend; the governor reads the sum once a second. Any
// thread, any context.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "sdk/platform/arch.h"

namespace wherefore::sdk {

// What can be made cheaper by sampling less.
enum class SamplerKind : std::uint8_t { kCpu, kHeap, kLocks, kWall };
inline constexpr std::size_t kSamplerCount = 4;

struct Cost {
  std::array<std::atomic<std::uint64_t>, kSamplerCount> ticks{};  // of the time stamp counter
  std::atomic<double> ticks_per_ns{0};    // by the collector, once a second; 0: not known yet
  std::atomic<std::uint64_t> signals{0};  // delivered: the kernel's part of each is not in `ticks`

  void AddSince(SamplerKind sampler, std::uint64_t start) {
    // A sample takes microseconds. One that took longer was waiting for a CPU, which is no cost of
    // ours: on a busy machine rates would go down for nothing.
    constexpr std::uint64_t kLongestTicks = 200'000;
    ticks[static_cast<std::size_t>(sampler)].fetch_add(
        std::min<std::uint64_t>(Ticks() - start, kLongestTicks), std::memory_order_relaxed);
  }
};

}  // namespace wherefore::sdk
