#include "sdk/collect/collector.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "elf/elf_file.h"
#include "sdk/context/context.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/log.h"
#include "sdk/platform/stack_bounds.h"
#include "sdk/platform/task_list.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/collector_restart.h"
#include "sdk/sample/heap_sampler.h"
#include "sdk/sample/shared.h"
#include "sdk/sample/signal_sampler.h"

namespace wherefore::sdk {
namespace {

constexpr std::uint32_t kQueueSlots = 2048;

}  // namespace

constinit std::atomic<Collector*> Collector::g_collector{nullptr};

Collector::Collector()
    : timers_(registry_),
      waiting_(registry_, map_),
      wall_(registry_, waiting_),
      modules_(map_),
      rates_(timers_, wall_, waiting_),
      window_(modules_),
      since_start_(modules_) {
  g_shared.code_maps = &map_.slots();
}

Collector& Collector::GetOrMake() {
  const Busy busy;
  if (Collector* collector = Get(); collector != nullptr) return *collector;
  auto* made = new Collector;
  g_collector.store(made, std::memory_order_release);
  SetThreadHooks([] { Get()->OnOwnThreadStart(); }, [] { Get()->OnOwnThreadEnd(); });
  return *made;
}

Result<> Collector::Start(const Options& options, Exporter& exporter) {
  const Busy busy;
  const FutexLockHold hold(lock_);
  if (running_.load()) return {};
  options_ = options;
  if (options_.manual_start) {
    for (TypeOptions& type : options_.types) type.enabled = false;
    options_.off_by_code.fill(true);
  }
  if (options_.opamp_url.empty()) remote_ = {};
  effective_ = remote_.Over(options_);
  exporter_ = &exporter;
  rates_.Adopt(effective_);
  rates_.ResetBudget(effective_);
  window_.Configure(effective_);
  if (awaits_restart_.load()) ForgetParent();
  g_shared.pid.store(getpid());
  if (!g_shared.queue.Open(kQueueSlots, effective_.max_stack_depth) || !g_shared.early.Open()) {
    return Error(Code::kLimit, "no memory for the queue of samples");
  }
  if (const unsigned depth = g_shared.queue.max_depth(); depth < effective_.max_stack_depth)
    Log(LogLevel::kWarn, fmt::format("stacks stay at {} frames, as at the first start", depth));
  WHEREFORE_RETURN_IF_ERROR(rates_.support().Examine(options_.state_dir));
  const StackBounds bounds = ThisThreadStack();
  registry_.EnterThisThread(bounds.low, bounds.high);
  // Some milliseconds. Preloaded, before main and into whatever program, the first sample decides:
  // early_stacks.h. Elsewhere there are threads already whose stacks we do not know.
  settled_ = !options_.preloaded;
  if (settled_) map_.Update();
  StartSamplers();
  if (!thread_.running())
    return Error(Code::kLimit, "the system gave no thread for the collector (ulimit -u, pids.max)");
  return {};
}

void Collector::StartSamplers() {
  stop_.store(false);
  const std::int64_t now = MonotonicNow();
  started_ = last_second_ = now;
  const bool goes_on = window_.Open(now);
  last_threads_.reset();
  const bool started = thread_.Start(
      "wherefore", [](void* self) { static_cast<Collector*>(self)->Collect(); }, this);
  if (!started) return;
  running_.store(true);
  rates_.Begin(now);
  ApplyRates();
  if (goes_on) window_.sums().ForgetDisabled();
}

void Collector::ApplyRates(std::optional<std::int64_t> since) {
  unsigned needed = 0;
  for (const auto& [id, operation] : operations_) needed |= operation->types;
  rates_.Apply(needed, settled_, since);
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    const bool on = rates_.WantedAlways(type);
    EnableSeries(window_.sums(), type, on);
    EnableSeries(since_start_, type, options_.pprof_port >= 0 && on);
  }
}

