// WaitingThreads: where the threads of the host wait, as last seen, and for how long.
//
// A look disturbs nobody: no signal is sent, so no system call of the host ever ends with EINTR.
// The thread's CPU clock tells whether it ran since the last look. If it did not, its stack, its
// span and its labels are what they were, and that one system call is all. If it did,
// /proc/self/task/T/syscall tells whether it waits and where, and its stack is copied by
// process_vm_readv and unwound from the copy, unless it came back to the same place (same pc, same
// sp, same top of its stack). Threads that run are left to the CPU timers, which know better.
//
// Time that is spent in one place adds up here. It becomes an event of the queue when the thread is
// seen in another, or is handed out by Take(): a thousand threads that wait cost the collector
// nothing between two exports.
//
// Looks are made by the wall clock's thread; Take() is for the collector. Ordinary context.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sdk/context/context.h"
#include "sdk/platform/futex_lock.h"
#include "sdk/sample/event.h"
#include "sdk/sample/thread_registry.h"
#include "sdk/unwind/unwind.h"

namespace wherefore::sdk {

class ModuleMap;

class WaitingThreads {
 public:
  WaitingThreads(ThreadRegistry& registry, ModuleMap& map) : registry_(registry), map_(map) {}

  enum class Found : std::uint8_t { kWaits, kRuns, kGone };

  // Before the first look: reads the tables to follow stacks with, if nobody has yet.
  void ReadTables();
  // Looks at a thread. If it waits, `value` nanoseconds and `waits` waits are counted where it
  // does; the latter only if it ran since the last look: a wait that goes on is one wait, however
  // often it is seen.
  Found Look(std::uint32_t tid, std::int64_t value, double waits);
  // Counts so much more where it was seen by the last look, which found it waiting.
  void Prolong(std::uint32_t tid, std::int64_t value);
  // Puts the thread into the queue as one of a listing of all threads.
  void Show(std::uint32_t tid);
  // Hands out what was counted and is in no event yet. What `take` is given is gone afterwards.
  void Take(const std::function<void(const Event&)>& take);
  // Forgets threads that are not among these, which are sorted. What was counted stays.
  void KeepOnly(const std::vector<std::uint32_t>& tids);
  [[nodiscard]] std::size_t known();

  // Why it cannot work here (hidepid, a sandbox); empty when it can.
  [[nodiscard]] static std::string WhyNot();
  // The error with which the system began to refuse what it needs (EPERM: a sandbox that came after
  // the start), 0 when it did not.
  [[nodiscard]] int refused() const { return refused_.load(std::memory_order_relaxed); }
  // Whether errno, after something failed, means for good and not for the one thread.
  void NoteRefusal();

  // In a forked child, after LockForFork: other threads are not there. Unlocks.
  void ForgetAll();
  void LockForFork() { lock_.LockForFork(); }
  void UnlockAfterFork() { lock_.UnlockInParent(); }

 private:
  static constexpr std::int64_t kNotKnown = -1;

  struct Waiting {
    std::uint64_t system_call = 0;
    std::uint64_t sp = 0;
    std::uint64_t pc = 0;
    bool operator==(const Waiting&) const = default;
  };
  struct Counted {
    std::int64_t value = 0;
    double waits = 0;
    std::uint32_t looks = 0;

    [[nodiscard]] bool any() const { return value > 0 || looks > 0; }
    void Add(const Counted& more) {
      value += more.value;
      waits += more.waits;
      looks += more.looks;
    }
  };
  // A thread as it was last seen waiting.
  struct Seen {
    std::int64_t ran = kNotKnown;  // CPU time it had used then
    Waiting at;
    std::uint64_t top = 0;  // hash of the top of the stack
    std::uint64_t generation = 0;
    StackEnd end = StackEnd::kComplete;
    std::vector<std::uint64_t> pcs;
    ThreadRecord context = {};  // all zero: none
    Counted counted;            // and in no event yet
  };
  // What was copied of a waiting thread.
  struct Copied {
    ThreadRecord context = {};
    std::size_t stack = 0;  // bytes in `copy_`
  };

  Found Look(std::uint32_t tid, const Counted& count);
  [[nodiscard]] static std::int64_t Ran(std::uint32_t tid, bool& gone);
  bool CountIfUnmoved(std::uint32_t tid, std::int64_t ran, const Counted& count);
  [[nodiscard]] bool ReadWaiting(std::uint32_t tid, Waiting& waiting);
  [[nodiscard]] Copied Copy(const ThreadRegistry::Thread& thread, std::uint64_t sp);
  // Brings `seen` up to date; what was counted at the place it left becomes an event.
  void Follow(std::uint32_t tid, const Waiting& at, const Copied& copied, std::uint64_t stack_high,
              Seen& seen) REQUIRES(lock_);
  [[nodiscard]] static bool OutOfDate(const Seen& seen);
  void UnwindCopy(std::size_t copied, Seen& seen) REQUIRES(lock_);
  [[nodiscard]] static Event TakeCounted(std::uint32_t tid, Seen& seen);
  [[nodiscard]] static Event Describe(std::uint32_t tid, const Seen& seen);
  static void Publish(const Event& from);

  ThreadRegistry& registry_;
  ModuleMap& map_;
  std::atomic<int> refused_{0};

  FutexLock lock_;
  std::unordered_map<std::uint32_t, Seen> seen_ GUARDED_BY(lock_);
  // Of the wall clock's thread alone.
  std::array<std::uint8_t, std::size_t{64} * 1024> copy_ = {};
  std::vector<std::uint64_t> pcs_;
  RuleCache cache_ = {};
};

}  // namespace wherefore::sdk
