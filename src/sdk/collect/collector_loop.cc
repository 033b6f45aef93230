// Collector's own thread: what happens several times a second, every second and at every
// export.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "sdk/collect/collector.h"
#include "sdk/context/context.h"
#include "sdk/context/tracer.h"
#include "sdk/platform/background_thread.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/stack_bounds.h"
#include "sdk/platform/task_list.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/crash_marker.h"
#include "sdk/sample/shared.h"
#include "sdk/sample/signal_sampler.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
// The queue is emptied this often, less often when there was little in it: waking up costs too.
constexpr std::int64_t kBetweenDrains = kSecond / 20;
constexpr std::int64_t kCalmBetweenDrains = kSecond / 4;
constexpr std::int64_t kQuietBetweenDrains = kSecond;
constexpr int kFewEvents = 100;
constexpr int kHardlyAnyEvents = 10;
// With more CPUs than these a program that is quiet now may fill the queue within a second.
constexpr long kFewCpus = 8;

std::int64_t PauseAfter(int events) {
  static const bool few_cpus = sysconf(_SC_NPROCESSORS_ONLN) <= kFewCpus;
  if (events >= kFewEvents) return kBetweenDrains;
  return events < kHardlyAnyEvents && few_cpus ? kQuietBetweenDrains : kCalmBetweenDrains;
}

// A preloaded program that is younger and has used less CPU time may end soon.
constexpr std::int64_t kSoon = kSecond;
constexpr std::int64_t kLittleCpu = 3 * kSecond / 10;

}  // namespace

void Collector::Collect() {
  const Inside inside(Part::kCollector);
  {
    const FutexLockHold hold(lock_);
    rates_.BeginTicks();
  }
  std::int64_t pause = kBetweenDrains;
  while (!stop_.load()) {
    g_shared.collector_wake.WaitFor(pause);
    if (stop_.load()) return;
    if (send_last_by_.load() != 0) {
      CollectLast();
      continue;
    }
    {
      const FutexLockHold hold(lock_);
      if (MayEndSoon()) {
        Settle();
        continue;
      }
    }
    const std::int64_t before = ClockNow(CLOCK_THREAD_CPUTIME_ID);
    const bool loaded = UpdateMapIfNeeded();
    const FutexLockHold hold(lock_);
    // Tables are read once for what is loaded, not at a rate.
    if (loaded) rates_.Exempt(ClockNow(CLOCK_THREAD_CPUTIME_ID) - before);
    Settle();
    pause = PauseAfter(DrainQueue());
    const std::int64_t now = MonotonicNow();
    if (now - last_second_ >= kSecond) {
      EverySecond(now);
      first_thread_ended_ = FirstThreadEnded();
    } else if (rates_.LookAtManyWaits(now)) {
      ApplyRates();
    }
    if (first_thread_ended_) pause = std::min(pause, kCalmBetweenDrains);  // the end may be near
    if (first_thread_ended_ && OnlyOwnThreadsAreLeft()) EndProcess();
    if (now - window_.started() < options_.upload_interval_ns) continue;
    TakeWaits();
    Export(now, OwnCpuNow());
  }
}

void Collector::SendLast(std::int64_t longest_ns) {
  if (!running_.load()) return;
  const std::int64_t deadline = MonotonicNow() + longest_ns;
  send_last_by_.store(deadline);
  g_shared.collector_wake.Signal();
  // A signal that comes meanwhile ends a wait early.
  for (std::int64_t left = longest_ns; left > 0 && !sent_last_.WaitFor(left);)
    left = deadline - MonotonicNow();
}

void Collector::CollectLast() {
  Exporter* exporter = nullptr;
  {
    const FutexLockHold hold(lock_);
    exporter = exporter_;
    Drain(true);
    if (window_.WorthSending()) Export(MonotonicNow(), OwnCpuNow());
  }
  Tracer::Global().Flush();
  exporter->Flush(send_last_by_.exchange(0));
  sent_last_.Signal();
}

// It runs long enough for the wall clock.
void Collector::Settle() {
  if (settled_) return;
  settled_ = true;
  exporter_->Expect();
  ApplyRates(started_);
}

// After pthread_exit in main a process ends with its last thread; ours would keep it for ever.
bool Collector::OnlyOwnThreadsAreLeft() {
  std::vector<std::uint32_t> tids;
  if (!ListThreads(tids)) return false;
  if (!rates_.support().knows_thread_ids())
    return tids.size() == 1 + registry_.own();  // the first, which ended
  return std::ranges::all_of(tids, [this](std::uint32_t tid) {
    return tid == static_cast<std::uint32_t>(getpid()) || registry_.IsOwn(tid);
  });
}

// As the C library does when the last thread ends. On a thread that nobody joins: exit() stops the
// others.
void Collector::EndProcess() {
  first_thread_ended_ = false;
  static BackgroundThread last;
  if (!last.Start("wherefore-exit", [](void*) { std::exit(0); }, nullptr)) _exit(0);
}

