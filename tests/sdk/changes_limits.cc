// A program whose waits have a limit: for locks of every kind, in vain or not. See changes.cc.
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "changes.h"
#include "measure.h"

namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
std::timed_mutex g_timed;
constexpr useconds_t kHeldUs = 100'000;  // long beside what a busy machine takes between two lines

timespec In(clockid_t clock, double seconds) {
  const double then = ClockNow(clock) + seconds;
  const auto whole = static_cast<time_t>(then);
  return {.tv_sec = whole, .tv_nsec = static_cast<long>((then - static_cast<double>(whole)) * 1e9)};
}
constexpr double kLong = 60;

std::atomic<bool> g_held;
std::atomic<double> g_released;

std::atomic<bool> g_gave_up;

void SayHeld() {
  g_held = true;
  g_held.notify_all();
}
// By the holder: lets another wait for it, for a while or until that gives up.
void HoldOn() {
  SayHeld();
  usleep(kHeldUs);
  g_released = Wall();
}
void HoldOnTooLong() {
  SayHeld();
  while (!g_gave_up) usleep(1000);
}

[[gnu::noinline]] void HoldMutex() {
  pthread_mutex_lock(&g_mutex);
  HoldOn();
  g_sink = pthread_mutex_unlock(&g_mutex);
}
[[gnu::noinline]] void HoldTimed() {
  g_timed.lock();
  HoldOn();
  g_timed.unlock();
  g_sink = 1;
}
[[gnu::noinline]] void HoldWrite() {
  pthread_rwlock_wrlock(&g_rwlock);
  HoldOn();
  g_sink = pthread_rwlock_unlock(&g_rwlock);
}

[[gnu::noinline]] void HoldMutexTooLong() {
  pthread_mutex_lock(&g_mutex);
  HoldOnTooLong();
  g_sink = pthread_mutex_unlock(&g_mutex);
}
[[gnu::noinline]] void HoldWriteTooLong() {
  pthread_rwlock_wrlock(&g_rwlock);
  HoldOnTooLong();
  g_sink = pthread_rwlock_unlock(&g_rwlock);
}

// Each gives an error number.
[[gnu::noinline]] int WaitTimedLock() {
  const timespec until = In(CLOCK_REALTIME, kLong);
  return Stay(pthread_mutex_timedlock(&g_mutex, &until));
}
[[gnu::noinline]] int WaitClockLock() {
  const timespec until = In(CLOCK_MONOTONIC, kLong);
  return Stay(pthread_mutex_clocklock(&g_mutex, CLOCK_MONOTONIC, &until));
}
[[gnu::noinline]] int WaitInVain() {
  const timespec until = In(CLOCK_REALTIME, kHeldUs * 1e-6);
  return Stay(pthread_mutex_timedlock(&g_mutex, &until));
}
[[gnu::noinline]] int WaitTryLockFor() {
  return Stay(g_timed.try_lock_for(std::chrono::duration<double>(kLong)) ? 0 : ETIMEDOUT);
}
[[gnu::noinline]] int WaitTimedRead() {
  const timespec until = In(CLOCK_REALTIME, kLong);
  return Stay(pthread_rwlock_timedrdlock(&g_rwlock, &until));
}
[[gnu::noinline]] int WaitTimedWrite() {
  const timespec until = In(CLOCK_REALTIME, kLong);
  return Stay(pthread_rwlock_timedwrlock(&g_rwlock, &until));
}
[[gnu::noinline]] int WaitClockRead() {
  const timespec until = In(CLOCK_MONOTONIC, kLong);
  return Stay(pthread_rwlock_clockrdlock(&g_rwlock, CLOCK_MONOTONIC, &until));
}
[[gnu::noinline]] int WaitClockWrite() {
  const timespec until = In(CLOCK_MONOTONIC, kLong);
  return Stay(pthread_rwlock_clockwrlock(&g_rwlock, CLOCK_MONOTONIC, &until));
}
[[gnu::noinline]] int WaitReadInVain() {
  const timespec until = In(CLOCK_MONOTONIC, kHeldUs * 1e-6);
  return Stay(pthread_rwlock_clockrdlock(&g_rwlock, CLOCK_MONOTONIC, &until));
}

struct Contention {
  const char* waiter;
  int (*wait)();
  const char* holder;
  void (*hold)();
  void (*unlock)();
  int result;
};

void UnlockMutex() {
  pthread_mutex_unlock(&g_mutex);
}
void UnlockTimed() {
  g_timed.unlock();
}
void UnlockRw() {
  pthread_rwlock_unlock(&g_rwlock);
}

constexpr Contention kContentions[] = {
    {"WaitTimedLock", WaitTimedLock, "HoldMutex", HoldMutex, UnlockMutex, 0},
    {"WaitClockLock", WaitClockLock, "HoldMutex", HoldMutex, UnlockMutex, 0},
    {"WaitTryLockFor", WaitTryLockFor, "HoldTimed", HoldTimed, UnlockTimed, 0},
    {"WaitTimedRead", WaitTimedRead, "HoldWrite", HoldWrite, UnlockRw, 0},
    {"WaitTimedWrite", WaitTimedWrite, "HoldWrite", HoldWrite, UnlockRw, 0},
    {"WaitClockRead", WaitClockRead, "HoldWrite", HoldWrite, UnlockRw, 0},
    {"WaitClockWrite", WaitClockWrite, "HoldWrite", HoldWrite, UnlockRw, 0},
    {"WaitInVain", WaitInVain, nullptr, HoldMutexTooLong, nullptr, ETIMEDOUT},
    {"WaitReadInVain", WaitReadInVain, nullptr, HoldWriteTooLong, nullptr, ETIMEDOUT},
};

// One waits for the other; the truth has the waiter's time and the holder's part of it.
void Contend(const Contention& contention, std::map<std::string, double>& truth) {
  g_held = g_gave_up = false;
  std::thread holder(contention.hold);
  g_held.wait(false);
  const double start = Wall();
  const int result = contention.wait();
  truth[contention.waiter] += Wall() - start;
  g_gave_up = true;
  holder.join();
  if (result != contention.result) Fail(contention.waiter);
  if (contention.unlock == nullptr) return;
  contention.unlock();
  truth[contention.holder] += std::max(0.0, g_released - start);
}

void Timed(double seconds) {
  std::map<std::string, double> truth;
  for (const double end = Wall() + seconds; Wall() < end;) {
    for (const Contention& contention : kContentions) Contend(contention, truth);
  }
  Print(truth);
}

constexpr Program kPrograms[] = {{"timed", Timed}};

}  // namespace

std::span<const Program> LimitPrograms() {
  return kPrograms;
}
