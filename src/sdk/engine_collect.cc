// The collector's part of Engine: what happens several times a second, every second and at every
// export.
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/formats.h"
#include "sdk/background_thread.h"
#include "sdk/capture.h"
#include "sdk/clock.h"
#include "sdk/context.h"
#include "sdk/crash_marker.h"
#include "sdk/engine.h"
#include "sdk/heap_table.h"
#include "sdk/log.h"
#include "sdk/shared.h"
#include "sdk/signal_sampler.h"
#include "sdk/stack_bounds.h"
#include "sdk/task_list.h"
#include "sdk/tracer.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// The queue is emptied this often, less often when there was little in it: waking up costs too.
constexpr std::int64_t kBetweenDrains = kSecond / 20;
constexpr std::int64_t kCalmBetweenDrains = kSecond / 4;
constexpr int kFewEvents = 100;
// So many waits need not be looked at any longer to know that they are too many: a thousand threads
// that wait for work cost a tenth of the first second. (What is allocated in it may live for ever,
// so that is seen in full.)
constexpr std::int64_t kManyWaits = 1'000;
// A preloaded program that is younger and has used less CPU time may end soon.
constexpr std::int64_t kSoon = kSecond;
constexpr std::int64_t kLittleCpu = 3 * kSecond / 10;
// After this long without a crash its marker goes.
constexpr std::int64_t kCleanEnough = 600 * kSecond;
// What the kernel needs to deliver one signal and to come back, which nobody else counts.
constexpr std::int64_t kSignalNs = 2'000;

}  // namespace

void Engine::Collect() {
  const Inside inside(Part::kCollector);
  {
    const std::lock_guard hold(lock_);
    first_ticks_ = __rdtsc();
    first_ticks_at_ = MonotonicNow();
  }
  std::int64_t pause = kBetweenDrains;
  while (!stop_.load()) {
    g_shared.collector_wake.WaitFor(pause);
    if (stop_.load()) return;
    if (send_last_by_.load() != 0) {
      CollectLast();
      continue;
    }
    if (MayEndSoon()) {
      const std::lock_guard hold(lock_);
      Settle();
      continue;
    }
    const std::int64_t before = ClockNow(CLOCK_THREAD_CPUTIME_ID);
    const bool loaded = UpdateMapIfNeeded();
    const std::lock_guard hold(lock_);
    // Tables are read once for what is loaded, not at a rate.
    if (loaded) exempt_ns_ += ClockNow(CLOCK_THREAD_CPUTIME_ID) - before;
    Settle();
    pause = Drain() < kFewEvents ? kCalmBetweenDrains : kBetweenDrains;
    const std::int64_t now = MonotonicNow();
    if (now - last_second_ >= kSecond) {
      EverySecond(now);
      first_thread_ended_ = FirstThreadEnded();
    } else if (wait_events_ > kManyWaits && ControlWaits(now)) {
      ApplyRates();
    }
    if (first_thread_ended_ && OnlyOwnThreadsAreLeft()) EndProcess();
    if (now - window_started_ >= options_.upload_interval_ns) Export(now, OwnCpuNow());
  }
}

void Engine::SendLast(std::int64_t longest_ns) {
  if (!running_.load()) return;
  const std::int64_t deadline = MonotonicNow() + longest_ns;
  send_last_by_.store(deadline);
  g_shared.collector_wake.Signal();
  // A signal that comes meanwhile ends a wait early.
  for (std::int64_t left = longest_ns; left > 0 && !sent_last_.WaitFor(left);)
    left = deadline - MonotonicNow();
}

void Engine::CollectLast() {
  {
    const std::lock_guard hold(lock_);
    Drain(true);
    if (sent_ || !sums_.nothing()) Export(MonotonicNow(), OwnCpuNow());
  }
  Tracer::Global().Flush();
  exporter_->Flush(send_last_by_.exchange(0));
  sent_last_.Signal();
}

// With the lock held: it runs long enough for the wall clock.
void Engine::Settle() {
  if (settled_) return;
  settled_ = true;
  exporter_->Expect();
  ApplyRates(started_);
}

