#include "sdk/engine.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

#include "base/text.h"
#include "elf/elf_file.h"
#include "sdk/capture.h"
#include "sdk/clock.h"
#include "sdk/collector_restart.h"
#include "sdk/context.h"
#include "sdk/hook_reach.h"
#include "sdk/log.h"
#include "sdk/shared.h"
#include "sdk/signal_sampler.h"
#include "sdk/stack_bounds.h"
#include "sdk/task_list.h"
#include "sdk/thread_state.h"

namespace wherefore::sdk {
namespace {

constexpr std::uint32_t kQueueSlots = 2048;
// The kernel looks at CPU timers once per tick of its clock, 250 times a second nearly everywhere.
double MostCpuRate() {
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_sec != 0 || tick.tv_nsec <= 0) return 250;
  return 1e9 / static_cast<double>(tick.tv_nsec);
}

Sampler SamplerOf(Type type) {
  switch (type) {
    case Type::kCpu:
      return Sampler::kCpu;
    case Type::kHeap:
      return Sampler::kHeap;
    case Type::kMutex:
    case Type::kBlock:
      return Sampler::kLocks;
    case Type::kWall:
    case Type::kOffCpu:
    case Type::kThreads:
      return Sampler::kWall;
  }
  return Sampler::kCpu;
}

}  // namespace

constinit std::atomic<Engine*> Engine::g_engine{nullptr};

Engine::Engine() : timers_(registry_), wall_(registry_, map_), modules_(map_), sums_(modules_), since_start_(modules_) {
  g_shared.code_maps = &map_.slots();
}

Engine& Engine::GetOrMake() {
  const Busy busy;
  if (Engine* engine = Get(); engine != nullptr) return *engine;
  auto* made = new Engine;
  g_engine.store(made, std::memory_order_release);
  SetThreadHooks([] { Get()->OnOwnThreadStart(); }, [] { Get()->OnOwnThreadEnd(); });
  return *made;
}

Result<> Engine::Start(const Options& options, Exporter& exporter) {
  const Busy busy;
  const std::lock_guard hold(lock_);
  if (running_.load()) return {};
  options_ = options;
  resource_ = DescribeProcess(options_);
  exporter_ = &exporter;
  governor_.emplace(options_);
  g_shared.pid.store(getpid());
  if (!g_shared.queue.Open(kQueueSlots, options_.max_stack_depth) || !g_shared.early.Open()) {
    return Error(Code::kLimit, "no memory for the queue of samples");
  }
  HeedCrashMarker();
  if (crashed_in_ == Part::kCollector) {
    return Error(Code::kUnavailable, "it crashed this program before; remove " + CrashMarkerPath() + " to try again");
  }
  signal_ = InstallSampler();
  LookAtProc();
  const StackBounds bounds = ThisThreadStack();
  registry_.EnterThisThread(bounds.low, bounds.high);
  // Some milliseconds. Preloaded, before main and into whatever program, the first sample decides:
  // early_stacks.h. Elsewhere there are threads already whose stacks we do not know.
  settled_ = !options_.preloaded;
  if (settled_) map_.Update();
  StartSamplers();
  if (!collector_.running()) return Error(Code::kLimit, "the system gave no thread for the collector");
  return {};
}

// At a start, and in a forked child, which may be in another PID namespace than its parent.
void Engine::LookAtProc() {
  numbers_trouble_ = WhyNumbersAreNotOurs();
  wall_trouble_ = WallSampler::WhyNot();
}

// What crashed the last run of this program stays off in this one.
void Engine::HeedCrashMarker() {
  if (options_.state_dir.empty()) return;
  const auto program = elf::ElfFile::Open("/proc/self/exe");
  if (!InstallCrashMarker(options_.state_dir, program ? ToHex(program->build_id()) : "unknown")) {
    Log(LogLevel::kWarn,
        fmt::format("cannot write to the state directory {}: {}; what crashes is not remembered",
                    options_.state_dir, std::system_category().message(errno)));
  }
  crashed_in_ = ReadCrashMarker();
  const auto mark = [this](Type type) { crashed_[static_cast<std::size_t>(type)] = true; };
  if (crashed_in_ == Part::kCpu) mark(Type::kCpu);
  if (crashed_in_ == Part::kHeap) mark(Type::kHeap);
  if (crashed_in_ == Part::kLocks) {
    mark(Type::kMutex);
    mark(Type::kBlock);
  }
  if (crashed_in_ == Part::kWall) {
    mark(Type::kWall);
    mark(Type::kOffCpu);
    mark(Type::kThreads);
  }
}

