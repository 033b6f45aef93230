#include "sdk/engine.h"

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "elf/elf_file.h"
#include "sdk/capture.h"
#include "sdk/clock.h"
#include "sdk/collector_restart.h"
#include "sdk/context.h"
#include "sdk/heap_sampler.h"
#include "sdk/log.h"
#include "sdk/shared.h"
#include "sdk/signal_sampler.h"
#include "sdk/stack_bounds.h"
#include "sdk/task_list.h"
#include "sdk/thread_state.h"

namespace wherefore::sdk {
namespace {

constexpr std::uint32_t kQueueSlots = 2048;

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
  if (awaits_restart_.load()) ForgetParent();
  exported_ = {};  // our threads are new
  exempt_ns_ = 0;
  g_shared.pid.store(getpid());
  if (!g_shared.queue.Open(kQueueSlots, options_.max_stack_depth) || !g_shared.early.Open()) {
    return Error(Code::kLimit, "no memory for the queue of samples");
  }
  if (const unsigned depth = g_shared.queue.max_depth(); depth < options_.max_stack_depth)
    Log(LogLevel::kWarn, fmt::format("stacks stay at {} frames, as at the first start", depth));
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
  if (!collector_.running())
    return Error(Code::kLimit, "the system gave no thread for the collector (ulimit -u, pids.max)");
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
  started_ = last_second_ = waits_looked_at_ = now;
  const bool kept = std::exchange(kept_, false);
  if (!kept) {
    window_start_ns_ = WallClockNow();
    window_started_ = now;
  }
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
  if (kept) sums_.ForgetDisabled();
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

void Engine::Stop(Unsent unsent) {
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
  kept_ = unsent == Unsent::kKeep;
  Drain(!kept_);
  // A program that was not seen at all sends nothing: a script may start a thousand of them.
  if (kept_) {
    AddOwnCost(own);
  } else if (sent_ || !sums_.nothing()) {
    Export(MonotonicNow(), own);
  }
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

void Engine::OnThreadStart(std::uintptr_t stack_low, std::uintptr_t stack_high) {
  const Busy busy;
  registry_.EnterThisThread(stack_low, stack_high);
  timers_.Add(CurrentTid());
}

void Engine::OnThreadEnd() {
  const Busy busy;
  if (timers_.Remove(CurrentTid())) RecordUnseen();
  OnLastAllocation();
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
