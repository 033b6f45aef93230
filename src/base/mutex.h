// Mutex and GUARDED_BY: std::mutex that clang's -Wthread-safety understands.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define WHEREFORE_TSA(x) __attribute__((x))
#else
#define WHEREFORE_TSA(x)
#endif
#undef GUARDED_BY  // abseil has one of the same meaning
#define GUARDED_BY(x) WHEREFORE_TSA(guarded_by(x))
#define REQUIRES(...) WHEREFORE_TSA(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) WHEREFORE_TSA(locks_excluded(__VA_ARGS__))

namespace wherefore {

class WHEREFORE_TSA(capability("mutex")) Mutex {
 public:
  void lock() WHEREFORE_TSA(acquire_capability()) { mutex_.lock(); }      // NOLINT: std names
  void unlock() WHEREFORE_TSA(release_capability()) { mutex_.unlock(); }  // NOLINT: std names

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
  // False when the time is up.
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