// After pthread_exit in main a process ends with its last thread; ours would keep it for ever.
bool Engine::OnlyOwnThreadsAreLeft() {
  std::vector<std::uint32_t> tids;
  if (!ListThreads(tids)) return false;
  if (!numbers_trouble_.empty())
    return tids.size() == 1 + registry_.own();  // the first, which ended
  return std::ranges::all_of(tids, [this](std::uint32_t tid) {
    return tid == static_cast<std::uint32_t>(getpid()) || registry_.IsOwn(tid);
  });
}

// As the C library does when the last thread ends. On a thread that nobody joins: exit() stops the
// others.
void Engine::EndProcess() {
  first_thread_ended_ = false;
  static BackgroundThread last;
  if (!last.Start("wherefore-exit", [](void*) { std::exit(0); }, nullptr)) _exit(0);
}

// A program that ends before anything was sampled needs no tables.
bool Engine::UpdateMapIfNeeded() {
  return (map_.slots().published() || !g_shared.queue.empty()) && map_.Update();
}

// Reading tables takes milliseconds of CPU time. A program that ends soon is better served by
// FollowAtEnd(); until then its samples wait in the queue, as long as there is room.
bool Engine::MayEndSoon() {
  return options_.preloaded && !map_.slots().published() && MonotonicNow() - started_ < kSoon &&
         ClockNow(CLOCK_PROCESS_CPUTIME_ID) < kLittleCpu &&
         !g_shared.queue.MoreThanHalfFull() && !g_shared.early.Filling();
}

// What waits is put to names while they are there.
void Engine::BeforeUnload() {
  const Busy busy;
  if (!running_.load() || g_shared.queue.empty()) return;
  const int error = errno;
  map_.Update();
  const std::lock_guard hold(lock_);
  Drain();
  errno = error;
}

// Another library may come in its place at once: whoever samples it must not follow the old tables.
// Another file may come in the place of its own, so names that will be needed are read now.
void Engine::AfterUnload() {
  const Busy busy;
  const int error = errno;
  if (running_.load() && map_.slots().published() && map_.Update()) {
    const std::lock_guard hold(lock_);
    sums_.NameUnloaded();
  }
  errno = error;
}

// There are no tables, and nobody will need them: follows a stack with the functions on it alone,
// which become known from its top down.
void Engine::FollowAtEnd(Event& event) {
  do {
    TryEarly(event);
  } while (map_.UpdateFor({event.pcs, event.depth}));
  FollowEarly(event);
}

int Engine::Drain(bool at_end) {
  int events = 0;
  const bool parts = at_end && !map_.slots().published();
  sums_.SetLabelKeys(LabelKeys());
  const std::uint64_t used = g_shared.early.used();
  if (!parts) UpdateMapIfNeeded();
  for (Event* event = g_shared.queue.Front(); event != nullptr;
       event = g_shared.queue.Front(), ++events) {
    if (event->kind == EventKind::kCpu && event->detail != 0) LookUpStack(*event);
    if (event->early != 0 && parts) {
      FollowAtEnd(*event);
    } else if (event->early != 0 && event->generation == map_.generation() && !map_.Update()) {
      event->early = 0;  // nothing was loaded since: it cannot be followed any better
    } else if (event->early != 0) {
      FollowEarly(*event);
    }
    heap_events_ += event->kind == EventKind::kAlloc ? 1 : 0;
    wait_events_ += event->kind == EventKind::kWaiter || event->kind == EventKind::kHolder ? 1 : 0;
    sums_.Add(*event);
    if (options_.pprof_port >= 0) since_start_.Add(*event);
    for (const auto& [id, operation] : operations_) operation->sums.Add(*event);
    g_shared.queue.Pop();
  }
  if (parts) {
    map_.ForgetPart();
    sums_.ExpectNoOtherStacks();
  }
  if (g_shared.queue.empty()) g_shared.early.Recycle(used);
  g_shared.queue.TakeLost([this](const EventQueue::Lost& lost) {
    sums_.AddLost(lost);
    if (options_.pprof_port >= 0) since_start_.AddLost(lost);
    for (const auto& [id, operation] : operations_) operation->sums.AddLost(lost);
  });
  return events;
}

