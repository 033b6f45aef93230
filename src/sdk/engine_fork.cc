// fork, as Engine lives through it.
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <mutex>

#include "sdk/clock.h"
#include "sdk/collector_restart.h"
#include "sdk/engine.h"
#include "sdk/lock_sampler.h"
#include "sdk/shared.h"
#include "sdk/signal_sampler.h"
#include "sdk/thread_state.h"

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

void Engine::BeforeFork() {
  lock_.lock();
  timers_.LockForFork();
  registry_.LockForFork();
  map_.BeforeFork();
}

void Engine::AfterForkInParent() {
  map_.AfterForkInParent();
  registry_.UnlockAfterFork();
  timers_.UnlockAfterFork();
  lock_.unlock();
}

void Engine::AfterForkInChild() {
  const Busy busy;
  g_contended.Reset();  // first: what follows unlocks
  lock_.Reset();
  map_.AfterForkInChild();
  registry_.ForgetOthers();
  timers_.ForgetAll();
  BackgroundThread::ForgetAll();
  collector_.Forget();
  wall_.Forget();
  g_shared.queue.Reset();
  g_shared.early.Reset();
  g_shared.pid.store(getpid());
  g_shared.cpu_session.fetch_add(1);  // its CPU clock begins anew
  operations_.clear();
  // The parent may be a child itself that had not come to its own restart: a daemon forks twice.
  g_shared.restart_due.store(false);
  if (running_.exchange(false)) awaits_restart_.store(true);
  restart_timer_ = awaits_restart_.load() && signal_ != 0 ? ArmRestartTimer(signal_) : -1;
}

void OnChildRestart(void (*listener)(const ResourceAttributes& resource)) {
  g_child_listener.store(listener);
}

void RestartCollector() {
  if (!g_shared.restart_due.exchange(false)) return;
  if (Engine* engine = Engine::Get(); engine != nullptr) engine->Restart();
}

void RestartCollectorNow() {
  Engine* const engine = Engine::Get();
  if (engine == nullptr || !engine->awaits_restart()) return;
  g_shared.restart_due.store(false);
  engine->Restart();
}

void Engine::ForgetParent() {
  awaits_restart_.store(false);
  if (restart_timer_ >= 0) syscall(SYS_timer_delete, restart_timer_);
  restart_timer_ = -1;
  sums_.ForgetSums();
  since_start_.ForgetSums();
  sent_ = kept_ = false;
}

void Engine::Restart() {
  const Busy busy;
  const std::lock_guard hold(lock_);
  if (running_.load()) return;
  ForgetParent();
  exported_ = {};
  exempt_ns_ = 0;
  governor_.emplace(options_);
  exporter_->AfterFork();
  resource_ = DescribeProcess(options_);
  if (auto* const listener = g_child_listener.load()) listener(resource_);
  LookAtProc();
  StartSamplers();
}

}  // namespace wherefore::sdk
