// fork, as Collector lives through it.
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "sdk/collect/collector.h"
#include "sdk/collect/profiler.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/collector_restart.h"
#include "sdk/sample/lock_sampler.h"
#include "sdk/sample/shared.h"
#include "sdk/sample/signal_sampler.h"

namespace wherefore::sdk {
namespace {

// A child that uses less than this before it ends or becomes another program is left alone.
constexpr long kFirstCpuNs = 10'000'000;

constinit std::atomic<void (*)(const ResourceAttributes&)> g_child_listener{nullptr};

// A timer on this thread's CPU time, which a waiting thread never notices. Gives its number, -1:
// none.
int ArmRestartTimer(int signal) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event.sigev_value.sival_ptr = RestartCookie();
  event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
  int timer = 0;
  if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return -1;
  const itimerspec when{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = kFirstCpuNs}};
  syscall(SYS_timer_settime, timer, 0, &when, nullptr);
  return timer;
}

}  // namespace

void Collector::BeforeFork() {
  lock_.LockForFork();
  waiting_.LockForFork();
  timers_.LockForFork();
  registry_.LockForFork();
  map_.BeforeFork();
}

void Collector::AfterForkInParent() {
  map_.AfterForkInParent();
  registry_.UnlockAfterFork();
  timers_.UnlockAfterFork();
  waiting_.UnlockAfterFork();
  lock_.UnlockInParent();
}

void Collector::AfterForkInChild() {
  const Busy busy;
  g_contended.Reset();  // first: what follows unlocks
  lock_.HeldInChild();
  map_.AfterForkInChild();
  registry_.ForgetOthers();
  timers_.ForgetAll();
  waiting_.ForgetAll();
  BackgroundThread::ForgetAll();
  thread_.Forget();
  wall_.Forget();
  g_shared.queue.Reset();
  g_shared.early.Reset();
  g_shared.pid.store(getpid());
  g_shared.cpu_session.fetch_add(1);  // its CPU clock begins anew
  operations_.clear();
  // The parent may be a child itself that had not come to its own restart: a daemon forks twice.
  g_shared.restart_due.store(false);
  if (running_.exchange(false)) awaits_restart_.store(true);
  restart_timer_ = -1;
  const int signal = rates_.support().signal();
  if (awaits_restart_.load() && signal != 0) restart_timer_ = ArmRestartTimer(signal);
  lock_.ResetInChild();
}

void OnChildRestart(void (*listener)(const ResourceAttributes& resource)) {
  g_child_listener.store(listener);
}

void RestartCollector() {
  if (!g_shared.restart_due.exchange(false)) return;
  if (Collector* collector = Collector::Get(); collector != nullptr) collector->Restart();
}

void RestartCollectorNow() {
  Collector* const collector = Collector::Get();
  if (collector == nullptr || !collector->awaits_restart()) return;
  g_shared.restart_due.store(false);
  collector->Restart();
}

void Collector::ForgetParent() {
  awaits_restart_.store(false);
  if (restart_timer_ >= 0) syscall(SYS_timer_delete, restart_timer_);
  restart_timer_ = -1;
  window_.ForgetParent();
  since_start_.ForgetSums();
}

void Collector::Restart() {
  const Busy busy;
  const FutexLockHold hold(lock_);
  if (running_.load()) return;
  ForgetParent();
  rates_.ResetBudget(effective_);
  exporter_->AfterFork();
  if (!effective_.SamplesAnything()) exporter_->Poll();  // nothing is sent that would begin it
  window_.Configure(effective_);
  if (auto* const listener = g_child_listener.load()) listener(window_.resource());
  rates_.support().ExamineProc();
  StartSamplers();
}

}  // namespace wherefore::sdk
