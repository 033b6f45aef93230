// The memory budget of this process: how much it may use, how that is divided, and how much is held
// for requests, queries and names.
//
// Code that is about to use much memory takes the bytes first and is refused when they are not
// available. Two things are compared with the limit: what was promised (counters here) and what is
// in use (the kernel's figures). Work that must go on (rows already acknowledged) takes its bytes
// unconditionally, which leaves less for new work. The last line of defence is operator new
// (large_blocks.cc): it throws std::bad_alloc for a large block that does not fit.
//
// Threads: any. Without SetLimit there is no limit and nothing is refused.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/mutex.h"
#include "base/result.h"

namespace wherefore {

// How a limit is divided. The remainder covers what nobody counts.
struct MemoryShares {
  std::size_t engine = 0;  // ClickHouse: rows being inserted, merged and read
  std::size_t work = 0;    // everything taken from this budget
};
[[nodiscard]] MemoryShares DivideMemory(std::size_t limit);

class MemoryBudget {
 public:
  MemoryBudget() = default;
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;
  static MemoryBudget& Process();

  // Call before threads start.
  void SetLimit(std::size_t bytes);
  [[nodiscard]] std::size_t limit() const { return limit_; }
  [[nodiscard]] MemoryShares shares() const { return shares_; }

  // False: nothing was taken.
  [[nodiscard]] bool Take(std::size_t bytes);
  void TakeAnyway(std::size_t bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }
  void Give(std::size_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t held() const { return held_.load(std::memory_order_relaxed); }
  // For queries, which together get at most half: queries must not keep senders out.
  [[nodiscard]] bool TakeForQuery(std::size_t bytes);
  void GiveForQuery(std::size_t bytes);
  // Whether Take could ever succeed.
  [[nodiscard]] bool Fits(std::size_t bytes) const { return bytes <= shares_.work; }

  // Whether a block of this size may be allocated now.
  [[nodiscard]] bool HasRoom(std::size_t bytes);
  // `reclaim` returns free memory to the system. It is called when room gets short, at most five
  // times a second.
  void SetReclaim(std::function<void()> reclaim);

 private:
  void Reclaim();

  std::size_t limit_ = SIZE_MAX;
  MemoryShares shares_{.engine = SIZE_MAX, .work = SIZE_MAX};
  std::atomic<std::size_t> held_{0};
  std::atomic<std::size_t> held_for_queries_{0};  // part of held_
  std::atomic<std::int64_t> reclaimed_ns_{0};
  Mutex mutex_;
  std::function<void()> reclaim_ GUARDED_BY(mutex_);
};

// kUnavailable: the same request may succeed later.
[[nodiscard]] Error ShortOfMemory();

// Bytes held of the process's budget, given back on destruction. One thread at a time.
class MemoryHold {
 public:
  MemoryHold() = default;
  MemoryHold(const MemoryHold&) = delete;
  MemoryHold& operator=(const MemoryHold&) = delete;
  ~MemoryHold() { MemoryBudget::Process().Give(bytes_); }

  // Grows to at least this much. False when there is not enough; then nothing changes.
  [[nodiscard]] bool Reach(std::size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!MemoryBudget::Process().Take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }
  // Holds exactly this much, whether there is room or not.
  void Set(std::size_t bytes) {
    if (bytes > bytes_) MemoryBudget::Process().TakeAnyway(bytes - bytes_);
    if (bytes < bytes_) MemoryBudget::Process().Give(bytes_ - bytes);
    bytes_ = bytes;
  }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace wherefore
