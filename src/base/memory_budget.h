// The one budget of memory of this process: how much it may use, how that is divided, and how much
// of it is held for requests, questions and names.
//
// Whoever is about to use much takes the bytes first, and is refused when they are not there: the
// budget's counters see what was promised, the kernel's what is really used. What must go on (rows
// that were acknowledged) takes them anyway, and leaves less for newcomers. The last line is
// `operator new` (large_blocks.cc): a large block that would not fit is std::bad_alloc.
//
// Threads: any. Always: without SetLimit there is no limit and nothing is refused.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/mutex.h"
#include "base/result.h"

namespace wherefore {

// How a limit is divided; what is left over is room for what nobody counts.
struct MemoryShares {
  std::size_t engine = 0;  // rows being inserted, merged and read
  std::size_t work = 0;    // everything that is taken here
};
[[nodiscard]] MemoryShares DivideMemory(std::size_t limit);

class MemoryBudget {
 public:
  MemoryBudget() = default;
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;
  static MemoryBudget& Process();

  // Before the threads start.
  void SetLimit(std::size_t bytes);
  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] MemoryShares shares() const { return shares_; }

  // False: nothing was taken.
  [[nodiscard]] bool Take(std::size_t bytes);
  void TakeAnyway(std::size_t bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }
  void Give(std::size_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t held() const { return held_.load(std::memory_order_relaxed); }
  // The same for questions, which get at most half of it: who asks must not keep others from
  // sending.
  [[nodiscard]] bool TakeForQuestion(std::size_t bytes);
  void GiveForQuestion(std::size_t bytes);
  // Whether Take could ever succeed.
  [[nodiscard]] bool Fits(std::size_t bytes) const { return bytes <= shares_.work; }

  // May a block of this size be allocated now?
  [[nodiscard]] bool HasRoom(std::size_t bytes);
  // Called, at most five times a second, where room gets short: gives back to the system what is
  // free.
  void OnShort(std::function<void()> give_back);

 private:
  void GiveBack();

  std::size_t limit_ = SIZE_MAX;
  MemoryShares shares_{.engine = SIZE_MAX, .work = SIZE_MAX};
  std::atomic<std::size_t> held_{0};
  std::atomic<std::size_t> held_for_questions_{0};  // of these
  std::atomic<std::int64_t> gave_back_ns_{0};
  Mutex mutex_;
  std::function<void()> give_back_ GUARDED_BY(mutex_);
};

// kUnavailable: it may be answered later.
[[nodiscard]] Error ShortOfMemory();

// Bytes held of the process's budget, given back at the end of its life. One thread at a time.
class MemoryHold {
 public:
  MemoryHold() = default;
  MemoryHold(const MemoryHold&) = delete;
  MemoryHold& operator=(const MemoryHold&) = delete;
  ~MemoryHold() { MemoryBudget::Process().Give(bytes_); }

  // Holds at least this much; false when there is not enough.
  [[nodiscard]] bool Reach(std::size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!MemoryBudget::Process().Take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }
  // Holds this much, whether there is room or not.
  void Set(std::size_t bytes) {
    if (bytes > bytes_) MemoryBudget::Process().TakeAnyway(bytes - bytes_);
    if (bytes < bytes_) MemoryBudget::Process().Give(bytes_ - bytes);
    bytes_ = bytes;
  }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace wherefore
