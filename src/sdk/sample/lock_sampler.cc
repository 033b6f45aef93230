#include "sdk/sample/lock_sampler.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "sdk/platform/thread_state.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/collector_restart.h"
#include "sdk/sample/crash_marker.h"
#include "sdk/sample/shared.h"

namespace wherefore::sdk {

constinit ContendedTable g_contended;

class ContendedTable::Hold {
 public:
  explicit Hold(Place& place) : place_(place) {
    const auto own = static_cast<std::uint32_t>(g_shared.pid.load(std::memory_order_relaxed));
    std::uint32_t holder = 0;
    while (!place_.held.compare_exchange_weak(holder, own, std::memory_order_acquire)) {
      // Another process is our parent: a thread that is not here. It is taken from it, also by a
      // child that does not know yet that it is one.
      const bool here = holder == own && static_cast<std::uint32_t>(getpid()) == own;
      if (here) sched_yield();
      if (here) holder = 0;
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

void Publish(EventKind kind, WaitKind wait, std::int64_t value, double waits) {
  Event* event = g_shared.queue.Claim();
  if (event == nullptr) return g_shared.queue.CountLost(kind, wait, value, std::llround(waits));
  event->kind = kind;
  event->detail = static_cast<std::uint64_t>(wait);
  event->value = value;
  event->count = waits;
  CaptureHere(*event);
  CaptureContext(*event);
  PublishEvent(event);
}

// Counts waiting time down to the next sample, as heap_sampler.cc counts bytes.
void SampleWaiter(WaitKind kind, std::int64_t nanoseconds) {
  const std::int64_t period = WaitDistance();
  if (t_state.busy > 0 || period <= 0 || nanoseconds <= 0) return;
  RestartCollectorIfDue();
  // Where there was no sample the rest of a countdown is as good as a new one, of any length.
  if (t_state.wait_countdown == 0 || t_state.wait_mean != period) DrawNext(period);
  t_state.wait_countdown -= nanoseconds;
  if (t_state.wait_countdown > 0) return;
  const std::uint64_t start = Ticks();
  const Busy busy;
  const Inside inside(Part::kLocks);
  const auto mean = static_cast<double>(t_state.wait_mean);
  DrawNext(period);
  const double chance = -std::expm1(-static_cast<double>(nanoseconds) / mean);
  Publish(EventKind::kWaiter, kind, std::llround(static_cast<double>(nanoseconds) / chance),
          1 / chance);
  g_shared.cost.AddSince(SamplerKind::kLocks, start);
}

void SampleHolder(const void* mutex) {
  const std::int64_t period = WaitDistance();
  if (t_state.busy > 0 || period <= 0) return;
  const std::uint64_t start = Ticks();
  RestartCollectorIfDue();
  const Busy busy;
  const Inside inside(Part::kLocks);
  const ContendedTable::Charged charged = g_contended.Charge(mutex, MonotonicNow(), period);
  if (charged.delay > 0) Publish(EventKind::kHolder, {}, charged.delay, charged.waits);
  g_shared.cost.AddSince(SamplerKind::kLocks, start);
}

}  // namespace

void OnWaited(WaitKind kind, std::int64_t waited_ns) {
  const int error = errno;
  SampleWaiter(kind, waited_ns);
  errno = error;
}

void OnUnlock(const void* mutex) {
  const int error = errno;
  SampleHolder(mutex);
  errno = error;
}

// What is waiting now has waited until now.
void ContendedTable::Place::AddUntil(std::int64_t now) {
  const std::int64_t until =
      static_cast<std::int64_t>(waiters.load(std::memory_order_relaxed)) * now;
  waited += until - since;
  since = until;
}

void ContendedTable::Place::Take(std::int64_t nanoseconds) {
  waited = std::max<std::int64_t>(waited - std::max<std::int64_t>(nanoseconds, 0), 0);
}

void ContendedTable::Place::Draw(std::int64_t period) {
  mean = period;
  next = ExponentialStep(static_cast<double>(period));
  waited = 0;
  waits = 0;
}

void ContendedTable::Place::SetDue() {
  const double ticks_per_ns = g_shared.cost.ticks_per_ns.load(std::memory_order_relaxed);
  const std::uint32_t count = std::max(waiters.load(std::memory_order_relaxed), 1U);
  const double left = static_cast<double>(std::max<std::int64_t>(next - waited, 0)) / count;
  due.store(ticks_per_ns > 0 ? Ticks() + static_cast<std::uint64_t>(left * ticks_per_ns) : 0,
            std::memory_order_relaxed);
}

bool ContendedTable::BeginWait(const void* mutex, std::int64_t now, std::int64_t period) {
  Place& place = places_[Index(mutex)];
  const Hold hold(place);
  if (place.waiters.load(std::memory_order_relaxed) != 0 && place.mutex != mutex) return false;
  place.mutex = mutex;
  if (place.mean == 0) place.Draw(period);
  place.AddUntil(now);
  place.since += now;
  ++place.waits;
  place.waiters.fetch_add(1, std::memory_order_relaxed);
  all_waiters_.fetch_add(1, std::memory_order_relaxed);
  place.SetDue();
  return true;
}

void ContendedTable::EndWait(const void* mutex, std::int64_t began, std::int64_t now, bool taken) {
  Place& place = places_[Index(mutex)];
  const Hold hold(place);
  if (place.mutex != mutex || place.waiters.load(std::memory_order_relaxed) == 0) return;
  place.AddUntil(now);
  place.since -= now;
  place.waiters.fetch_sub(1, std::memory_order_relaxed);
  all_waiters_.fetch_sub(1, std::memory_order_relaxed);
  if (!taken) {
    place.Take(now - began);
  } else if (const double ticks_per_ns = g_shared.cost.ticks_per_ns.load(); ticks_per_ns > 0) {
    // How long this thread took to wake up is nobody's doing.
    const auto ticks = static_cast<std::int64_t>(Ticks() - place.unlocked.load());
    place.Take(std::min(now - began,
                        static_cast<std::int64_t>(static_cast<double>(ticks) / ticks_per_ns)));
  }
  place.SetDue();
}

ContendedTable::Charged ContendedTable::Charge(const void* mutex, std::int64_t now,
                                               std::int64_t period) {
  Place& place = places_[Index(mutex)];
  const Hold hold(place);
  if (place.waiters.load(std::memory_order_relaxed) == 0 || place.mutex != mutex) return {};
  place.AddUntil(now);
  Charged charged;
  if (place.waited >= place.next) {
    // One sample stands for `mean`; what lies beyond its moment would have had others, which on
    // average stand for just that much.
    charged.delay = place.mean + (place.waited - place.next);
    charged.waits =
        place.waits * static_cast<double>(charged.delay) / static_cast<double>(place.waited);
    place.Draw(period);
  }
  place.SetDue();
  return charged;
}

void ContendedTable::Reset() {
  all_waiters_.store(0, std::memory_order_relaxed);
  for (Place& place : places_) {
    place.waiters.store(0, std::memory_order_relaxed);
    place.held.store(0, std::memory_order_relaxed);
    place.since = 0;
  }
}

}  // namespace wherefore::sdk
