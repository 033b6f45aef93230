// WallSampler: what threads wait for, seen without disturbing them.
//
// A thread of ours looks at a few threads of the host at a time, by /proc/self/task/T/syscall: it
// tells whether a thread waits and where. Its stack is then copied by process_vm_readv and unwound
// from the copy. No signal is sent, so no system call of the host ever ends with EINTR. Threads
// that run are left to the CPU timers, which know better.
//
// The rate is per process: of n threads, k random ones are looked at in each tick, and each stands
// for n/k. A thread that has not moved since it was last looked at (same pc, same sp, same top of
// its stack) keeps its stack: then a look costs one read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sdk/platform/background_thread.h"
#include "sdk/platform/futex_event.h"
#include "sdk/sample/event.h"
#include "sdk/unwind/unwind.h"

namespace wherefore::sdk {

class ModuleMap;
class ThreadRegistry;

class WallSampler {
 public:
  WallSampler(ThreadRegistry& registry, ModuleMap& map) : registry_(registry), map_(map) {}

  // Ticks per second; time counts from `since` (monotonic) on.
  bool Start(double rate, std::int64_t since);
  void Stop();
  // Ticks per second; 0 pauses.
  void SetRate(double rate);
  // Lists all threads once, as soon as possible.
  void RequestThreads();
  // In a forked child: the thread is not there.
  void Forget();

  [[nodiscard]] const BackgroundThread& thread() const { return thread_; }
  // Why it cannot work here (hidepid, a sandbox); empty when it can.
  [[nodiscard]] static std::string WhyNot();
  // The error with which the system began to refuse what it needs (EPERM: a sandbox that came after
  // the start), 0 when it did not.
  [[nodiscard]] int refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  // A thread as it was last seen waiting.
  struct Seen {
    std::uint64_t pc = 0;
    std::uint64_t sp = 0;
    std::uint64_t top = 0;  // hash of the top of the stack
    std::uint64_t generation = 0;
    StackEnd end = StackEnd::kComplete;
    std::vector<std::uint64_t> pcs;
  };
  struct Waiting {
    std::uint64_t system_call = 0;
    std::uint64_t sp = 0;
    std::uint64_t pc = 0;
  };

  void Run();
  void List(std::int64_t now);
  void Tick(std::int64_t elapsed_ns);
  void ListAll();
  // One thread; `value` is what it stands for.
  void Look(std::uint32_t tid, EventKind kind, std::int64_t value, double weight);
  [[nodiscard]] bool ReadWaiting(std::uint32_t tid, Waiting& waiting);
  void NoteRefusal();
  // Brings `seen` up to date; true when the thread has moved since.
  bool Follow(const Waiting& waiting, Seen& seen);
  [[nodiscard]] static bool OutOfDate(const Seen& seen);
  void UnwindCopy(const Waiting& waiting, std::size_t copied, Seen& seen);
  void Emit(std::uint32_t tid, EventKind kind, const Seen& seen, const Waiting& waiting,
            std::int64_t value, double weight);
  void CopyContext(std::uint32_t tid, Event& event) const;

  ThreadRegistry& registry_;
  ModuleMap& map_;
  BackgroundThread thread_;
  FutexEvent wake_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> list_all_{false};
  std::atomic<double> rate_{0};
  std::atomic<int> refused_{0};

  std::int64_t since_ = 0;
  std::vector<std::uint32_t> tids_;
  std::int64_t list_at_ = 0;
  std::int64_t list_at_earliest_ = 0;
  std::uint64_t listed_changes_ = 0;  // of the registry
  std::uint64_t random_ = 0x5851f42d4c957f2dULL;
  std::unordered_map<std::uint32_t, Seen> seen_;
  std::array<std::uint8_t, std::size_t{64} * 1024> copy_ = {};
  RuleCache cache_ = {};
};

}  // namespace wherefore::sdk
