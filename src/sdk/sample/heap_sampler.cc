#include "sdk/sample/heap_sampler.h"

#include <atomic>
#include <cerrno>
#include <cmath>
#include <utility>

#include "sdk/platform/arch.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/collector_restart.h"
#include "sdk/sample/crash_marker.h"
#include "sdk/sample/shared.h"

namespace wherefore::sdk {
namespace {

// While heap profiling is off a thread looks again after this many bytes.
constexpr std::int64_t kLookAgain = 1 << 20;

std::atomic<std::uint64_t> g_next_id{1};

void Record(void* pointer, std::size_t size, double period) {
  const double bytes = static_cast<double>(size);
  const double chance = -std::expm1(-bytes / period);
  HeapWeight weight = {.bytes = bytes / chance, .objects = 1 / chance, .distance = period};
  Event* event = g_shared.queue.Claim();
  if (event == nullptr) return t_state.heap_lost.Add(weight);
  const Inside inside(Part::kHeap);
  event->kind = EventKind::kAlloc;
  // Samples that found no room, which Crowding() makes rare, are made up for by the next one that
  // does: sums stay right, though what is charged may be another's. At the distance they were taken
  // with, which may have been another.
  weight.Add(std::exchange(t_state.heap_lost, {}));
  event->value = static_cast<std::int64_t>(std::llround(weight.bytes));
  event->count = weight.objects;
  event->distance = weight.distance;
  event->id = g_next_id.fetch_add(1, std::memory_order_relaxed);
  CaptureHere(*event);
  CaptureContext(*event);
  event->detail = g_heap_table.Insert(
      pointer, event->id,
      {.bytes = static_cast<float>(weight.bytes), .objects = static_cast<float>(weight.objects)});
  PublishEvent(event);
}

}  // namespace

void CountLostAllocations() {
  const HeapWeight lost = std::exchange(t_state.heap_lost, {});
  if (lost.objects <= 0) return;
  g_shared.queue.CountLost(EventKind::kAlloc, {}, std::llround(lost.bytes),
                           std::llround(lost.objects));
}

void OnAllocated(void* pointer, std::size_t size) {
  const int error = errno;
  const std::int64_t period = g_shared.heap_period.load(std::memory_order_relaxed);
  const bool sampled = t_state.heap_armed && t_state.busy == 0 && pointer != nullptr && size > 0;
  if (t_state.busy > 0) {  // ours: the host's next one begins a new countdown
    t_state.heap_armed = false;
    t_state.heap_countdown = 0;
  } else if (period <= 0) {
    t_state.heap_armed = false;
    t_state.heap_countdown = kLookAgain;
    RestartCollectorIfDue();
  } else {
    const std::uint64_t start = Ticks();
    const Busy busy;
    RestartCollectorIfDue();
    if (sampled) Record(pointer, size, static_cast<double>(t_state.heap_mean));
    t_state.heap_armed = true;
    // Decided before the next one is drawn: whatever is allocated then, its weight is right.
    t_state.heap_mean = period * Crowding();
    t_state.heap_countdown = ExponentialStep(static_cast<double>(t_state.heap_mean));
    g_shared.cost.AddSince(SamplerKind::kHeap, start);
  }
  errno = error;
}

}  // namespace wherefore::sdk
