// CpuTimers: one timer per thread of the host program, counting that thread's CPU time.
//
// Each expiry sends the thread a signal, which signal_sampler.cc turns into a sample. Such a timer
// fires only while its thread runs, so it never interrupts a system call that waits.
// Threads started through pthread_create register themselves (Add / Remove from that thread); all
// others are found by Scan(), which the collector calls every second. Any thread, not in signal
// handlers. A thread that gets no timer has no CPU samples, nothing else: refused() then says why.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "sdk/platform/futex_lock.h"
#include "sdk/sample/thread_registry.h"

namespace wherefore::sdk {

class CpuTimers {
 public:
  explicit CpuTimers(ThreadRegistry& registry) : registry_(registry) {}

  // `signal` is sent with `cookie` as its value every `period_ns`: to all threads, or, where there
  // is no other, to this one.
  void Start(int signal, void* cookie, std::int64_t period_ns, bool only_this_thread = false);
  void Stop();
  // Changes the distance between samples of all threads.
  void SetPeriod(std::int64_t period_ns);

  void Add(std::uint32_t tid);
  // True: a sample was due that the thread did not get.
  bool Remove(std::uint32_t tid);
  // Finds threads that did not register, forgets those that ended.
  void Scan();

  // The first error with which the system refused a thread its timer (EPERM: a sandbox; EAGAIN: no
  // room), 0 when it never did. A thread that ended meanwhile does not count.
  [[nodiscard]] int refused() const { return refused_.load(std::memory_order_acquire); }
  // And the name of the call that was refused.
  [[nodiscard]] const char* refused_call() const {
    return refused_call_.load(std::memory_order_relaxed);
  }
  // Whether any thread has one.
  [[nodiscard]] bool any();

  // In a forked child, after LockForFork: the parent's timers and threads are not ours. Unlocks.
  void ForgetAll();
  void LockForFork() { lock_.LockForFork(); }
  void UnlockAfterFork() { lock_.UnlockInParent(); }

 private:
  void AddLocked(std::uint32_t tid) REQUIRES(lock_);
  bool Arm(int timer, std::int64_t first_ns) const REQUIRES(lock_);
  void NoteRefusal(const char* call, int error) REQUIRES(lock_);

  FutexLock lock_;
  std::unordered_map<std::uint32_t, int> timers_ GUARDED_BY(lock_);  // thread -> kernel's timer id
  ThreadRegistry& registry_;
  int signal_ GUARDED_BY(lock_) = 0;
  void* cookie_ GUARDED_BY(lock_) = nullptr;
  std::int64_t period_ns_ GUARDED_BY(lock_) = 0;
  bool running_ GUARDED_BY(lock_) = false;
  std::uint64_t random_ GUARDED_BY(lock_) = 0;
  std::atomic<int> refused_{0};
  std::atomic<const char*> refused_call_{""};
};

}  // namespace wherefore::sdk
