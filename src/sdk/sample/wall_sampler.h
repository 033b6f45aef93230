// WallSampler: the thread of ours that looks at threads of the host, to see what they wait for.
//
// The rate is per process: of n threads, k random ones are looked at in each tick
// (waiting_threads.h says how), and each stands for n/k. k, and when the next tick is, is what the
// budget allows: looking takes at most a fixed share of one CPU, from the first second on, whatever
// the number of threads, and less in a program that does little. Values stay right at any rate.
//
// Start, Stop and what else is public: any thread. What it finds is WaitingThreads'.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "sdk/platform/background_thread.h"
#include "sdk/platform/clock.h"
#include "sdk/platform/futex_event.h"
#include "sdk/sample/look_budget.h"
#include "sdk/sample/thread_census.h"
#include "sdk/sample/thread_registry.h"
#include "sdk/sample/waiting_threads.h"

namespace wherefore::sdk {

class WallSampler {
 public:
  WallSampler(ThreadRegistry& registry, WaitingThreads& waiting)
      : registry_(registry), waiting_(waiting) {}

  // Ticks per second; time counts from `since` (monotonic) on. Looking takes at most `share` of one
  // CPU; 0: as much as it needs.
  bool Start(double rate, std::int64_t since, double share);
  void Stop();
  // Ticks per second; 0 pauses.
  void SetRate(double rate);
  // Lists all threads once, as soon as possible.
  void RequestThreads();
  // In a forked child: the thread is not there.
  void Forget();

  [[nodiscard]] const BackgroundThread& thread() const { return thread_; }

 private:
  void Run();
  void StartAt(std::int64_t time);
  void Prepare(std::int64_t now);
  void ShareByUse(std::int64_t now);
  void List(std::int64_t now);
  void Tick(std::int64_t now, double rate);
  void Look(std::uint32_t tid, std::int64_t value);
  void ShowAll(std::int64_t now);
  // CPU time of this thread.
  [[nodiscard]] static std::int64_t Used() { return ClockNow(CLOCK_THREAD_CPUTIME_ID); }

  ThreadRegistry& registry_;
  WaitingThreads& waiting_;
  BackgroundThread thread_;
  FutexEvent wake_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> show_all_{false};
  std::atomic<double> rate_{0};

  std::int64_t since_ = 0;
  double most_share_ = 0;
  // Of the thread.
  LookBudget budget_;
  std::int64_t last_tick_ = 0;
  std::vector<std::uint32_t> last_looks_;  // threads that waited then
  double last_weight_ = 0;                 // for how many threads each stands; 0: none yet
  std::int64_t next_second_ = 0;
  std::int64_t process_at_ = 0;  // when the process had used so much
  std::int64_t process_used_ = 0;
  std::vector<std::uint32_t> tids_;
  ThreadCensus census_;
  std::int64_t list_at_earliest_ = 0;
  std::uint64_t listed_changes_ = 0;  // of the registry
  std::uint64_t random_ = 0x5851f42d4c957f2dULL;
};

}  // namespace wherefore::sdk
