// SharedMutex: many readers or one writer, as clang's -Wthread-safety understands it.
//
// A writer that waits goes before readers that come later, so it never starves; a thread must
// therefore not take it for reading twice.
#pragma once

#include <pthread.h>

#include "base/thread_safety.h"

#define REQUIRES_SHARED(...) WHEREFORE_TSA(requires_shared_capability(__VA_ARGS__))

namespace wherefore {

class WHEREFORE_TSA(capability("mutex")) SharedMutex {
 public:
  SharedMutex() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~SharedMutex() { pthread_rwlock_destroy(&lock_); }
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void Lock() WHEREFORE_TSA(acquire_capability()) { pthread_rwlock_wrlock(&lock_); }
  void Unlock() WHEREFORE_TSA(release_capability()) { pthread_rwlock_unlock(&lock_); }
  void LockShared() WHEREFORE_TSA(acquire_shared_capability()) { pthread_rwlock_rdlock(&lock_); }
  void UnlockShared() WHEREFORE_TSA(release_shared_capability()) { pthread_rwlock_unlock(&lock_); }
  // Tells the analysis what it cannot see: an object that the caller has holds it for reading.
  void AssertShared() const WHEREFORE_TSA(assert_shared_capability()) {}

 private:
  pthread_rwlock_t lock_;
};

class WHEREFORE_TSA(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) WHEREFORE_TSA(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~WriterLock() WHEREFORE_TSA(release_capability()) { mutex_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class WHEREFORE_TSA(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) WHEREFORE_TSA(acquire_shared_capability(mutex))
      : mutex_(mutex) {
    mutex_.LockShared();
  }
  ~ReaderLock() WHEREFORE_TSA(release_capability()) { mutex_.UnlockShared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace wherefore
