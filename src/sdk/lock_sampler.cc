#include "sdk/lock_sampler.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "sdk/capture.h"
#include "sdk/collector_restart.h"
#include "sdk/crash_marker.h"
#include "sdk/shared.h"
#include "sdk/thread_state.h"

namespace wherefore::sdk {

constinit ContendedTable g_contended;

class ContendedTable::Hold {
 public:
  explicit Hold(Place& place) : place_(place) {
    const auto own = static_cast<std::uint32_t>(getpid());
    std::uint32_t holder = 0;
    while (!place_.held.compare_exchange_weak(holder, own, std::memory_order_acquire)) {
      if (holder == own) sched_yield();
      // Another process is our parent: a thread that is not here. It is taken from it.
      if (holder == own) holder = 0;
    }
  }
  ~Hold() { place_.held.store(0, std::memory_order_release); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  Place& place_;
};

namespace {

void DrawNext(std::int64_t period) {
  t_state.wait_mean = period;
  t_state.wait_countdown = ExponentialStep(static_cast<double>(period));
}

// Counts waiting time down to the next sample, as heap_sampler.cc counts bytes.
void Sample(EventKind kind, std::uint64_t detail, std::int64_t nanoseconds, double waits) {
  const std::int64_t period = g_shared.wait_period_ns.load(std::memory_order_relaxed);
  if (t_state.busy > 0 || period <= 0 || nanoseconds <= 0) return;
  RestartCollectorIfDue();
  if (t_state.wait_countdown == 0) DrawNext(period);
  t_state.wait_countdown -= nanoseconds;
  if (t_state.wait_countdown > 0) return;
  const std::uint64_t start = __rdtsc();
  const Busy busy;
  const Inside inside(Part::kLocks);
  const auto mean = static_cast<double>(t_state.wait_mean);
  DrawNext(period);
  const double chance = -std::expm1(-static_cast<double>(nanoseconds) / mean);
  const auto value =
      static_cast<std::int64_t>(std::llround(static_cast<double>(nanoseconds) / chance));
  Event* event = g_shared.queue.Claim();
  if (event == nullptr) {
    g_shared.queue.CountLost(kind, static_cast<WaitKind>(detail), value,
                             std::llround(waits / chance));
    return;
  }
  event->kind = kind;
  event->detail = detail;
  event->value = value;
  event->count = waits / chance;
  CaptureHere(*event);
  CaptureContext(*event);
  PublishEvent(event);
  g_shared.cost.AddSince(Sampler::kLocks, start);
}

}  // namespace

void OnWaited(WaitKind kind, std::int64_t waited_ns) {
  const int error = errno;
  Sample(EventKind::kWaiter, static_cast<std::uint64_t>(kind), waited_ns, 1);
  errno = error;
}

void OnUnlock(const void* mutex) {
  const int error = errno;
  std::uint32_t waiters = 0;
  const std::int64_t delay = g_contended.Charge(mutex, MonotonicNow(), waiters);
  if (delay > 0) Sample(EventKind::kHolder, 0, delay, waiters);
  errno = error;
}

bool ContendedTable::BeginWait(const void* mutex, std::int64_t now) {
  Place& place = places_[Index(mutex)];
  const Hold hold(place);
  if (place.waiters.load(std::memory_order_relaxed) != 0 && place.mutex != mutex) return false;
  place.mutex = mutex;
  place.since = place.waiters.load(std::memory_order_relaxed) == 0 ? now : place.since + now;
  place.waiters.fetch_add(1, std::memory_order_relaxed);
  all_waiters_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void ContendedTable::EndWait(const void* mutex, std::int64_t now) {
  Place& place = places_[Index(mutex)];
  const Hold hold(place);
  if (place.mutex != mutex) return;
  // The one who unlocked was charged a moment ago, so this waiter's own moment is close to now.
  place.since -= now;
  all_waiters_.fetch_sub(1, std::memory_order_relaxed);
  if (place.waiters.fetch_sub(1, std::memory_order_relaxed) == 1) place.since = 0;
}

std::int64_t ContendedTable::Charge(const void* mutex, std::int64_t now, std::uint32_t& waiters) {
  Place& place = places_[Index(mutex)];
  const Hold hold(place);
  waiters = place.waiters.load(std::memory_order_relaxed);
  if (waiters == 0 || place.mutex != mutex) return 0;
  const std::int64_t until = static_cast<std::int64_t>(waiters) * now;
  const std::int64_t delay = until - place.since;
  place.since = until;
  return delay;
}

void ContendedTable::Reset() {
  all_waiters_.store(0, std::memory_order_relaxed);
  for (Place& place : places_) {
    place.waiters.store(0, std::memory_order_relaxed);
    place.held.store(0, std::memory_order_relaxed);
  }
}

}  // namespace wherefore::sdk
