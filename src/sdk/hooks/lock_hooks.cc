// Locks, condition variables and semaphores, as the host program calls them.
//
// What always holds: the real function decides; ours looks at the clock only when it has to wait.
// A free mutex costs a trylock instead of a lock. Any thread.
#include <pthread.h>
#include <semaphore.h>

#include <cerrno>

#include "sdk/platform/next_function.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/lock_sampler.h"
#include "sdk/sample/shared.h"

namespace wherefore::sdk {
namespace {

[[gnu::always_inline]] inline bool On(const std::atomic<bool>& type) {
  return type.load(std::memory_order_relaxed) && t_state.busy == 0;
}

// A wait that is one call from beginning to end.
template <typename Wait>
[[gnu::always_inline]] inline int Timed(WaitKind kind, Wait wait) {
  if (!On(g_shared.block_on)) return wait();
  const std::int64_t start = MonotonicNow();
  const int result = wait();
  OnWaited(kind, MonotonicNow() - start);
  return result;
}

// This thread is about to let the mutex go.
[[gnu::always_inline]] inline void UnlockedBy(const pthread_mutex_t* mutex) {
  if (g_contended.IsDue(mutex)) [[unlikely]]
    OnUnlock(mutex);
}

// Takes a mutex by `lock`, and records the wait if another thread holds it.
template <typename Lock>
[[gnu::always_inline]] inline int LockContended(pthread_mutex_t* mutex, Lock lock) {
  if (t_state.busy > 0) return lock();
  const std::int64_t start = MonotonicNow();
  const std::int64_t period = WaitDistance();
  const bool entered = period > 0 && g_contended.BeginWait(mutex, start, period);
  const int result = lock();
  const std::int64_t end = MonotonicNow();
  if (entered) g_contended.EndWait(mutex, start, end, result == 0 || result == EOWNERDEAD);
  if (g_shared.block_on.load(std::memory_order_relaxed)) OnWaited(WaitKind::kMutex, end - start);
  return result;
}

// Apart, so that the way of a free mutex is short.
[[gnu::noinline]] WHEREFORE_HOOK int LockForEver(pthread_mutex_t* mutex) {
  return LockContended(mutex, [mutex] { return CallNext<"pthread_mutex_lock", int>(mutex); });
}

[[gnu::always_inline]] inline bool IsFree(pthread_mutex_t* mutex, int* result) {
  *result = CallNext<"pthread_mutex_trylock", int>(mutex);
  return *result != EBUSY;
}

// Whether the semaphore could be had at once; errno is left alone.
[[gnu::always_inline]] inline bool TrySemaphore(sem_t* semaphore) {
  const int error = errno;
  const bool taken = CallNext<"sem_trywait", int>(semaphore) == 0;
  errno = error;
  return taken;
}

}  // namespace
}  // namespace wherefore::sdk

using wherefore::sdk::CallNext;
using wherefore::sdk::CallNextThrowing;
using wherefore::sdk::g_shared;
using wherefore::sdk::IsFree;
using wherefore::sdk::LockContended;
using wherefore::sdk::Timed;
using wherefore::sdk::TrySemaphore;
using wherefore::sdk::UnlockedBy;
using wherefore::sdk::WaitKind;

extern "C" {

WHEREFORE_HOOK int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!g_shared.mutex_on.load(std::memory_order_relaxed)) {
    return CallNext<"pthread_mutex_lock", int>(mutex);
  }
  int result = 0;
  return IsFree(mutex, &result) ? result : wherefore::sdk::LockForEver(mutex);
}

WHEREFORE_HOOK int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  const auto lock = [=] { return CallNext<"pthread_mutex_timedlock", int>(mutex, until); };
  int result = 0;
  if (!g_shared.mutex_on.load(std::memory_order_relaxed)) return lock();
  return IsFree(mutex, &result) ? result : LockContended(mutex, lock);
}