// A thread we did not see start: finds its stack for the next time.
void Engine::LookUpStack(const Event& event) {
  const StackBounds bounds = MappingAround(event.detail);
  if (bounds.high != 0) PublishStackBounds(event.tid, bounds.low, bounds.high);
}

void Engine::LogRates() const {
  if (governor_->shedding())
    return Log(LogLevel::kDebug, "paused: the machine is above its load threshold");
  const auto scale = [this](Sampler sampler) { return governor_->scale(sampler); };
  Log(LogLevel::kDebug,
      fmt::format("profiling takes {:.3g}% (max_overhead {:.3g}%); rates now: cpu 1/{}, heap 1/{}, "
                  "locks 1/{}, wall 1/{}",
                  governor_->overhead() * 100, options_.max_overhead * 100, scale(Sampler::kCpu),
                  scale(Sampler::kHeap), scale(Sampler::kLocks), scale(Sampler::kWall)));
}

bool Engine::ControlRates(std::int64_t now) {
  const bool heap = heap_control_.Observe(heap_events_, now - last_second_);
  heap_events_ = 0;
  return ControlWaits(now) || heap;
}

bool Engine::ControlWaits(std::int64_t now) {
  const bool changed = wait_control_.Observe(wait_events_, now - waits_looked_at_);
  wait_events_ = 0;
  waits_looked_at_ = now;
  return changed;
}

void Engine::EverySecond(std::int64_t now) {
  const bool controlled = ControlRates(now);
  last_second_ = now;
  g_shared.cost.ticks_per_ns.store(static_cast<double>(__rdtsc() - first_ticks_) /
                                   static_cast<double>(MonotonicNow() - first_ticks_at_));
  if (crashed_in_ != Part::kNone && now - started_ > kCleanEnough) {
    RemoveCrashMarker();
    crashed_in_ = Part::kNone;  // its parts stay off until the next start
  }
  timers_.Scan();
  sums_.DropFreed();
  const bool governed = governor_->Step(UsageNow());
  if (governed) LogRates();
  const bool troubled = NoteTrouble();
  if (controlled || governed || troubled) ApplyRates();
  const auto between =
      static_cast<std::int64_t>(options_.of(Type::kThreads).rate * static_cast<double>(kSecond));
  if (Wanted(Type::kThreads) && (!last_threads_ || now - *last_threads_ >= between)) {
    last_threads_ = now;
    wall_.RequestThreads();
  }
}

// A sandbox that the program put itself into after the start: said once. True: something is off
// now.
bool Engine::NoteTrouble() {
  bool off = false;
  if (wall_trouble_.empty() && wall_.refused() != 0) {
    wall_trouble_ = "reading /proc/self/task and the stacks of threads: " +
                    std::generic_category().message(wall_.refused());
    LogTrouble("wall, off_cpu and threads are off from here on: " + wall_trouble_);
    off = true;
  }
  if (!said_trouble_ && timers_.refused() != 0) {
    said_trouble_ = true;
    LogTrouble("not all threads are seen in the cpu profile: " + TimerTrouble());
  }
  if (std::string excess = BudgetTrouble(); !excess.empty() && !said_excess_) {
    said_excess_ = true;
    Log(LogLevel::kWarn, excess + "; switch types off, or allow more");
  }
  return off;
}

Engine::OwnCpu Engine::OwnCpuNow() const {
  return {.collector = collector_.CpuTime(),
          .wall = wall_.thread().CpuTime(),
          .exporter = exporter_->CpuTime()};
}

Usage Engine::UsageNow() {
  const OwnCpu own = OwnCpuNow();
  Usage usage = {.process_ns = ClockNow(CLOCK_PROCESS_CPUTIME_ID),
                 .rest = own.collector + own.exporter - exempt_ns_};
  const double ticks_per_ns = g_shared.cost.ticks_per_ns.load();
  for (std::size_t i = 0; i < kSamplerCount; ++i) {
    const auto ticks = static_cast<double>(g_shared.cost.ticks[i].load(std::memory_order_relaxed));
    usage.samplers[i] = ticks_per_ns > 0 ? static_cast<std::int64_t>(ticks / ticks_per_ns) : 0;
  }
  const auto signals =
      static_cast<std::int64_t>(g_shared.cost.signals.load(std::memory_order_relaxed));
  usage.samplers[static_cast<std::size_t>(Sampler::kCpu)] += signals * kSignalNs;
  usage.samplers[static_cast<std::size_t>(Sampler::kWall)] += own.wall;
  return usage;
}

