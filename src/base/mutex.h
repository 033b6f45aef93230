// Mutex, MutexLock and CondVar: std::mutex with annotations for clang's -Wthread-safety.
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/thread_safety.h"

namespace wherefore {

class WHEREFORE_TSA(capability("mutex")) Mutex {
 public:
  void lock() WHEREFORE_TSA(acquire_capability()) { mutex_.lock(); }      // NOLINT: std names
  void unlock() WHEREFORE_TSA(release_capability()) { mutex_.unlock(); }  // NOLINT: std names

  // For fork handlers, which lock in one function and unlock in another; the analysis cannot follow
  // that. The second function begins with HeldOverFork() and ends with unlock().
  void LockForFork() WHEREFORE_TSA(no_thread_safety_analysis) { lock(); }
  void HeldOverFork() WHEREFORE_TSA(assert_capability()) {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class WHEREFORE_TSA(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) WHEREFORE_TSA(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() WHEREFORE_TSA(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

  void Wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // False on timeout.
  template <typename Clock, typename Duration>
  bool WaitUntil(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline) REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool woken = condition_.wait_until(lock, deadline) == std::cv_status::no_timeout;
    lock.release();
    return woken;
  }

 private:
  std::condition_variable condition_;
};

}  // namespace wherefore