WHEREFORE_HOOK int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                           const timespec* until) noexcept {
  const auto lock = [=] { return CallNext<"pthread_mutex_clocklock", int>(mutex, clock, until); };
  int result = 0;
  if (!g_shared.mutex_on.load(std::memory_order_relaxed)) return lock();
  return IsFree(mutex, &result) ? result : LockContended(mutex, lock);
}

WHEREFORE_HOOK int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  UnlockedBy(mutex);
  return CallNext<"pthread_mutex_unlock", int>(mutex);
}

WHEREFORE_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  if (CallNext<"pthread_rwlock_tryrdlock", int>(lock) == 0) return 0;
  return Timed(WaitKind::kRwLock, [&] { return CallNext<"pthread_rwlock_rdlock", int>(lock); });
}

WHEREFORE_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  if (CallNext<"pthread_rwlock_trywrlock", int>(lock) == 0) return 0;
  return Timed(WaitKind::kRwLock, [&] { return CallNext<"pthread_rwlock_wrlock", int>(lock); });
}

WHEREFORE_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock,
                                              const timespec* until) noexcept {
  if (CallNext<"pthread_rwlock_tryrdlock", int>(lock) == 0) return 0;
  return Timed(WaitKind::kRwLock,
               [&] { return CallNext<"pthread_rwlock_timedrdlock", int>(lock, until); });
}

WHEREFORE_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock,
                                              const timespec* until) noexcept {
  if (CallNext<"pthread_rwlock_trywrlock", int>(lock) == 0) return 0;
  return Timed(WaitKind::kRwLock,
               [&] { return CallNext<"pthread_rwlock_timedwrlock", int>(lock, until); });
}

WHEREFORE_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                              const timespec* until) noexcept {
  if (CallNext<"pthread_rwlock_tryrdlock", int>(lock) == 0) return 0;
  return Timed(WaitKind::kRwLock,
               [&] { return CallNext<"pthread_rwlock_clockrdlock", int>(lock, clock, until); });
}

WHEREFORE_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                              const timespec* until) noexcept {
  if (CallNext<"pthread_rwlock_trywrlock", int>(lock) == 0) return 0;
  return Timed(WaitKind::kRwLock,
               [&] { return CallNext<"pthread_rwlock_clockwrlock", int>(lock, clock, until); });
}

// A cancelled thread is unwound through these, so they are not noexcept.
WHEREFORE_HOOK int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  UnlockedBy(mutex);
  return Timed(WaitKind::kCondition, [&] {
    return CallNextThrowing<"pthread_cond_wait@GLIBC_2.3.2", int>(condition, mutex);
  });
}

WHEREFORE_HOOK int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          const timespec* until) {
  UnlockedBy(mutex);
  return Timed(WaitKind::kCondition, [&] {
    return CallNextThrowing<"pthread_cond_timedwait@GLIBC_2.3.2", int>(condition, mutex, until);
  });
}

WHEREFORE_HOOK int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                          clockid_t clock, const timespec* until) {
  UnlockedBy(mutex);
  return Timed(WaitKind::kCondition, [&] {
    return CallNextThrowing<"pthread_cond_clockwait", int>(condition, mutex, clock, until);
  });
}

WHEREFORE_HOOK int sem_wait(sem_t* semaphore) {
  if (TrySemaphore(semaphore)) return 0;
  return Timed(WaitKind::kSemaphore, [&] { return CallNextThrowing<"sem_wait", int>(semaphore); });
}

WHEREFORE_HOOK int sem_timedwait(sem_t* semaphore, const timespec* until) {
  if (TrySemaphore(semaphore)) return 0;
  return Timed(WaitKind::kSemaphore,
               [&] { return CallNextThrowing<"sem_timedwait", int>(semaphore, until); });
}

WHEREFORE_HOOK int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  if (TrySemaphore(semaphore)) return 0;
  return Timed(WaitKind::kSemaphore,
               [&] { return CallNextThrowing<"sem_clockwait", int>(semaphore, clock, until); });
}

}  // extern "C"
