// The types' part of Engine: which of them can work here and which are wanted, at which rates, and
// what is said of each.
#include <time.h>

#include <algorithm>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

#include "sdk/clock.h"
#include "sdk/crash_marker.h"
#include "sdk/engine.h"
#include "sdk/hook_reach.h"
#include "sdk/shared.h"
#include "sdk/signal_sampler.h"
#include "sdk/thread_state.h"

namespace wherefore::sdk {
namespace {

// The kernel looks at CPU timers once per tick of its clock, 250 times a second nearly everywhere.
double MostCpuRate() {
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_sec != 0 || tick.tv_nsec <= 0)
    return 250;
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
  const auto scale = [this](Sampler sampler) {
    return static_cast<double>(governor_->scale(sampler));
  };
  const auto distance = [&](Type type) {
    const std::int64_t factor =
        type == Type::kHeap ? heap_control_.factor() : wait_control_.factor();
    const double scaled =
        options_.of(type).rate * scale(SamplerOf(type)) * static_cast<double>(factor);
    constexpr double kFarthest = 1e17;  // years, petabytes; and a number to compute with
    return Wanted(type) ? static_cast<std::int64_t>(std::min(scaled, kFarthest)) : 0;
  };
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    EnableSeries(sums_, type, options_.of(type).enabled && Wanted(type));
    EnableSeries(since_start_, type,
                 options_.pprof_port >= 0 && options_.of(type).enabled && Wanted(type));
  }
  const double cpu_rate = std::min(options_.of(Type::kCpu).rate, MostCpuRate());
  // Wall clock time that was spent running is seen by the CPU timers.
  const bool timers =
      Unavailable(Type::kCpu).empty() && (Wanted(Type::kCpu) || Wanted(Type::kWall));
  const std::int64_t period =
      timers ? static_cast<std::int64_t>(1e9 / cpu_rate * scale(Sampler::kCpu)) : 0;
  if (g_shared.cpu_period_ns.exchange(period) == 0) g_shared.cpu_session.fetch_add(1);
  if (period > 0) {
    // Before main there are no other threads, and listing them costs a short program much.
    timers_.Start(signal_, TimerCookie(), period, !settled_);
    timers_.SetPeriod(period);
    if (timers_.refused() != 0 && !timers_.any()) {  // a sandbox: once and for all
      timers_refused_ = said_trouble_ = true;        // the start line says so
      return ApplyRates(since);
    }
  } else {
    timers_.Stop();
  }
  const bool waiting = Wanted(Type::kWall) || Wanted(Type::kOffCpu) || Wanted(Type::kBlock);
  const double wall_rate =
      std::max(options_.of(Type::kWall).rate, options_.of(Type::kOffCpu).rate) /
      scale(Sampler::kWall);
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
  return fmt::format(
      "max_overhead ({:.3g}%) cannot be kept: profiling takes {:.3g}%, and fewer samples would not "
      "change that",
      options_.max_overhead * 100, *share * 100);
}

// With the lock held: what one should know of a type that is on; mostly nothing.
std::string Engine::Restriction(Type type) {
  const bool cpu = Unavailable(Type::kCpu).empty();
  if (type == Type::kBlock && !WhyNoLocks().empty())
    return "input and output only: " + WhyNoLocks();
  if (type == Type::kBlock && !wall_trouble_.empty())
    return "without input and output: " + wall_trouble_;
  if (type == Type::kWall && !cpu) return "waiting only: " + Unavailable(Type::kCpu);
  if (type == Type::kCpu && timers_.refused() != 0) return "not all threads: " + TimerTrouble();
  if (type == Type::kCpu && options_.of(type).rate > MostCpuRate()) {
    return fmt::format("the kernel's clock ticks {:g} times a second", MostCpuRate());
  }
  if (std::string trouble = BudgetTrouble(); !trouble.empty()) return trouble;
  if (governor_->scale(SamplerOf(type)) == 1 || type == Type::kThreads) return {};
  return fmt::format("lowered, to keep to max_overhead ({:.3g}%) or the load thresholds",
                     options_.max_overhead * 100);
}

std::vector<TypeState> Engine::States() {
  const Busy busy;
  const std::lock_guard hold(lock_);
  std::vector<TypeState> states;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    TypeState state = {.type = type,
                       .on = false,
                       .rate = options_.of(type).rate,
                       .why = {},
                       .refused = Refused(type)};
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

}  // namespace wherefore::sdk
