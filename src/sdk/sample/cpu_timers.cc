#include "sdk/sample/cpu_timers.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <unordered_set>
#include <vector>

#include "sdk/platform/clock.h"
#include "sdk/platform/task_list.h"
#include "sdk/platform/thread_state.h"

namespace wherefore::sdk {
namespace {

timespec ToTimespec(std::int64_t ns) {
  return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

}  // namespace

void CpuTimers::Start(int signal, void* cookie, std::int64_t period_ns, bool only_this_thread) {
  {
    const FutexLockHold hold(lock_);
    signal_ = signal;
    cookie_ = cookie;
    period_ns_ = period_ns;
    running_ = true;
    if (random_ == 0)
      random_ = reinterpret_cast<std::uintptr_t>(this) ^ static_cast<std::uint64_t>(time(nullptr));
    if (only_this_thread) AddLocked(CurrentTid());
  }
  if (!only_this_thread) Scan();
}

void CpuTimers::Stop() {
  const FutexLockHold hold(lock_);
  running_ = false;
  for (const auto& [tid, timer] : timers_) syscall(SYS_timer_delete, timer);
  timers_.clear();
}

void CpuTimers::SetPeriod(std::int64_t period_ns) {
  const FutexLockHold hold(lock_);
  if (period_ns == period_ns_) return;
  period_ns_ = period_ns;
  for (const auto& [tid, timer] : timers_) {
    Arm(timer, 1 + static_cast<std::int64_t>(NextRandom(random_) %
                                             static_cast<std::uint64_t>(period_ns_)));
  }
}

bool CpuTimers::any() {
  const FutexLockHold hold(lock_);
  return !timers_.empty();
}

void CpuTimers::Add(std::uint32_t tid) {
  const FutexLockHold hold(lock_);
  AddLocked(tid);
}

bool CpuTimers::Remove(std::uint32_t tid) {
  const FutexLockHold hold(lock_);
  const auto found = timers_.find(tid);
  if (found == timers_.end()) return false;
  // The kernel looks at CPU timers only when its clock ticks. One that is past its time and has not
  // fired is said to have a nanosecond left.
  itimerspec left{};
  const bool due = syscall(SYS_timer_gettime, found->second, &left) == 0 &&
                   left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 1;
  syscall(SYS_timer_delete, found->second);
  timers_.erase(found);
  return due;
}

void CpuTimers::ForgetAll() {
  lock_.HeldInChild();
  timers_.clear();
  running_ = false;
  lock_.ResetInChild();
}

void CpuTimers::Scan() {
  std::vector<std::uint32_t> tids;
  if (!ListThreads(tids)) return;
  const FutexLockHold hold(lock_);
  if (!running_) return;
  for (const std::uint32_t tid : tids) AddLocked(tid);
  const std::unordered_set<std::uint32_t> alive(tids.begin(), tids.end());
  std::erase_if(timers_, [&](const auto& entry) {
    if (alive.contains(entry.first)) return false;
    syscall(SYS_timer_delete, entry.second);
    return true;
  });
}

void CpuTimers::AddLocked(std::uint32_t tid) {
  if (!running_ || timers_.contains(tid) || registry_.IsOwn(tid)) return;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_;
  event.sigev_value.sival_ptr = cookie_;
  event._sigev_un._tid = static_cast<pid_t>(tid);
  int timer = 0;
  if (syscall(SYS_timer_create, ThreadCpuClock(tid), &event, &timer) != 0) {
    if (errno != EINVAL) NoteRefusal("timer_create", errno);  // EINVAL: it ended meanwhile
    return;
  }
  // A random phase, or threads that live shorter than one period would never be seen.
  if (!Arm(timer, 1 + static_cast<std::int64_t>(NextRandom(random_) %
                                                static_cast<std::uint64_t>(period_ns_)))) {
    NoteRefusal("timer_settime", errno);
    syscall(SYS_timer_delete, timer);
    return;
  }
  timers_.emplace(tid, timer);
}

// The first counts.
void CpuTimers::NoteRefusal(const char* call, int error) {
  if (refused() != 0) return;
  refused_call_.store(call, std::memory_order_relaxed);
  refused_.store(error, std::memory_order_release);
}

bool CpuTimers::Arm(int timer, std::int64_t first_ns) const {
  const itimerspec when{.it_interval = ToTimespec(period_ns_), .it_value = ToTimespec(first_ns)};
  return syscall(SYS_timer_settime, timer, 0, &when, nullptr) == 0;
}

}  // namespace wherefore::sdk