// A program that ends before anything was sampled needs no tables.
bool Collector::UpdateMapIfNeeded() {
  return (map_.slots().published() || !g_shared.queue.empty()) && map_.Update();
}

// Reading tables takes milliseconds of CPU time. A program that ends soon is better served by
// FollowAtEnd(); until then its samples wait in the queue, as long as there is room.
bool Collector::MayEndSoon() {
  return options_.preloaded && !map_.slots().published() && MonotonicNow() - started_ < kSoon &&
         ClockNow(CLOCK_PROCESS_CPUTIME_ID) < kLittleCpu && !g_shared.queue.MoreThanHalfFull() &&
         !g_shared.early.Filling();
}

// What waits is put to names while they are there.
void Collector::BeforeUnload() {
  const Busy busy;
  if (!running_.load() || g_shared.queue.empty()) return;
  const int error = errno;
  map_.Update();
  const FutexLockHold hold(lock_);
  Drain();
  errno = error;
}

// Another library may be loaded in its place at once, and must not be unwound by the old tables.
// Its file may be replaced too, so names that will be needed are read now.
void Collector::AfterUnload() {
  const Busy busy;
  const int error = errno;
  if (running_.load() && map_.slots().published() && map_.Update()) {
    const FutexLockHold hold(lock_);
    TakeWaits();
    window_.sums().NameUnloaded();
  }
  errno = error;
}

// There are no tables, and the program ends: follows a stack with tables of only the functions on
// it, which become known from its top down.
void Collector::FollowAtEnd(Event& event) {
  do {
    TryEarly(event);
  } while (map_.UpdateFor({event.pcs, event.depth}));
  FollowEarly(event);
}

// As far as it can be followed now, where that has not been done yet.
void Collector::Follow(Event& event, bool at_end) {
  if (event.kind == EventKind::kCpu && event.detail != 0) LookUpStack(event);
  if (event.early == 0) return;
  if (at_end) return FollowAtEnd(event);
  if (event.generation == map_.generation() && !map_.Update()) {
    event.early = 0;  // nothing was loaded since: it cannot be followed any better
  } else {
    FollowEarly(event);
  }
}

std::vector<Aggregate*> Collector::Takers() {
  std::vector<Aggregate*> takers = {&window_.sums()};
  if (options_.pprof_port >= 0) takers.push_back(&since_start_);
  for (const auto& [id, operation] : operations_) takers.push_back(&operation->sums);
  return takers;
}

void Collector::Drain(bool at_end) {
  DrainQueue(at_end);
  TakeWaits();
}

void Collector::TakeWaits() {
  waiting_.Take([takers = Takers()](const Event& event) {
    for (Aggregate* sums : takers) sums->Add(event);
  });
}

int Collector::DrainQueue(bool at_end) {
  int events = 0;
  const bool parts = at_end && !map_.slots().published();
  const std::vector<Aggregate*> takers = Takers();
  window_.sums().SetLabelKeys(LabelKeys());
  const std::uint64_t used = g_shared.early.used();
  if (!parts) UpdateMapIfNeeded();
  for (Event* event = g_shared.queue.Front(); event != nullptr;
       event = g_shared.queue.Front(), ++events) {
    Follow(*event, parts);
    rates_.Count(event->kind);
    for (Aggregate* sums : takers) sums->Add(*event);
    g_shared.queue.Pop();
  }
  if (parts) map_.ForgetPart();
  if (g_shared.queue.empty()) g_shared.early.Recycle(used);
  g_shared.queue.TakeLost([&takers](const EventQueue::Lost& lost) {
    for (Aggregate* sums : takers) sums->AddLost(lost);
  });
  return events;
}

// A thread we did not see start: finds its stack for the next time.
void Collector::LookUpStack(const Event& event) {
  const StackBounds bounds = MappingAround(event.detail);
  if (bounds.high != 0) PublishStackBounds(event.tid, bounds.low, bounds.high);
}

void Collector::EverySecond(std::int64_t now) {
  last_second_ = now;
  rates_.support().ForgetCrashAfter(now - started_);
  if (census_.OutOfDate(registry_)) timers_.Scan();
  window_.sums().DropFreed();
  if (rates_.EverySecond(now, OwnCpuNow())) ApplyRates();
  const auto between =
      static_cast<std::int64_t>(rates_.rate(Type::kThreads) * static_cast<double>(kSecond));
  if (rates_.Wanted(Type::kThreads) && (!last_threads_ || now - *last_threads_ >= between)) {
    last_threads_ = now;
    wall_.RequestThreads();
  }
}

OwnCpu Collector::OwnCpuNow() const {
  return {.collector = thread_.CpuTime(),
          .wall = wall_.thread().CpuTime(),
          .exporter = exporter_->CpuTime()};
}

void Collector::Export(std::int64_t now, const OwnCpu& own) {
  for (std::string& request : window_.Close(now, own, rates_.periods()))
    exporter_->Enqueue(Signal::kProfiles, std::move(request));
}

}  // namespace wherefore::sdk