void Collector::EnableSeries(Aggregate& sums, Type type, bool on) {
  switch (type) {
    case Type::kCpu:
      return sums.Enable(Series::kCpu, on);
    case Type::kWall:
      return sums.Enable(Series::kWall, on);
    case Type::kOffCpu:
      return sums.Enable(Series::kOffCpu, on);
    case Type::kHeap:
      sums.Enable(Series::kAllocated, on);
      return sums.Enable(Series::kInUse, on);
    case Type::kMutex:
      return sums.Enable(Series::kMutex, on);
    case Type::kBlock:
      return sums.Enable(Series::kBlock, on);
    case Type::kThreads:
      return sums.Enable(Series::kThreads, on);
  }
}

Result<> Collector::SetEnabled(Type type, bool enabled) {
  const Busy busy;
  const FutexLockHold hold(lock_);
  if (std::string why = rates_.support().Unavailable(type); enabled && !why.empty())
    return Error(Code::kUnsupported, std::move(why));
  if (running_.load()) Drain();  // what was sampled until now is counted as things were
  options_.of(type).enabled = enabled;
  options_.off_by_code[static_cast<std::size_t>(type)] = !enabled;
  Adopt();
  return {};
}

Result<> Collector::SetRate(Type type, double rate) {
  if (const RateRange range = RatesOf(type); !range.has(rate)) {
    return Error(Code::kInvalid, fmt::format("a rate of {} for {} is not {}; it stays as it was",
                                             rate, TypeName(type), range.what));
  }
  const Busy busy;
  const FutexLockHold hold(lock_);
  options_.of(type).rate = rate;
  Adopt();
  return {};
}

Options Collector::SetRemote(RemoteOptions remote) {
  const Busy busy;
  const FutexLockHold hold(lock_);
  if (running_.load()) Drain();
  remote_ = std::move(remote);
  Adopt();
  return effective_;
}

Options Collector::Effective() {
  const Busy busy;
  const FutexLockHold hold(lock_);
  return effective_;
}

void Collector::Adopt() {
  effective_ = remote_.Over(options_);
  rates_.Adopt(effective_);
  window_.SetLimits(effective_);
  if (!running_.load()) return;
  g_shared.queue.Open(kQueueSlots, effective_.max_stack_depth);  // is open: only the depth changes
  ApplyRates();
}

bool Collector::SetByServer(Type type) const {
  return effective_.enabled != options_.enabled || effective_.of(type) != options_.of(type);
}

// Empty when it is on.
std::string Collector::WhyOff(Type type) const {
  if (!running_.load()) return "the profiler is not running";
  std::string why = rates_.WhyOff(type);
  const bool on = effective_.enabled && effective_.of(type).enabled;
  return on || !SetByServer(type) ? why : "switched off remotely";
}

std::vector<TypeState> Collector::States() {
  const Busy busy;
  const FutexLockHold hold(lock_);
  std::vector<TypeState> states;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    states.push_back(rates_.State(type, WhyOff(type)));
    if (TypeState& state = states.back(); state.on && state.why.empty() && SetByServer(type))
      state.why = "set remotely";
  }
  return states;
}

void Collector::Stop(Unsent unsent) {
  const Busy busy;
  RestartCollectorIfDue();  // a forked child ends that never got to it: what it has is sent
  if (!running_.load()) return;
  OwnCpu own;
  {
    const FutexLockHold hold(lock_);
    own = OwnCpuNow();
    rates_.StopSamplers();
    stop_.store(true);
  }
  g_shared.collector_wake.Signal();
  thread_.Join();
  const FutexLockHold hold(lock_);
  const bool keep = unsent == Unsent::kKeep;
  Drain(!keep);
  if (keep) {
    window_.Keep(own);
  } else if (window_.WorthSending()) {
    Export(MonotonicNow(), own);
  }
  running_.store(false);
}

void Collector::Flush() {
  const Busy busy;
  RestartCollectorNow();
  const FutexLockHold hold(lock_);
  if (!running_.load()) return;
  Drain();
  Export(MonotonicNow(), OwnCpuNow());
}

