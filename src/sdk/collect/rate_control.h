// RateControl: which types are sampled and at which distances, and the samplers that follow it.
//
// What the user asked for (options, SetEnabled, SetRate) and what an operation needs is put
// together with what can work here (TypeSupport), what it costs (Governor) and how much there is of
// it (SampleTarget). Apply() brings the samplers to the result.
//
// Guarded by the collector's lock, which owns the one there is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sdk/collect/batch_writer.h"
#include "sdk/collect/governor.h"
#include "sdk/collect/own_cpu.h"
#include "sdk/collect/sample_target.h"
#include "sdk/collect/type_state.h"
#include "sdk/collect/type_support.h"
#include "sdk/config/options.h"
#include "sdk/sample/cpu_timers.h"
#include "sdk/sample/event.h"
#include "sdk/sample/wall_sampler.h"

namespace wherefore::sdk {

class RateControl {
 public:
  RateControl(CpuTimers& timers, WallSampler& wall, const WaitingThreads& waiting)
      : timers_(timers), wall_(wall), support_(timers, waiting) {}

  // The types and the budget of these options, from the next Apply() on.
  void Adopt(const Options& options);
  // At a start, and in a forked child: what was spent so far is another's.
  void ResetBudget(const Options& options);
  // The samplers are about to start, at `now` (monotonic).
  void Begin(std::int64_t now);
  // By the collector's thread, when it starts: the time stamp counter is measured from here on.
  void BeginTicks();

  // Brings every sampler to what is wanted now. `operations` are the types that operations need, as
  // a bit set. The wall clock waits until the program is `settled`; it counts from `since` on, if
  // it begins now.
  void Apply(unsigned operations, bool settled, std::optional<std::int64_t> since);
  // Every sampler is off until the next Apply().
  void StopSamplers();

  // An event was taken out of the queue.
  void Count(EventKind kind);
  // So many waits need not be looked at any longer to know that they are too many. True when
  // distances changed: Apply() is due.
  bool LookAtManyWaits(std::int64_t now);
  // Once a second. True: Apply() is due.
  bool EverySecond(std::int64_t now, const OwnCpu& own);
  // CPU time of ours that is spent once and not at a rate: it does not count as cost.
  void Exempt(std::int64_t cpu_ns) { exempt_ns_ += cpu_ns; }

  // To be sampled now, for the continuous profiles or for an operation.
  [[nodiscard]] bool Wanted(Type type) const;
  // The same for the continuous profiles alone.
  [[nodiscard]] bool WantedAlways(Type type) const { return of(type).enabled && Wanted(type); }
  [[nodiscard]] double rate(Type type) const { return of(type).rate; }
  [[nodiscard]] bool shedding() const { return governor_->shedding(); }
  // Why a type is off while the profiler runs; empty when it is on.
  [[nodiscard]] std::string WhyOff(Type type) const;
  // `off`: why it is, as WhyOff() or the collector knows it; empty: it is on.
  [[nodiscard]] TypeState State(Type type, std::string off) const;
  // Distances in force, by series; kept over a stop.
  [[nodiscard]] const Periods& periods() const { return periods_; }

  [[nodiscard]] TypeSupport& support() { return support_; }

 private:
  // Events of one kind since they were last looked at, and the distance that follows.
  struct Stream {
    SampleTarget target;
    std::int64_t events = 0;
    std::int64_t looked_at = 0;  // monotonic

    bool Look(std::int64_t now);
  };

  [[nodiscard]] const TypeOptions& of(Type type) const {
    return types_[static_cast<std::size_t>(type)];
  }
  [[nodiscard]] double Scale(SamplerKind sampler) const;
  // Between two samples of the heap or of waits; 0: not wanted.
  [[nodiscard]] std::int64_t Distance(Type type) const;
  [[nodiscard]] std::int64_t CpuPeriod() const;
  // False: the system refuses timers to every thread.
  bool ApplyTimers(std::int64_t period, bool settled);
  // Gives the ticks per second.
  double ApplyWall(bool settled, std::optional<std::int64_t> since);
  void MeasureTicks() const;
  [[nodiscard]] Usage UsageNow(const OwnCpu& own) const;
  bool NoteTrouble();
  // Empty when the budget is kept, or may yet be.
  [[nodiscard]] std::string BudgetTrouble() const;
  [[nodiscard]] std::string Restriction(Type type) const;
  void LogRates() const;

  CpuTimers& timers_;
  WallSampler& wall_;
  TypeSupport support_;
  std::array<TypeOptions, kTypeCount> types_ = {};
  unsigned operations_ = 0;  // types that operations need, as a bit set
  bool enabled_ = true;      // false: nothing is, not even for operations
  bool manual_start_ = false;
  double max_overhead_ = 0;
  std::optional<Governor> governor_;  // from the first start on
  Stream heap_{.target = SampleTarget(500)};
  Stream waits_{.target = SampleTarget(200)};
  Periods periods_ = {};
  std::int64_t exempt_ns_ = 0;
  std::uint64_t first_ticks_ = 0;  // of the time stamp counter, and when
  std::int64_t first_ticks_at_ = 0;
  bool logged_excess_ = false;
};

}  // namespace wherefore::sdk