// With the lock held.
void Engine::StartSamplers() {
  stop_.store(false);
  const std::int64_t now = MonotonicNow();
  window_start_ns_ = WallClockNow();
  started_ = window_started_ = last_second_ = now;
  last_threads_.reset();
  const bool started = collector_.Start(
      "wherefore", [](void* self) { static_cast<Engine*>(self)->Collect(); }, this);
  if (!started) return;
  running_.store(true);
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    if (options_.manual_start) options_.of(type).enabled = false;
  }
  ApplyRates();
}

void Engine::StopSamplers() {
  timers_.Stop();
  wall_.Stop();
  g_shared.cpu_period_ns.store(0);
  g_shared.heap_period.store(0);
  g_shared.wait_period_ns.store(0);
  g_shared.mutex_on.store(false);
  g_shared.block_on.store(false);
}

void Engine::Stop() {
  const Busy busy;
  RestartCollectorIfDue();  // a forked child ends that never got to it: what it has is sent
  if (!running_.load()) return;
  OwnCpu own;
  {
    const std::lock_guard hold(lock_);
    own = OwnCpuNow();
    StopSamplers();
    stop_.store(true);
  }
  g_shared.collector_wake.Signal();
  collector_.Join();
  const std::lock_guard hold(lock_);
  Drain(true);
  // A program that was not seen at all sends nothing: a script may start a thousand of them.
  if (sent_ || !sums_.nothing()) Export(MonotonicNow(), own);
  running_.store(false);
}

void Engine::Flush() {
  const Busy busy;
  RestartCollectorNow();
  const std::lock_guard hold(lock_);
  if (!running_.load()) return;
  Drain();
  Export(MonotonicNow(), OwnCpuNow());
}

bool Engine::Wanted(Type type) const {
  if (governor_->shedding() || !Unavailable(type).empty()) return false;
  if (options_.of(type).enabled) return true;
  for (const auto& [id, operation] : operations_) {
    if (operation->types & (1U << static_cast<unsigned>(type))) return true;
  }
  return false;
}

std::string Engine::Unavailable(Type type) const {
  if (crashed_[static_cast<std::size_t>(type)]) {
    return "it crashed this program before; remove " + CrashMarkerPath() + " to try again";
  }
  switch (type) {
    case Type::kCpu:
      if (!numbers_trouble_.empty()) return numbers_trouble_;
      if (timers_refused_) return TimerTrouble();
      return signal_ == 0 ? "no signal is free for its timers" : "";
    case Type::kWall:
    case Type::kOffCpu:
    case Type::kThreads:
      return wall_trouble_;
    case Type::kHeap:
      return WhyNoAllocations();
    case Type::kMutex:
      return WhyNoLocks();
    case Type::kBlock:  // input and output are seen from outside
      return wall_trouble_.empty() ? "" : WhyNoLocks();
  }
  return "";
}

