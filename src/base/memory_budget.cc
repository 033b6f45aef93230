#include "base/memory_budget.h"

#include "base/clock.h"
#include "base/memory_limit.h"

namespace wherefore {
namespace {

constexpr std::size_t kMb = 1u << 20;
// An idle server without the engine: code, threads, connection buffers.
constexpr std::size_t kBase = 40 * kMb;
// Below 119 MB an insert of a few thousand spans never fits (docs/performance.md, "With little
// memory").
constexpr std::size_t kMinEngine = 150 * kMb;
constexpr std::size_t kMaxEngine = 4000 * kMb;
constexpr std::size_t kMinWork = 16 * kMb;
// Room for small blocks, page tables and kernel buffers, which nobody counts.
constexpr std::size_t kUncounted = 24 * kMb;
constexpr std::size_t kUncountedAddresses =
    128 * kMb;  // the allocator reserves its heaps in steps of this size
constexpr std::int64_t kReclaimEveryNs = kNsPerSecond / 5;
// Below this size, reading the kernel's figures costs more than it saves.
constexpr std::size_t kCheckedBytes = 256u << 10;

}  // namespace

MemoryShares DivideMemory(std::size_t limit) {
  if (limit == SIZE_MAX) return {.engine = kMaxEngine, .work = SIZE_MAX};
  MemoryShares shares;
  shares.engine = std::clamp(limit / 100 * 35, kMinEngine, kMaxEngine);
  const std::size_t others = kBase + limit / 10 + shares.engine;
  shares.work = limit > others + kMinWork ? limit - others : kMinWork;
  return shares;
}

MemoryBudget& MemoryBudget::Process() {
  static MemoryBudget* const kBudget = new MemoryBudget;  // outlives every static
  return *kBudget;
}

void MemoryBudget::SetLimit(std::size_t bytes) {
  limit_ = bytes;
  shares_ = DivideMemory(bytes);
}

bool MemoryBudget::Take(std::size_t bytes) {
  const std::size_t held = held_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (held <= shares_.work && (bytes < kCheckedBytes || HasRoom(bytes))) return true;
  Give(bytes);
  return false;
}

bool MemoryBudget::TakeForQuery(std::size_t bytes) {
  const std::size_t held = held_for_queries_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (held <= shares_.work / 2 && Take(bytes)) return true;
  held_for_queries_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void MemoryBudget::GiveForQuery(std::size_t bytes) {
  held_for_queries_.fetch_sub(bytes, std::memory_order_relaxed);
  Give(bytes);
}

bool MemoryBudget::HasRoom(std::size_t bytes) {
  if (limit_ == SIZE_MAX) return true;
  const auto fits = [&](std::size_t most) {
    const MemoryUse use = ReadMemoryUse();
    return use.anonymous + bytes <= most && bytes + kUncountedAddresses <= AddressesLeft(use);
  };
  if (fits(limit_ / 10 * 6)) return true;
  Reclaim();
  return fits(limit_ - std::max(limit_ / 20, kUncounted));
}

void MemoryBudget::SetReclaim(std::function<void()> reclaim) {
  MutexLock lock(mutex_);
  reclaim_ = std::move(reclaim);
}

void MemoryBudget::Reclaim() {
  const std::int64_t now = MonotonicNs();
  std::int64_t before = reclaimed_ns_.load();
  if (before != 0 && now - before < kReclaimEveryNs) return;
  if (!reclaimed_ns_.compare_exchange_strong(before, now)) return;
  MutexLock lock(mutex_);
  if (reclaim_) reclaim_();
}

Error ShortOfMemory() {
  return {Code::kUnavailable,
          "the server is out of memory for now; try again later, or raise serve --memory"};
}

}  // namespace wherefore
