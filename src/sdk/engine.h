// Engine: the profiler as a whole. Starts and stops the samplers, empties the queue, exports.
//
// One per process, made at the first start and never destroyed: a late hook or handler finds it
// alive. Everything below `lock_` is guarded by it; the collector thread holds it while it works, so
// whoever else wants something (flush, a rate, an operation) takes the lock and does it right there.
//
// fork: the lock and those of the parts are held over it. The child starts with no samplers; its
// first CPU time makes it due (collector_restart.h), the next hooked call starts them again; so does a
// new thread, or Flush.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "profile/batch.h"
#include "sdk/aggregate.h"
#include "sdk/background_thread.h"
#include "sdk/crash_marker.h"
#include "sdk/cpu_timers.h"
#include "sdk/exporter.h"
#include "sdk/futex_event.h"
#include "sdk/futex_lock.h"
#include "sdk/governor.h"
#include "sdk/module_map.h"
#include "sdk/modules.h"
#include "sdk/options.h"
#include "sdk/profiler.h"
#include "sdk/rate_control.h"
#include "sdk/resource.h"
#include "sdk/thread_registry.h"
#include "sdk/wall_sampler.h"

namespace wherefore::sdk {

class Engine {
 public:
  // Nullptr before the first start.
  [[nodiscard]] static Engine* Get() { return g_engine.load(std::memory_order_acquire); }
  static Engine& GetOrMake();

  Result<> Start(const Options& options, Exporter& exporter);
  void Stop(Unsent unsent = Unsent::kSend);
  void Flush();
  // quick_exit, which may have been called in a signal handler: has the collector send what there is,
  // and waits for that so long at most. Takes no lock and no memory itself.
  void SendLast(std::int64_t longest_ns);

  Result<> SetEnabled(Type type, bool enabled);
  Result<> SetRate(Type type, double rate);
  std::vector<TypeState> States();

  // kUnsupported, with the first reason, when none of the types can work here.
  Result<std::uint64_t> BeginOperation(unsigned types);
  Result<profile::Batch> EndOperation(std::uint64_t operation);
  void DropOperation(std::uint64_t operation);
  // What has been counted since the start, or the heap as it is now; profiles without samples when
  // that is nothing. kUnsupported, with the reason, when the type is off; kUnavailable when paused.
  Result<profile::Batch> SinceStart(Type type, Series series);

  // By the thread itself, when it starts and when it ends: threads of the host, and our own.
  void OnThreadStart(std::uintptr_t stack_low, std::uintptr_t stack_high);
  void OnThreadEnd();
  static void RecordUnseen();
  // By the thread that closes a library.
  void BeforeUnload();
  void AfterUnload();
  void OnOwnThreadStart();
  void OnOwnThreadEnd();

  void BeforeFork();
  void AfterForkInParent();
  void AfterForkInChild();
  // In the child, ordinary context: samplers start again.
  void Restart();
  [[nodiscard]] bool awaits_restart() const { return awaits_restart_.load(); }

 private:
  struct Operation {
    Aggregate sums;
    unsigned types = 0;  // bit set
    std::uint64_t start_ns = 0;
    std::int64_t started = 0;  // monotonic
  };

  struct OwnCpu {
    std::int64_t collector = 0;
    std::int64_t wall = 0;
    std::int64_t exporter = 0;
  };