// With the lock held: brings every sampler to what is wanted now.
void Engine::ApplyRates(std::optional<std::int64_t> since) {
  const auto scale = [this](Sampler sampler) { return static_cast<double>(governor_->scale(sampler)); };
  const auto distance = [&](Type type) {
    const std::int64_t factor = type == Type::kHeap ? heap_control_.factor() : wait_control_.factor();
    const double scaled = options_.of(type).rate * scale(SamplerOf(type)) * static_cast<double>(factor);
    constexpr double kFarthest = 1e17;  // years, petabytes; and a number to compute with
    return Wanted(type) ? static_cast<std::int64_t>(std::min(scaled, kFarthest)) : 0;
  };
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    EnableSeries(sums_, type, options_.of(type).enabled && Wanted(type));
    EnableSeries(since_start_, type, options_.pprof_port >= 0 && options_.of(type).enabled && Wanted(type));
  }
  const double cpu_rate = std::min(options_.of(Type::kCpu).rate, MostCpuRate());
  // Wall clock time that was spent running is seen by the CPU timers.
  const bool timers = Unavailable(Type::kCpu).empty() && (Wanted(Type::kCpu) || Wanted(Type::kWall));
  const std::int64_t period = timers ? static_cast<std::int64_t>(1e9 / cpu_rate * scale(Sampler::kCpu)) : 0;
  if (g_shared.cpu_period_ns.exchange(period) == 0) g_shared.cpu_session.fetch_add(1);
  if (period > 0) {
    // Before main there are no other threads, and listing them costs a short program much.
    timers_.Start(signal_, TimerCookie(), period, !settled_);
    timers_.SetPeriod(period);
    if (timers_.refused() != 0 && !timers_.any()) {  // a sandbox: once and for all
      timers_refused_ = said_trouble_ = true;  // the start line says so
      return ApplyRates(since);
    }
  } else {
    timers_.Stop();
  }
  const bool waiting = Wanted(Type::kWall) || Wanted(Type::kOffCpu) || Wanted(Type::kBlock);
  const double wall_rate = std::max(options_.of(Type::kWall).rate, options_.of(Type::kOffCpu).rate) / scale(Sampler::kWall);
  if (settled_ && (waiting || Wanted(Type::kThreads))) {
    wall_.Start(waiting ? wall_rate : 0, since.value_or(MonotonicNow()));
    wall_.SetRate(waiting ? wall_rate : 0);
  } else {
    wall_.SetRate(0);
  }
  const std::int64_t heap_period = distance(Type::kHeap);
  g_shared.heap_period.store(heap_period);
  t_state.heap_countdown = 0;  // the thread that starts it looks at once; others within a megabyte
  g_shared.mutex_on.store(Wanted(Type::kMutex) || Wanted(Type::kBlock));
  g_shared.block_on.store(Wanted(Type::kBlock));
  g_shared.wait_period_ns.store(std::max(distance(Type::kMutex), distance(Type::kBlock)));
  const auto wall_period = static_cast<std::int64_t>(1e9 / std::max(wall_rate, 0.001));
  periods_ = {period, wall_period, wall_period, heap_period, heap_period, 1, 1, 1};
}

void Engine::EnableSeries(Aggregate& sums, Type type, bool on) {
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

Result<> Engine::SetEnabled(Type type, bool enabled) {
  const Busy busy;
  const std::lock_guard hold(lock_);
  if (enabled && !Unavailable(type).empty()) return Error(Code::kUnsupported, Unavailable(type));
  if (running_.load()) Drain();  // what was sampled until now is counted as things were
  options_.of(type).enabled = enabled;
  if (running_.load()) ApplyRates();
  return {};
}

Result<> Engine::SetRate(Type type, double rate) {
  if (const RateRange range = RatesOf(type); !range.has(rate)) {
    return Error(Code::kInvalid, fmt::format("a rate of {} for {} is not {}; it stays as it was",
                                             rate, TypeName(type), range.what));
  }
  const Busy busy;
  const std::lock_guard hold(lock_);
  options_.of(type).rate = rate;
  if (running_.load()) ApplyRates();
  return {};
}

// With the lock held; empty when it is on.
std::string Engine::WhyOff(Type type) const {
  if (!running_.load()) return "the profiler is not running";
  if (!options_.of(type).enabled)
    return options_.manual_start ? "waits to be started by hand" : "switched off";
  if (governor_->shedding()) return "paused: the machine is above its load threshold";
  return Unavailable(type);
}

// With the lock held: a crash before, or a sandbox.
bool Engine::Refused(Type type) const {
  if (crashed_[static_cast<std::size_t>(type)]) return true;
  if (type == Type::kCpu) return timers_.refused() != 0 || !numbers_trouble_.empty();
  return SamplerOf(type) == Sampler::kWall && !wall_trouble_.empty();
}

std::string Engine::TimerTrouble() const {
  const int error = timers_.refused();
  return std::string(timers_.refused_call()) + ": " + std::generic_category().message(error);
}

// With the lock held; empty when the budget is kept, or may yet be.
std::string Engine::BudgetTrouble() const {
  const std::optional<double> share = governor_->excess();
  if (!share) return {};
  return fmt::format("max_overhead ({:.3g}%) cannot be kept: profiling takes {:.3g}% at the lowest rates",
                     options_.max_overhead * 100, *share * 100);
}

// With the lock held: what one should know of a type that is on; mostly nothing.
std::string Engine::Restriction(Type type) {
  const bool cpu = Unavailable(Type::kCpu).empty();
  if (type == Type::kBlock && !WhyNoLocks().empty())
    return "input and output only: " + WhyNoLocks();
  if (type == Type::kBlock && !wall_trouble_.empty()) return "without input and output: " + wall_trouble_;
  if (type == Type::kWall && !cpu) return "waiting only: " + Unavailable(Type::kCpu);
  if (type == Type::kCpu && timers_.refused() != 0) return "not all threads: " + TimerTrouble();
  if (type == Type::kCpu && options_.of(type).rate > MostCpuRate()) {
    return fmt::format("the kernel's clock ticks {:g} times a second", MostCpuRate());
  }
  return BudgetTrouble();
}

std::vector<TypeState> Engine::States() {
  const Busy busy;
  const std::lock_guard hold(lock_);
  std::vector<TypeState> states;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    TypeState state = {.type = type, .on = false, .rate = options_.of(type).rate, .why = {}, .refused = Refused(type)};
    state.why = WhyOff(type);
    state.on = state.why.empty();
    if (state.on) state.why = Restriction(type);
    const auto scale = static_cast<double>(governor_ ? governor_->scale(SamplerOf(type)) : 1);
    const bool per_second = type == Type::kCpu || type == Type::kWall || type == Type::kOffCpu;
    if (type == Type::kCpu) state.rate = std::min(state.rate, MostCpuRate());
    if (type != Type::kThreads) state.rate = per_second ? state.rate / scale : state.rate * scale;
    if (type == Type::kHeap) state.rate *= static_cast<double>(heap_control_.factor());
    if (type == Type::kMutex || type == Type::kBlock)
      state.rate *= static_cast<double>(wait_control_.factor());
    states.push_back(std::move(state));
  }
  return states;
}

