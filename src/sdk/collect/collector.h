// Collector: the profiler as a whole. Starts and stops the samplers, empties the queue, exports.
//
// One per process, made at the first start and never destroyed: a late hook or handler finds it
// alive. Its thread holds `lock_` while it works, so whoever else wants something (flush, a rate,
// an operation) takes the lock and does it right there. RateControl decides what is sampled how
// often, ExportWindow has what is to be sent; both are parts of this and guarded by the same lock.
//
// fork: the lock and those of the parts are held over it. The child starts with no samplers; its
// first CPU time makes it due (collector_restart.h), the next hooked call starts them again; so
// does a new thread, or Flush.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "profile/batch.h"
#include "sdk/collect/aggregate.h"
#include "sdk/collect/export_window.h"
#include "sdk/collect/own_cpu.h"
#include "sdk/collect/rate_control.h"
#include "sdk/collect/type_state.h"
#include "sdk/config/options.h"
#include "sdk/config/remote_options.h"
#include "sdk/net/exporter.h"
#include "sdk/platform/background_thread.h"
#include "sdk/platform/futex_event.h"
#include "sdk/platform/futex_lock.h"
#include "sdk/sample/cpu_timers.h"
#include "sdk/sample/thread_census.h"
#include "sdk/sample/thread_registry.h"
#include "sdk/sample/waiting_threads.h"
#include "sdk/sample/wall_sampler.h"
#include "sdk/unwind/module_map.h"
#include "sdk/unwind/modules.h"

namespace wherefore::sdk {

class Collector {
 public:
  // Nullptr before the first start.
  [[nodiscard]] static Collector* Get() { return g_collector.load(std::memory_order_acquire); }
  static Collector& GetOrMake();

  Result<> Start(const Options& options, Exporter& exporter);
  void Stop(Unsent unsent = Unsent::kSend);
  void Flush();
  // quick_exit, which may have been called in a signal handler: has the collector send what there
  // is, and waits for that so long at most. Takes no lock and no memory itself.
  void SendLast(std::int64_t longest_ns);

  // By the program.
  Result<> SetEnabled(Type type, bool enabled);
  Result<> SetRate(Type type, double rate);
  // By the server, over what the program chose; kept over a stop. Gives what is in force then.
  Options SetRemote(RemoteOptions remote);
  // What is in force.
  Options Effective();
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
  void OnOwnThreadStart();
  void OnOwnThreadEnd();
  // By the thread that closes a library.
  void BeforeUnload();
  void AfterUnload();

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

  Collector();
  static void RecordMissedSample();
  static void EnableSeries(Aggregate& sums, Type type, bool on);
  static void LookUpStack(const Event& event);

  void StartSamplers() REQUIRES(lock_);
  // `since`: from when on the wall clock counts, if it begins now.
  void ApplyRates(std::optional<std::int64_t> since = std::nullopt) REQUIRES(lock_);
  [[nodiscard]] std::string WhyOff(Type type) const REQUIRES(lock_);
  // After options_ or remote_ changed: brings everything to what is in force now.
  void Adopt() REQUIRES(lock_);
  // Whether the type is otherwise because of the server.
  [[nodiscard]] bool SetByServer(Type type) const REQUIRES(lock_);
  [[nodiscard]] OwnCpu OwnCpuNow() const REQUIRES(lock_);
  // `own` is what our threads have used so far, asked for while they were there.
  void Export(std::int64_t now, const OwnCpu& own) REQUIRES(lock_);
  // A forked child: what its parent had gathered is the parent's.
  void ForgetParent() REQUIRES(lock_);

  void Collect();  // body of the thread
  void CollectLast();
  // Takes over everything that was sampled. At the end of a program that has no tables none are
  // read.
  void Drain(bool at_end = false) REQUIRES(lock_);
  // Gives how many events there were.
  int DrainQueue(bool at_end = false) REQUIRES(lock_);
  // What threads waited and no event says yet: before anything is exported, or counts in another
  // way.
  void TakeWaits() REQUIRES(lock_);
  [[nodiscard]] std::vector<Aggregate*> Takers() REQUIRES(lock_);
  void Follow(Event& event, bool at_end) REQUIRES(lock_);
  void FollowAtEnd(Event& event);
  bool UpdateMapIfNeeded();
  [[nodiscard]] bool MayEndSoon() REQUIRES(lock_);
  void Settle() REQUIRES(lock_);
  void EverySecond(std::int64_t now) REQUIRES(lock_);
  [[nodiscard]] bool OnlyOwnThreadsAreLeft() REQUIRES(lock_);
  void EndProcess() REQUIRES(lock_);

  static constinit std::atomic<Collector*> g_collector;

  // Of any thread, each with its own lock or none.
  FutexLock lock_;
  BackgroundThread thread_;
  std::atomic<bool> running_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> awaits_restart_{false};    // a forked child, until it has samplers of its own
  std::atomic<std::int64_t> send_last_by_{0};  // 0: nobody asked for that
  FutexEvent sent_last_;
  ThreadRegistry registry_;
  CpuTimers timers_;
  ModuleMap map_;
  WaitingThreads waiting_;
  WallSampler wall_;

  Modules modules_ GUARDED_BY(lock_);
  RateControl rates_ GUARDED_BY(lock_);
  ThreadCensus census_ GUARDED_BY(lock_);  // of the CPU timers
  ExportWindow window_ GUARDED_BY(lock_);
  Aggregate since_start_ GUARDED_BY(lock_);  // for the pprof pages
  std::unordered_map<std::uint64_t, std::unique_ptr<Operation>> operations_ GUARDED_BY(lock_);
  std::uint64_t next_operation_ GUARDED_BY(lock_) = 1;
  Options options_ GUARDED_BY(lock_);  // as the program has them: of the start, and changed since
  RemoteOptions remote_ GUARDED_BY(lock_);
  Options effective_ GUARDED_BY(lock_);  // the one over the other: what is in force
  Exporter* exporter_ GUARDED_BY(lock_) = nullptr;
  int restart_timer_ GUARDED_BY(lock_) = -1;  // which says that a forked child is due
  bool settled_ GUARDED_BY(lock_) = true;     // this program runs long enough for the wall clock
  std::int64_t started_ GUARDED_BY(lock_) = 0;
  std::int64_t last_second_ GUARDED_BY(lock_) = 0;
  std::optional<std::int64_t> last_threads_ GUARDED_BY(lock_);  // nothing: not yet
  bool first_thread_ended_ GUARDED_BY(lock_) = false;
};

}  // namespace wherefore::sdk
