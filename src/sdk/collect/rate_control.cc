#include "sdk/collect/rate_control.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sdk/platform/arch.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/log.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/shared.h"
#include "sdk/sample/signal_sampler.h"

namespace wherefore::sdk {
namespace {

// A thousand threads that wait for work cost a tenth of the first second. (What is allocated in it
// may live for ever, so that is seen in full.)
constexpr std::int64_t kManyWaits = 1'000;
// Of max_overhead, as a share of one CPU: what looking at threads may take. The rest is for the
// others, whose costs grow with what the program does.
constexpr double kWallShare = 0.3;
// What the kernel needs to deliver one signal and to return, which is counted nowhere else.
constexpr std::int64_t kSignalNs = 2'000;

// The kernel looks at CPU timers once per tick of its clock, 250 times a second nearly everywhere.
double MostCpuRate() {
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_sec != 0 || tick.tv_nsec <= 0)
    return 250;
  return 1e9 / static_cast<double>(tick.tv_nsec);
}

SamplerKind SamplerOf(Type type) {
  switch (type) {
    case Type::kCpu:
      return SamplerKind::kCpu;
    case Type::kHeap:
      return SamplerKind::kHeap;
    case Type::kMutex:
    case Type::kBlock:
      return SamplerKind::kLocks;
    case Type::kWall:
    case Type::kOffCpu:
    case Type::kThreads:
      return SamplerKind::kWall;
  }
  return SamplerKind::kCpu;
}

}  // namespace

bool RateControl::Stream::Look(std::int64_t now) {
  const bool changed = target.Observe(events, now - looked_at);
  events = 0;
  looked_at = now;
  return changed;
}

void RateControl::Adopt(const Options& options) {
  types_ = options.types;
  enabled_ = options.enabled;
  manual_start_ = options.manual_start;
  max_overhead_ = options.max_overhead;
  if (governor_) governor_->Adopt(options);
}

void RateControl::ResetBudget(const Options& options) {
  governor_.emplace(options);
  exempt_ns_ = 0;
}

void RateControl::Begin(std::int64_t now) {
  heap_.looked_at = waits_.looked_at = now;
}

void RateControl::BeginTicks() {
  first_ticks_ = Ticks();
  first_ticks_at_ = MonotonicNow();
}

bool RateControl::Wanted(Type type) const {
  if (!enabled_ || governor_->shedding() || !support_.Unavailable(type).empty()) return false;
  return of(type).enabled || (operations_ & (1U << static_cast<unsigned>(type))) != 0;
}

double RateControl::Scale(SamplerKind sampler) const {
  return static_cast<double>(governor_->scale(sampler));
}

std::int64_t RateControl::Distance(Type type) const {
  const Stream& stream = type == Type::kHeap ? heap_ : waits_;
  const double scaled =
      rate(type) * Scale(SamplerOf(type)) * static_cast<double>(stream.target.factor());
  constexpr double kFarthest = 1e17;  // years, petabytes; and a number to compute with
  return Wanted(type) ? static_cast<std::int64_t>(std::min(scaled, kFarthest)) : 0;
}

// Wall clock time that was spent running is seen by the CPU timers.
std::int64_t RateControl::CpuPeriod() const {
  const bool timers =
      support_.Unavailable(Type::kCpu).empty() && (Wanted(Type::kCpu) || Wanted(Type::kWall));
  const double most = std::min(rate(Type::kCpu), MostCpuRate());
  return timers ? static_cast<std::int64_t>(1e9 / most * Scale(SamplerKind::kCpu)) : 0;
}

void RateControl::Apply(unsigned operations, bool settled, std::optional<std::int64_t> since) {
  operations_ = operations;
  const std::int64_t period = CpuPeriod();
  if (!ApplyTimers(period, settled)) {
    support_.GiveUpTimers();
    return Apply(operations, settled, since);
  }
  const double wall_rate = ApplyWall(settled, since);
  const std::int64_t heap_period = Distance(Type::kHeap);
  g_shared.heap_period.store(heap_period);
  t_state.heap_countdown = 0;  // the thread that starts it looks at once; others within a megabyte
  g_shared.mutex_on.store(Wanted(Type::kMutex) || Wanted(Type::kBlock));
  g_shared.block_on.store(Wanted(Type::kBlock));
  g_shared.wait_period_ns.store(std::max(Distance(Type::kMutex), Distance(Type::kBlock)));
  const auto wall_period = static_cast<std::int64_t>(1e9 / std::max(wall_rate, 0.001));
  periods_ = {period, wall_period, wall_period, heap_period, heap_period, 1, 1, 1};
}

bool RateControl::ApplyTimers(std::int64_t period, bool settled) {
  if (g_shared.cpu_period_ns.exchange(period) == 0) g_shared.cpu_session.fetch_add(1);
  if (period <= 0) {
    timers_.Stop();
    return true;
  }
  // Before main there are no other threads, and listing them costs a short program much.
  timers_.Start(support_.signal(), TimerCookie(), period, !settled);
  timers_.SetPeriod(period);
  return timers_.refused() == 0 || timers_.any();
}

double RateControl::ApplyWall(bool settled, std::optional<std::int64_t> since) {
  const bool waiting = Wanted(Type::kWall) || Wanted(Type::kOffCpu) || Wanted(Type::kBlock);
  const double wall_rate =
      std::max(rate(Type::kWall), rate(Type::kOffCpu)) / Scale(SamplerKind::kWall);
  if (settled && (waiting || Wanted(Type::kThreads))) {
    wall_.Start(waiting ? wall_rate : 0, since.value_or(MonotonicNow()),
                kWallShare * max_overhead_);
    wall_.SetRate(waiting ? wall_rate : 0);
  } else {
    wall_.SetRate(0);
  }
  return wall_rate;
}

