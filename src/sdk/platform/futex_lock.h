// FutexLock: a mutex of our own, because the host's pthread_mutex_lock is one of the calls we hook.
//
// For ordinary context, never in a signal handler. Held for short moments only. clang's
// -Wthread-safety knows it, as it knows base/mutex.h: say GUARDED_BY of what it guards.
//
// fork: the handlers take every lock before it, in one function, and give it back after it, in
// another, which no analysis can follow. LockForFork() and its two ends are for them alone.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/thread_safety.h"

namespace wherefore::sdk {

class WHEREFORE_TSA(capability("mutex")) FutexLock {
 public:
  void lock() WHEREFORE_TSA(acquire_capability()) {  // NOLINT(readability-identifier-naming): std
    std::uint32_t seen = kFree;
    if (state_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire)) return;
    const int error = errno;
    while (state_.exchange(kContended, std::memory_order_acquire) != kFree) {
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kContended, nullptr);
    }
    errno = error;
  }
  void unlock() WHEREFORE_TSA(release_capability()) {  // NOLINT(readability-identifier-naming)
    if (state_.exchange(kFree, std::memory_order_release) != kContended) return;
    const int error = errno;
    syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1);
    errno = error;
  }

  void LockForFork() WHEREFORE_TSA(no_thread_safety_analysis) { lock(); }
  void UnlockInParent() WHEREFORE_TSA(no_thread_safety_analysis) { unlock(); }
  // The child's end: it is alone, and nobody waits. Between the two calls it holds the lock.
  void HeldInChild() WHEREFORE_TSA(assert_capability()) {}
  void ResetInChild() WHEREFORE_TSA(release_capability()) {
    state_.store(kFree, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kContended = 2;
  std::atomic<std::uint32_t> state_{kFree};
};

// Holds a lock as long as it lives.
class WHEREFORE_TSA(scoped_lockable) FutexLockHold {
 public:
  explicit FutexLockHold(FutexLock& lock) WHEREFORE_TSA(acquire_capability(lock)) : lock_(lock) {
    lock_.lock();
  }
  ~FutexLockHold() WHEREFORE_TSA(release_capability()) { lock_.unlock(); }
  FutexLockHold(const FutexLockHold&) = delete;
  FutexLockHold& operator=(const FutexLockHold&) = delete;

 private:
  FutexLock& lock_;
};

}  // namespace wherefore::sdk
