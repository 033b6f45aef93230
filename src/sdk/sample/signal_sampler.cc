// Runs in signal context: no locks, no allocation, no library calls but those on the allow-list of
// tools/signal_safe.txt.
#include "sdk/sample/signal_sampler.h"

#include <sys/syscall.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>

#include "sdk/platform/arch.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/crash_marker.h"
#include "sdk/sample/shared.h"

namespace wherefore::sdk {
namespace {

// Their addresses are the cookies.
constinit char g_timer_cookie = 0;
constinit char g_restart_cookie = 0;

// The host's own action for our signal. A sequence number, odd while it is written, because
// handlers read it.
struct HostAction {
  std::atomic<std::uint32_t> sequence{0};
  struct sigaction action = {};
};
constinit HostAction g_host;

struct StackBoundsHint {
  std::atomic<std::uint32_t> tid{0};
  std::atomic<std::uintptr_t> low{0};
  std::atomic<std::uintptr_t> high{0};
};
constinit std::array<StackBoundsHint, 1024> g_hints;

std::int64_t ThreadCpuNow() {
  timespec now = {};
  RawSyscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, reinterpret_cast<long>(&now));
  return (now.tv_sec * 1'000'000'000LL) + now.tv_nsec;
}

// A thread's CPU time is cut into strata of one period, and each is represented by one sample at a
// random moment of it. Samples at equal distances would see a program that works in step with them
// always at the same place. Says how many periods the sample now taken stands for: more than one
// when the kernel was late. The timer is set to the next stratum.
std::int64_t StrataSince(ThreadState& state, std::int64_t period, const siginfo_t& info) {
  const std::int64_t now = ThreadCpuNow();
  if (state.random == 0) state.random = Ticks() ^ reinterpret_cast<std::uintptr_t>(&state);
  const std::uint32_t session = g_shared.cpu_session.load(std::memory_order_relaxed);
  std::int64_t strata = 1;
  // Of a thread that began under us the first stratum begins with it; of others the timer knows how
  // many periods it has been past its time, which was a random one of the first period.
  const bool first = state.cpu_session != session;
  const bool whole = first && state.routine != 0 && now < 2 * period;
  state.cpu_session = session;
  if (first && !whole) {
    strata += info.si_overrun;
    state.cpu_counted_ns = now;
  } else {
    if (whole) state.cpu_counted_ns = 0;
    if (now > state.cpu_counted_ns) strata += (now - state.cpu_counted_ns) / period;
    state.cpu_counted_ns += strata * period;
  }
  const std::int64_t next =
      state.cpu_counted_ns +
      static_cast<std::int64_t>(NextRandom(state.random) % static_cast<std::uint64_t>(period));
  const itimerspec when = {
      .it_interval = {.tv_sec = period / 1'000'000'000, .tv_nsec = period % 1'000'000'000},
      .it_value = {.tv_sec = next / 1'000'000'000, .tv_nsec = next % 1'000'000'000}};
  RawSyscall(SYS_timer_settime, info.si_timerid, TIMER_ABSTIME, &when);
  return strata;
}

void LearnStackBounds(ThreadState& state) {
  if (state.tid == 0) state.tid = static_cast<std::uint32_t>(RawSyscall(SYS_gettid));
  const StackBoundsHint& hint = g_hints[state.tid % g_hints.size()];
  if (hint.tid.load(std::memory_order_acquire) != state.tid) return;
  state.stack_low = hint.low.load(std::memory_order_relaxed);
  state.stack_high = hint.high.load(std::memory_order_relaxed);
}

void TakeSample(const siginfo_t& info, const void* context) {
  const std::uint64_t start = Ticks();
  const Inside inside(Part::kCpu);
  ThreadState& state = t_state;
  g_shared.cost.signals.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t period = g_shared.cpu_period_ns.load(std::memory_order_relaxed);
  if (period <= 0) return;
  const std::int64_t strata = StrataSince(state, period, info);
  if (state.stack_high == 0) LearnStackBounds(state);
  Event* event = g_shared.queue.Claim();
  if (event == nullptr) return g_shared.queue.CountLost(EventKind::kCpu, {}, period * strata, 1);
  event->kind = EventKind::kCpu;
  event->value = period * strata;
  event->count = 1;
  event->tid = state.tid;
  // Asks the collector to look the bounds up.
  event->detail = state.stack_high == 0 ? RegistersOf(context).sp : 0;
  CaptureSignal(*event, context);
  CaptureContext(*event);
  g_shared.queue.Publish(event);
  g_shared.cost.AddSince(SamplerKind::kCpu, start);
}

// The host has no handler and the signal is not ours: it ends the program, as it would without us.
void EndAsWithoutUs(int signal) {
  struct {  // as the kernel has it
    void* handler;
    unsigned long flags;
    void* restorer;
    unsigned long mask;
  } const none = {};
  RawSyscall(SYS_rt_sigaction, signal, reinterpret_cast<long>(&none), nullptr, sizeof none.mask);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number, where other calls have an address
  RawSyscall(SYS_tgkill, RawSyscall(SYS_getpid), RawSyscall(SYS_gettid),
             reinterpret_cast<const void*>(static_cast<long>(signal)));
}

void Block(int signal) {
  const unsigned long mask = 1UL << static_cast<unsigned>(signal - 1);
  RawSyscall(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&mask), nullptr, sizeof mask);
}

// The host's handler runs with its signal blocked, as it would without us; the mask of the
// interrupted code comes back when ours returns, or with the host's own longjmp.
void CallHost(int signal, siginfo_t* info, void* context) {
  struct sigaction action = {};
  std::uint32_t before = 0;
  do {
    before = g_host.sequence.load(std::memory_order_acquire);
    action = g_host.action;
  } while ((before & 1) != 0 || g_host.sequence.load(std::memory_order_acquire) != before);
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL)
    return EndAsWithoutUs(signal);
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN) return;
  if ((action.sa_flags & SA_NODEFER) == 0) Block(signal);
  if ((action.sa_flags & SA_SIGINFO) == 0) {
    action.sa_handler(signal);
  } else if (action.sa_sigaction != nullptr) {
    action.sa_sigaction(signal, info, context);
  }
}

