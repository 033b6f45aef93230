// LockSampler: who waited, for how long, and who made them wait.
//
// Waiters: a wait of W nanoseconds is sampled with probability 1 - e^(-W/R), R = WaitDistance(),
// and weighted by the inverse. Holders: while threads wait for a mutex, its address is in a small
// table, with the moment at which a next sample is due; who unlocks it after that moment is
// charged. Those moments are R nanoseconds of waiting apart on average, without memory, all waiters
// together: the delays of holders and waiters of mutexes add up to the same but for the sampling
// error. Called by lock_hooks.cc in the host's threads, ordinary context. Any errno is left as it
// was.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "sdk/platform/arch.h"
#include "sdk/platform/clock.h"
#include "sdk/sample/event.h"

namespace wherefore::sdk {

// Records a finished wait, if it is its turn.
void OnWaited(WaitKind kind, std::int64_t waited_ns);

// The mutexes that somebody waits for, by a hash of their address. Two mutexes that share a place
// take turns: the second is then not charged to its holder.
class ContendedTable {
 public:
  // A sample of a holder: what it stands for.
  struct Charged {
    std::int64_t delay = 0;  // 0: it was not its turn
    double waits = 0;
  };

  // Before a mutex is unlocked: does anybody wait here, and is a sample due? Of a mutex that is
  // always waited for, most unlocks are short: they pay for one look at the counter of ticks.
  [[nodiscard]] bool IsDue(const void* mutex) {
    if (all_waiters_.load(std::memory_order_relaxed) == 0) return false;
    Place& place = places_[Index(mutex)];
    if (place.waiters.load(std::memory_order_relaxed) == 0) return false;
    const std::uint64_t ticks = Ticks();
    place.unlocked.store(ticks, std::memory_order_relaxed);
    return ticks >= place.due.load(std::memory_order_relaxed);
  }
  // False: the place is taken by another mutex, do not call EndWait. `period`: WaitDistance().
  bool BeginWait(const void* mutex, std::int64_t now, std::int64_t period);
  // `taken`: it has the mutex now. A wait that was given up charges nobody.
  void EndWait(const void* mutex, std::int64_t began, std::int64_t now, bool taken);
  // By the thread that unlocks a mutex for which IsDue() was true.
  Charged Charge(const void* mutex, std::int64_t now, std::int64_t period);
  // In a forked child nobody waits.
  void Reset();

 private:
  struct alignas(64) Place {
    std::atomic<std::uint32_t> waiters{0};
    // A spin lock, for a few instructions on the contended path: the process that has it, so that a
    // child forked meanwhile, in which nobody will let it go, can tell.
    std::atomic<std::uint32_t> held{0};
    std::atomic<std::uint64_t> due{0};       // in ticks; 0 until it is known how long one takes
    std::atomic<std::uint64_t> unlocked{0};  // in ticks, while somebody waits
    const void* mutex = nullptr;
    std::int64_t since = 0;   // sum over all waiters of the time up to which `waited` counts them
    std::int64_t waited = 0;  // by all, since the last sample
    std::int64_t next = 0;    // the sample is due when `waited` gets here
    std::int64_t mean = 0;    // `next` was drawn with; 0: not yet
    std::uint32_t waits = 0;  // that began since the last sample

    void AddUntil(std::int64_t now);
    void Take(std::int64_t nanoseconds);
    void Draw(std::int64_t period);
    void SetDue();
  };
  class Hold;

  static std::uint64_t Index(const void* mutex) {
    return ((reinterpret_cast<std::uintptr_t>(mutex) >> 3) * 0x9e3779b97f4a7c15ULL) >> 56;
  }
  alignas(64) std::atomic<std::uint32_t> all_waiters_{0};
  std::array<Place, 256> places_{};
};

extern constinit ContendedTable g_contended;

// By the holder, before it unlocks a mutex for which a sample is due.
void OnUnlock(const void* mutex);

}  // namespace wherefore::sdk
