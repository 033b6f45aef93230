// ThreadRegistry: what each thread of the host registered when it started.
//
// Threads started through pthread_create enter and leave by themselves (thread_hooks.cc); others
// are unknown here, so their wall-clock samples have no span ids. The profiler's own threads are
// listed too, to be left out. Any thread, ordinary context.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "sdk/platform/futex_lock.h"

namespace wherefore::sdk {

class ThreadRegistry {
 public:
  // Enters the calling thread. `stack_low` and `stack_high` are its stack.
  void EnterThisThread(std::uintptr_t stack_low, std::uintptr_t stack_high);
  void LeaveThisThread();
  // The calling thread is one of ours.
  void EnterOwnThread();

  // All 0: not known.
  struct Thread {
    // Where its context record is (context.h), in its thread-local memory, and where its stack ends
    // (above every frame): to be read with process_vm_readv only, the thread may end at any time.
    std::uintptr_t context = 0;
    std::uintptr_t stack_high = 0;
  };
  [[nodiscard]] Thread Find(std::uint32_t tid);
  [[nodiscard]] bool IsOwn(std::uint32_t tid);
  // How many threads are ours; never more than there are.
  [[nodiscard]] std::size_t own();
  // Goes up with every thread that registers or leaves.
  [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }

  // In a forked child, after LockForFork: only the calling thread is there. Unlocks.
  void ForgetOthers();
  void LockForFork() { lock_.LockForFork(); }
  void UnlockAfterFork() { lock_.UnlockInParent(); }

 private:
  FutexLock lock_;
  std::unordered_map<std::uint32_t, Thread> threads_ GUARDED_BY(lock_);
  std::unordered_set<std::uint32_t> own_ GUARDED_BY(lock_);
  std::atomic<std::uint64_t> changes_{0};
};

}  // namespace wherefore::sdk
