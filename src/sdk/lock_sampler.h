// LockSampler: who waited, for how long, and who made them wait.
//
// Waiters: a wait of W nanoseconds is sampled with probability 1 - e^(-W/R), R = wait_period_ns, and
// weighted by the inverse. Holders: while threads wait for a mutex, its address is in a small table;
// the one who unlocks it finds it there and is charged with the time they waited under it. So the
// delays of holders and waiters of mutexes add up to the same.
// Called by lock_hooks.cc in the host's threads, ordinary context. Any errno is left as it was.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "sdk/clock.h"
#include "sdk/event.h"

namespace wherefore::sdk {

// Records a finished wait, if it is its turn.
void OnWaited(WaitKind kind, std::int64_t waited_ns);

// The mutexes that somebody waits for, by a hash of their address. Two mutexes that share a place
// take turns: the second is then not charged to its holder.
class ContendedTable {
 public:
  // Does anybody wait here? One load when nobody waits anywhere.
  [[nodiscard]] bool MayBeWaitedFor(const void* mutex) const {
    return all_waiters_.load(std::memory_order_relaxed) != 0 &&
           places_[Index(mutex)].waiters.load(std::memory_order_relaxed) != 0;
  }
  // False: the place is taken by another mutex, do not call EndWait.
  bool BeginWait(const void* mutex, std::int64_t now);
  void EndWait(const void* mutex, std::int64_t now);
  // What the waiters have waited since the last holder was charged.
  std::int64_t Charge(const void* mutex, std::int64_t now, std::uint32_t& waiters);
  // In a forked child nobody waits.
  void Reset();

 private:
  struct alignas(64) Place {
    std::atomic<std::uint32_t> waiters{0};
    // A spin lock, for a few instructions on the contended path: the process that has it, so that a
    // child forked meanwhile, in which nobody will let it go, can tell.
    std::atomic<std::uint32_t> held{0};
    const void* mutex = nullptr;
    std::int64_t since = 0;  // sum over waiters of the moment from which on they are not yet charged
  };
  class Hold;

  static std::uint64_t Index(const void* mutex) {
    return ((reinterpret_cast<std::uintptr_t>(mutex) >> 3) * 0x9e3779b97f4a7c15ULL) >> 56;
  }
  alignas(64) std::atomic<std::uint32_t> all_waiters_{0};
  std::array<Place, 256> places_{};
};

extern constinit ContendedTable g_contended;

// By the holder, before it unlocks a mutex that may be waited for.
void OnUnlock(const void* mutex);

}  // namespace wherefore::sdk
