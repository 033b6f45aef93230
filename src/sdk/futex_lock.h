// FutexLock: a mutex of our own, because the host's pthread_mutex_lock is one of the calls we hook.
//
// For ordinary context, never in a signal handler. Held for short moments only. After fork the child
// may simply overwrite it (Reset): the thread that held it is not there.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace wherefore::sdk {

class FutexLock {
 public:
  void lock() {  // NOLINT(readability-identifier-naming): for std::lock_guard
    std::uint32_t seen = kFree;
    if (state_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire)) return;
    const int error = errno;
    while (state_.exchange(kContended, std::memory_order_acquire) != kFree) {
      syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kContended, nullptr);
    }
    errno = error;
  }
  void unlock() {  // NOLINT(readability-identifier-naming)
    if (state_.exchange(kFree, std::memory_order_release) != kContended) return;
    const int error = errno;
    syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1);
    errno = error;
  }
  void Reset() { state_.store(kFree, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kContended = 2;
  std::atomic<std::uint32_t> state_{kFree};
};

}  // namespace wherefore::sdk