void BlockAfterwards(int signal, void* context) {
  static_cast<ucontext_t*>(context)->uc_sigmask.__val[0] |= 1UL
                                                            << static_cast<unsigned>(signal - 1);
}

// What the host's signal interrupted. When it came at the same tick as ours, the kernel put its
// frame on top of ours before our handler's first instruction: it is what ours interrupted then,
// the handler's third argument.
void* InterruptedBy(void* context) {
  if (RegistersOf(context).pc != reinterpret_cast<std::uintptr_t>(&OnSamplerSignal)) return context;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an argument in its register
  return reinterpret_cast<void*>(ThirdArgumentOf(context));
}

void OnHostSignal(int signal, siginfo_t* info, void* context) {
  void* const interrupted = InterruptedBy(context);
  if (!t_state.host_blocks) return CallHost(signal, info, interrupted);
  // The host asked to block this signal, and somebody sent it: from here on this thread does block
  // it, and the signal waits, for sigwait or for its being unblocked. Until then the thread has no
  // samples; one that is under way is taken before the timer is off.
  SwitchCpuTimer(false);
  Block(signal);
  BlockAfterwards(signal, context);
  BlockAfterwards(signal, interrupted);
  RawSyscall(SYS_rt_sigqueueinfo, RawSyscall(SYS_getpid), signal, info);
}

// A host's signal that came while a sample was taken is kept until it is: signals of one number
// that wait together are one.
constinit thread_local siginfo_t* t_kept [[gnu::tls_model("initial-exec")]] = nullptr;

// Says whether one was kept in `kept`.
bool TakeSampleUndisturbed(const siginfo_t& info, const void* context, siginfo_t& kept) {
  ThreadState& state = t_state;
  kept.si_signo = 0;
  t_kept = &kept;
  state.sampling = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  TakeSample(info, context);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  state.sampling = false;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return kept.si_signo != 0;
}

}  // namespace

void OnSamplerSignal(int signal, siginfo_t* info, void* context) {
  const void* value = info->si_value.sival_ptr;
  const bool restart = info->si_code == SI_TIMER && value == &g_restart_cookie;
  const bool ours = restart || (info->si_code == SI_TIMER && value == &g_timer_cookie);
  if (restart) {
    // The next allocation takes the slow path and starts the collector there.
    g_shared.restart_due.store(true, std::memory_order_relaxed);
    t_state.heap_countdown = 0;
  }
  if (t_state.sampling) {
    if (!ours) *t_kept = *info;  // one of ours: the next sample stands for its time, too
    return;
  }
  if (!ours) return OnHostSignal(signal, info, context);
  if (!restart) t_state.cpu_timer = info->si_timerid + 1;
  siginfo_t kept;
  if (TakeSampleUndisturbed(*info, context, kept)) OnHostSignal(signal, &kept, context);
}

void SwitchCpuTimer(bool on) {
  ThreadState& state = t_state;
  if (state.cpu_timer <= 0 || state.cpu_timer_off == !on) return;
  const std::int64_t period = on ? g_shared.cpu_period_ns.load(std::memory_order_relaxed) : 0;
  const timespec span = {.tv_sec = period / 1'000'000'000, .tv_nsec = period % 1'000'000'000};
  const itimerspec when = {.it_interval = span, .it_value = span};
  RawSyscall(SYS_timer_settime, state.cpu_timer - 1, 0, &when);
  state.cpu_timer_off = !on;
  state.cpu_session = 0;  // of none: what was not seen is not the next sample's
}

void* TimerCookie() {
  return &g_timer_cookie;
}
void* RestartCookie() {
  return &g_restart_cookie;
}

struct sigaction ExchangeHostAction(const struct sigaction* action) {
  const struct sigaction old = g_host.action;
  if (action != nullptr) {
    g_host.sequence.fetch_add(1, std::memory_order_acq_rel);
    g_host.action = *action;
    g_host.sequence.fetch_add(1, std::memory_order_release);
  }
  return old;
}

void PublishStackBounds(std::uint32_t tid, std::uintptr_t low, std::uintptr_t high) {
  StackBoundsHint& hint = g_hints[tid % g_hints.size()];
  hint.tid.store(0, std::memory_order_release);
  hint.low.store(low, std::memory_order_relaxed);
  hint.high.store(high, std::memory_order_relaxed);
  hint.tid.store(tid, std::memory_order_release);
}

}  // namespace wherefore::sdk