void RateControl::StopSamplers() {
  timers_.Stop();
  wall_.Stop();
  g_shared.cpu_period_ns.store(0);
  g_shared.heap_period.store(0);
  g_shared.wait_period_ns.store(0);
  g_shared.mutex_on.store(false);
  g_shared.block_on.store(false);
}

void RateControl::Count(EventKind kind) {
  heap_.events += kind == EventKind::kAlloc ? 1 : 0;
  waits_.events += kind == EventKind::kWaiter || kind == EventKind::kHolder ? 1 : 0;
}

bool RateControl::LookAtManyWaits(std::int64_t now) {
  return waits_.events > kManyWaits && waits_.Look(now);
}

bool RateControl::EverySecond(std::int64_t now, const OwnCpu& own) {
  const bool heap = heap_.Look(now);
  const bool waits = waits_.Look(now);
  MeasureTicks();
  const bool governed = governor_->Step(UsageNow(own));
  if (governed) LogRates();
  return NoteTrouble() || heap || waits || governed;
}

void RateControl::MeasureTicks() const {
  g_shared.cost.ticks_per_ns.store(static_cast<double>(Ticks() - first_ticks_) /
                                   static_cast<double>(MonotonicNow() - first_ticks_at_));
}

Usage RateControl::UsageNow(const OwnCpu& own) const {
  Usage usage = {.process_ns = ClockNow(CLOCK_PROCESS_CPUTIME_ID),
                 .rest = own.collector + own.exporter - exempt_ns_};
  const double ticks_per_ns = g_shared.cost.ticks_per_ns.load();
  for (std::size_t i = 0; i < kSamplerCount; ++i) {
    const auto ticks = static_cast<double>(g_shared.cost.ticks[i].load(std::memory_order_relaxed));
    usage.samplers[i] = ticks_per_ns > 0 ? static_cast<std::int64_t>(ticks / ticks_per_ns) : 0;
  }
  const auto signals =
      static_cast<std::int64_t>(g_shared.cost.signals.load(std::memory_order_relaxed));
  usage.samplers[static_cast<std::size_t>(SamplerKind::kCpu)] += signals * kSignalNs;
  usage.samplers[static_cast<std::size_t>(SamplerKind::kWall)] += own.wall;
  return usage;
}

// True: something is off now.
bool RateControl::NoteTrouble() {
  const bool off = support_.NoteRefusals();
  if (std::string excess = BudgetTrouble(); !excess.empty() && !logged_excess_) {
    logged_excess_ = true;
    Log(LogLevel::kWarn, excess + "; switch types off, or allow more");
  }
  return off;
}

void RateControl::LogRates() const {
  if (governor_->shedding())
    return Log(LogLevel::kDebug, "paused: the machine is above its load threshold");
  const auto scale = [this](SamplerKind sampler) { return governor_->scale(sampler); };
  Log(LogLevel::kDebug,
      fmt::format("profiling takes {:.3g}% (max_overhead {:.3g}%); rates now: cpu 1/{}, heap 1/{}, "
                  "locks 1/{}, wall 1/{}",
                  governor_->overhead() * 100, max_overhead_ * 100, scale(SamplerKind::kCpu),
                  scale(SamplerKind::kHeap), scale(SamplerKind::kLocks),
                  scale(SamplerKind::kWall)));
}

std::string RateControl::WhyOff(Type type) const {
  if (!enabled_) return "switched off";
  if (!of(type).enabled) return manual_start_ ? "waits to be started by hand" : "switched off";
  if (governor_->shedding()) return "paused: the machine is above its load threshold";
  return support_.Unavailable(type);
}

std::string RateControl::BudgetTrouble() const {
  const std::optional<double> share = governor_->excess();
  if (!share) return {};
  return fmt::format(
      "max_overhead ({:.3g}%) cannot be kept: profiling takes {:.3g}%, and fewer samples would not "
      "change that",
      max_overhead_ * 100, *share * 100);
}

// What one should know of a type that is on; mostly nothing.
std::string RateControl::Restriction(Type type) const {
  if (std::string part = support_.Restriction(type); !part.empty()) return part;
  if (type == Type::kCpu && rate(type) > MostCpuRate())
    return fmt::format("the kernel's clock ticks {:g} times a second", MostCpuRate());
  if (std::string trouble = BudgetTrouble(); !trouble.empty()) return trouble;
  if (governor_->scale(SamplerOf(type)) == 1 || type == Type::kThreads) return {};
  return fmt::format("lowered, to keep to max_overhead ({:.3g}%) or the load thresholds",
                     max_overhead_ * 100);
}

TypeState RateControl::State(Type type, std::string off) const {
  TypeState state = {.type = type,
                     .on = off.empty(),
                     .rate = rate(type),
                     .why = std::move(off),
                     .refused = support_.Refused(type)};
  if (state.on) state.why = Restriction(type);
  const auto scale = static_cast<double>(governor_ ? governor_->scale(SamplerOf(type)) : 1);
  const bool per_second = type == Type::kCpu || type == Type::kWall || type == Type::kOffCpu;
  if (type == Type::kCpu) state.rate = std::min(state.rate, MostCpuRate());
  if (type != Type::kThreads) state.rate = per_second ? state.rate / scale : state.rate * scale;
  if (type == Type::kHeap) state.rate *= static_cast<double>(heap_.target.factor());
  if (type == Type::kMutex || type == Type::kBlock)
    state.rate *= static_cast<double>(waits_.target.factor());
  return state;
}

}  // namespace wherefore::sdk
