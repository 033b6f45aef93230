// Shared: the state that handlers, hooks and the collector have in common.
//
// One per process, constant-initialised: hooks run before any constructor of ours and after every
// destructor. Written by the collector and the controlling thread, read from anywhere; whatever a
// signal handler reads is an atomic or never changes after Open.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "sdk/platform/futex_event.h"
#include "sdk/sample/cost.h"
#include "sdk/sample/event_queue.h"
#include "sdk/unwind/code_map.h"
#include "sdk/unwind/early_stacks.h"

namespace wherefore::sdk {

struct Shared {
  EventQueue queue;
  EarlyStacks early;
  CodeMapSlots* code_maps = nullptr;  // set before the first sample, never unset
  Cost cost;
  FutexEvent collector_wake;
  // Distances between samples; 0: that kind is off.
  std::atomic<std::int64_t> cpu_period_ns{0};
  std::atomic<std::int64_t> heap_period{0};   // bytes
  std::atomic<std::uint32_t> cpu_session{1};  // goes up when CPU sampling begins anew
  std::atomic<std::int64_t> wait_period_ns{0};
  std::atomic<bool> mutex_on{false};
  std::atomic<bool> block_on{false};
  std::atomic<int> pid{0};
  // Set in a forked child: the collector is to be started by the next hooked call.
  std::atomic<bool> restart_due{false};
};

extern constinit Shared g_shared;  // NOLINT(bugprone-dynamic-static-initializers): constinit

// The factor by which samplers that can choose should sample less now. Once there are tables, early
// stacks are rare and do not count.
inline std::int64_t Crowding() {
  const std::int64_t queue = g_shared.queue.Crowding();
  return g_shared.code_maps->published() ? queue : std::max(queue, g_shared.early.Crowding());
}

// Nanoseconds of waiting between two samples now; 0: waits are not sampled.
inline std::int64_t WaitDistance() {
  const std::int64_t period = g_shared.wait_period_ns.load(std::memory_order_relaxed);
  return period <= 0 ? 0 : period * Crowding();
}

// Ordinary context: publishes the event, and wakes the collector when much is waiting.
inline void PublishEvent(Event* event) {
  const bool early = event->early != 0;
  g_shared.queue.Publish(event);
  if (g_shared.queue.MoreThanHalfFull() || (early && g_shared.early.Filling())) [[unlikely]] {
    g_shared.collector_wake.Signal();
  }
}

}  // namespace wherefore::sdk