Result<std::uint64_t> Engine::BeginOperation(unsigned types) {
  const Busy busy;
  const std::lock_guard hold(lock_);
  if (!running_.load()) return Error(Code::kUnavailable, "the profiler is not running");
  std::string why;
  bool possible = false;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    if ((types & (1U << i)) == 0) continue;
    const auto type = static_cast<Type>(i);
    const std::string reason = Unavailable(type);
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

Result<profile::Batch> Engine::EndOperation(std::uint64_t id) {
  const Busy busy;
  const std::lock_guard hold(lock_);
  const auto found = operations_.find(id);
  if (found == operations_.end()) return Error(Code::kNotFound, "no such operation is running");
  Drain();
  const std::unique_ptr<Operation> operation = std::move(found->second);
  const Window window = WindowSince(operation->start_ns, operation->started);  // with its rates
  operations_.erase(found);
  if (running_.load()) ApplyRates();
  profile::Batch batch = operation->sums.Take(window);
  return batch.profiles.empty() ? operation->sums.Empty(window) : std::move(batch);
}

void Engine::DropOperation(std::uint64_t id) {
  const Busy busy;
  const std::lock_guard hold(lock_);
  if (operations_.erase(id) != 0 && running_.load()) ApplyRates();
}

Result<profile::Batch> Engine::SinceStart(Type type, Series series) {
  const Busy busy;
  const std::lock_guard hold(lock_);
  if (!running_.load()) return Error(Code::kUnavailable, "the profiler is not running");
  Drain();
  Aggregate& from = series == Series::kInUse ? sums_ : since_start_;
  if (!from.enabled(series)) {
    return Error(governor_->shedding() ? Code::kUnavailable : Code::kUnsupported,
                 fmt::format("{} is off: {}", TypeName(type), WhyOff(type)));
  }
  const auto age = static_cast<std::uint64_t>(MonotonicNow() - started_);
  const Window window = series == Series::kInUse ? WindowSince(window_start_ns_, window_started_)
                                                 : WindowSince(WallClockNow() - age, started_);
  profile::Batch batch = from.Peek(series, window);
  return batch.profiles.empty() ? from.Empty(series, window) : std::move(batch);
}

RuntimeStatistics Engine::Statistics() {
  return {.heap_bytes = heap_bytes_.load(std::memory_order_relaxed),
          .heap_objects = heap_objects_.load(std::memory_order_relaxed),
          .threads = threads_.load(std::memory_order_relaxed)};
}

void Engine::OnThreadStart(std::uintptr_t stack_low, std::uintptr_t stack_high) {
  const Busy busy;
  registry_.EnterThisThread(stack_low, stack_high);
  timers_.Add(CurrentTid());
}

void Engine::OnThreadEnd() {
  const Busy busy;
  if (timers_.Remove(CurrentTid())) RecordUnseen();
  registry_.LeaveThisThread();
}

// A thread of a millisecond seldom lives to see the tick at which its timer would fire: the sample
// that was due is taken at its end, when all that is known of its stack is where it began.
void Engine::RecordUnseen() {
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
void Engine::OnOwnThreadStart() {
  ++t_state.busy;
  registry_.EnterOwnThread();
}

void Engine::OnOwnThreadEnd() { registry_.LeaveThisThread(); }

}  // namespace wherefore::sdk