Result<std::uint64_t> Collector::BeginOperation(unsigned types) {
  const Busy busy;
  const FutexLockHold hold(lock_);
  if (!running_.load()) return Error(Code::kUnavailable, "the profiler is not running");
  if (!effective_.enabled)
    return Error(Code::kUnavailable, "profiling is off: " + WhyOff(Type::kCpu));
  std::string why;
  bool possible = false;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    if ((types & (1U << i)) == 0) continue;
    const auto type = static_cast<Type>(i);
    const std::string reason = rates_.support().Unavailable(type);
    possible = possible || reason.empty();
    if (why.empty()) why = fmt::format("{} is off: {}", TypeName(type), reason);
  }
  if (!possible) return Error(Code::kUnsupported, why);
  Drain();
  auto operation = std::make_unique<Operation>(Operation{.sums = Aggregate(modules_),
                                                         .types = types,
                                                         .start_ns = WallClockNow(),
                                                         .started = MonotonicNow()});
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    if (types & (1U << i)) EnableSeries(operation->sums, static_cast<Type>(i), true);
  }
  operations_.emplace(next_operation_, std::move(operation));
  ApplyRates();
  if (types & (1U << static_cast<unsigned>(Type::kThreads))) wall_.RequestThreads();
  return next_operation_++;
}

Result<profile::Batch> Collector::EndOperation(std::uint64_t id) {
  const Busy busy;
  const FutexLockHold hold(lock_);
  const auto found = operations_.find(id);
  if (found == operations_.end()) return Error(Code::kNotFound, "no such operation is running");
  Drain();
  const std::unique_ptr<Operation> operation = std::move(found->second);
  const Window window =  // with its rates
      WindowSince(operation->start_ns, operation->started, rates_.periods());
  operations_.erase(found);
  if (running_.load()) ApplyRates();
  profile::Batch batch = operation->sums.Take(window);
  return batch.profiles.empty() ? operation->sums.Empty(window) : std::move(batch);
}

void Collector::DropOperation(std::uint64_t id) {
  const Busy busy;
  const FutexLockHold hold(lock_);
  if (operations_.erase(id) != 0 && running_.load()) ApplyRates();
}

Result<profile::Batch> Collector::SinceStart(Type type, Series series) {
  const Busy busy;
  const FutexLockHold hold(lock_);
  if (!running_.load()) return Error(Code::kUnavailable, "the profiler is not running");
  Drain();
  Aggregate& from = series == Series::kInUse ? window_.sums() : since_start_;
  if (!from.enabled(series)) {
    return Error(rates_.shedding() ? Code::kUnavailable : Code::kUnsupported,
                 fmt::format("{} is off: {}", TypeName(type), WhyOff(type)));
  }
  const auto age = static_cast<std::uint64_t>(MonotonicNow() - started_);
  const Window window = series == Series::kInUse
                            ? window_.SoFar(rates_.periods())
                            : WindowSince(WallClockNow() - age, started_, rates_.periods());
  profile::Batch batch = from.Peek(series, window);
  return batch.profiles.empty() ? from.Empty(series, window) : std::move(batch);
}

void Collector::OnThreadStart(std::uintptr_t stack_low, std::uintptr_t stack_high) {
  const Busy busy;
  registry_.EnterThisThread(stack_low, stack_high);
  timers_.Add(CurrentTid());
}

void Collector::OnThreadEnd() {
  const Busy busy;
  if (timers_.Remove(CurrentTid())) RecordMissedSample();
  CountLostAllocations();
  registry_.LeaveThisThread();
}

// A thread of a millisecond seldom lives to see the tick at which its timer would fire: the sample
// that was due is taken at its end, when all that is known of its stack is where it began.
void Collector::RecordMissedSample() {
  const std::int64_t period = g_shared.cpu_period_ns.load();
  if (period <= 0 || t_state.routine == 0) return;
  Event* event = g_shared.queue.Claim();
  if (event == nullptr) return g_shared.queue.CountLost(EventKind::kCpu, {}, period, 1);
  event->kind = EventKind::kCpu;
  event->value = period;
  event->count = 1;
  event->tid = t_state.tid;
  event->detail = 0;
  event->generation = 0;
  event->depth = 1;
  event->pcs[0] = t_state.routine;
  event->end = StackEnd::kComplete;
  CaptureContext(*event);
  PublishEvent(event);
}

// Its hooks are off from here on: what we do is not the host's.
void Collector::OnOwnThreadStart() {
  ++t_state.busy;
  registry_.EnterOwnThread();
}

void Collector::OnOwnThreadEnd() {
  registry_.LeaveThisThread();
}

}  // namespace wherefore::sdk