  Engine();
  void Collect();  // body of the collector thread
  bool UpdateMapIfNeeded();
  // Gives how many events there were. At the end of a program that has no tables none are read.
  int Drain(bool at_end = false);
  [[nodiscard]] bool MayEndSoon();
  void FollowAtEnd(Event& event);
  void Settle();
  void CollectLast();
  bool ControlRates(std::int64_t now);
  bool ControlWaits(std::int64_t now);
  void EverySecond(std::int64_t now);
  [[nodiscard]] bool OnlyOwnThreadsAreLeft();
  void EndProcess();
  // `own` is what our threads have used so far, asked for while they were there.
  void Export(std::int64_t now, const OwnCpu& own);
  std::vector<std::string> Requests();
  std::string Encode(profile::Batch batch) const;
  void SayAtMostOnceAMinute(const std::string& text);
  void AddOwnCost(const OwnCpu& now);
  // `since`: from when on the wall clock counts, if it begins now.
  void ApplyRates(std::optional<std::int64_t> since = std::nullopt);
  // A forked child: what its parent had gathered is the parent's.
  void ForgetParent();
  void StartSamplers();
  void StopSamplers();
  void LookUpStack(const Event& event);
  void HeedCrashMarker();
  [[nodiscard]] bool Wanted(Type type) const;
  [[nodiscard]] std::string Unavailable(Type type) const;
  [[nodiscard]] std::string WhyOff(Type type) const;
  [[nodiscard]] std::string Restriction(Type type);
  void LookAtProc();
  [[nodiscard]] bool Refused(Type type) const;
  [[nodiscard]] std::string TimerTrouble() const;
  [[nodiscard]] std::string BudgetTrouble() const;
  void LogRates() const;
  bool NoteTrouble();
  [[nodiscard]] OwnCpu OwnCpuNow() const;
  [[nodiscard]] Usage UsageNow();
  [[nodiscard]] Window WindowSince(std::uint64_t start_ns, std::int64_t started) const;
  static void EnableSeries(Aggregate& sums, Type type, bool on);

  static constinit std::atomic<Engine*> g_engine;

  FutexLock lock_;
  BackgroundThread collector_;
  std::atomic<bool> running_{false};
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> send_last_by_{0};  // 0: nobody asked for that
  FutexEvent sent_last_;

  ThreadRegistry registry_;
  CpuTimers timers_;
  WallSampler wall_;
  ModuleMap map_;
  Modules modules_;
  Aggregate sums_;
  Aggregate since_start_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Operation>> operations_;
  std::uint64_t next_operation_ = 1;

  Options options_;
  ResourceAttributes resource_;
  Exporter* exporter_ = nullptr;
  std::optional<Governor> governor_;
  RateControl heap_control_{500};
  RateControl wait_control_{200};
  std::int64_t heap_events_ = 0;  // since rates were last looked at
  std::int64_t wait_events_ = 0;
  std::int64_t waits_looked_at_ = 0;  // when
  int signal_ = 0;
  bool timers_refused_ = false;  // no thread got one
  std::atomic<bool> awaits_restart_{false};  // a forked child, until it has samplers of its own
  int restart_timer_ = -1;                   // which says that it is due
  Part crashed_in_ = Part::kNone;  // in the run before this one
  std::array<bool, kTypeCount> crashed_ = {};
  std::int64_t started_ = 0;
  std::string numbers_trouble_;  // why threads are not known by their numbers; empty: they are
  std::string wall_trouble_;  // why nobody can be looked at; empty: one can
  bool said_trouble_ = false;
  bool said_excess_ = false;
  std::uint64_t window_start_ns_ = 0;  // wall clock
  std::int64_t window_started_ = 0;    // monotonic
  std::int64_t last_second_ = 0;
  bool first_thread_ended_ = false;  // the collector's own
  std::optional<std::int64_t> last_threads_;  // nothing: not yet
  std::int64_t next_warning_ = 0;
  std::int64_t exempt_ns_ = 0;       // CPU time of ours that happens once, not at a rate
  OwnCpu exported_;  // what was in the exports so far
  bool sent_ = false;  // there was one
  bool kept_ = false;  // the window goes on where the last run stopped
  std::array<std::int64_t, kSeriesCount> periods_ = {};  // distances in force, kept over a stop
  bool settled_ = true;  // this program runs long enough for the wall clock
  std::uint64_t first_ticks_ = 0;  // of the time stamp counter, and when
  std::int64_t first_ticks_at_ = 0;
};

}  // namespace wherefore::sdk