// The profiler is part of the picture it draws. Handlers and hooks ran in threads whose CPU time is
// sampled anyway; our own threads are not, so only those are added.
void Engine::AddOwnCost(const OwnCpu& now) {
  sums_.AddKnown(Series::kCpu, {kCollectorFrame, kProfilerFrame},
                 now.collector - exported_.collector);
  sums_.AddKnown(Series::kCpu, {kWallSamplerFrame, kProfilerFrame}, now.wall - exported_.wall);
  sums_.AddKnown(Series::kCpu, {kExporterFrame, kProfilerFrame}, now.exporter - exported_.exporter);
  exported_ = now;
}

Window Engine::WindowSince(std::uint64_t start_ns, std::int64_t started) const {
  return {.start_ns = start_ns,
          .duration_ns = static_cast<std::uint64_t>(MonotonicNow() - started),
          .periods = periods_};
}

void Engine::Export(std::int64_t now, const OwnCpu& own) {
  AddOwnCost(own);
  if (options_.conditional.active()) {
    sums_.FilterLinks(
        [](const profile::TraceId& trace) { return Tracer::Global().links().Keeps(trace); });
  }
  std::vector<std::string> requests = Requests();
  sums_.Forget();
  sent_ = sent_ || !requests.empty();
  window_start_ns_ = WallClockNow();
  window_started_ = now;
  for (std::string& request : requests) exporter_->Enqueue(Signal::kProfiles, std::move(request));
  if (const std::uint64_t untracked = g_heap_table.TakeUntracked(); untracked > 0) {
    SayAtMostOnceAMinute(fmt::format(
        "{} sampled allocations found no room among those that are watched: memory in use "
        "is more than the profile says",
        untracked));
  }
}

// Everything as one request; where that would be above max_profile_size, one for each series, and
// the smallest stacks of a series that alone is above it as [other].
std::vector<std::string> Engine::Requests() {
  const Window window = WindowSince(window_start_ns_, window_started_);
  const auto limit =
      std::min(static_cast<std::size_t>(options_.max_profile_bytes), Exporter::kMaxQueuedBytes);
  std::vector<std::string> requests;
  const auto add = [&requests](std::string request) {
    if (!request.empty()) requests.push_back(std::move(request));
  };
  if (std::string all = Encode(sums_.Peek(window)); all.size() <= limit) {
    add(std::move(all));
    return requests;
  }
  for (std::size_t i = 0; i < kSeriesCount; ++i) {
    const auto series = static_cast<Series>(i);
    const std::size_t samples = sums_.size(series);
    std::size_t most = samples;
    std::string request = Encode(sums_.Peek(series, window));
    while (request.size() > limit && most > 1) {
      // A little less than in proportion: the tables of names do not shrink as fast.
      most = std::max<std::size_t>(1, most * limit / request.size() * 9 / 10);
      request = Encode(sums_.Peek(series, window, most));
    }
    if (most < samples) {
      SayAtMostOnceAMinute(fmt::format(
          "a profile is above max_profile_size ({}): {} of its {} stacks are sent as [other]",
          FormatBytes(static_cast<std::int64_t>(limit)), samples - most + 1, samples));
    }
    add(std::move(request));
  }
  return requests;
}

// Empty when there is nothing in it.
std::string Engine::Encode(profile::Batch batch) const {
  if (batch.profiles.empty()) return {};
  batch.resources.push_back(AddResource(batch, resource_));
  batch.scopes.push_back(
      {.name = batch.AddText("wherefore"), .version = batch.AddText(LibraryVersion())});
  return formats::EncodeOtlpProfiles(batch);
}

void Engine::SayAtMostOnceAMinute(const std::string& text) {
  const std::int64_t now = MonotonicNow();
  Log(now < next_warning_ ? LogLevel::kDebug : LogLevel::kWarn, text);
  if (now >= next_warning_) next_warning_ = now + (60 * kSecond);
}

}  // namespace wherefore::sdk
