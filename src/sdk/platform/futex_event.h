// FutexEvent: wakes a thread of ours that waits, without the host's condition variables.
//
// Signal() from any thread; one waiter. A signal given while nobody waits is kept.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace wherefore::sdk {

class FutexEvent {
 public:
  void Signal() {
    if (pending_.exchange(1, std::memory_order_acq_rel) != 0) return;  // known already
    syscall(SYS_futex, &pending_, FUTEX_WAKE_PRIVATE, 1);
  }
  // Returns when signalled (true) or after `nanoseconds`.
  bool WaitFor(std::int64_t nanoseconds) {
    const timespec timeout{.tv_sec = nanoseconds / 1'000'000'000,
                           .tv_nsec = nanoseconds % 1'000'000'000};
    if (pending_.load(std::memory_order_acquire) == 0 && nanoseconds > 0) {
      syscall(SYS_futex, &pending_, FUTEX_WAIT_PRIVATE, 0, &timeout);
    }
    return pending_.exchange(0, std::memory_order_acq_rel) != 0;
  }

 private:
  std::atomic<std::uint32_t> pending_{0};
};

}  // namespace wherefore::sdk
