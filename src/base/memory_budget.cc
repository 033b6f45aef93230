#include "base/memory_budget.h"

#include "base/clock.h"
#include "base/memory_limit.h"

namespace wherefore {
namespace {

constexpr std::size_t kMb = 1u << 20;
// Code, threads, buffers of connections: what a server has that does nothing, without the engine.
constexpr std::size_t kBase = 40 * kMb;
// Below 119 MB an insert of a few thousand spans never fits (docs/performance.md, "In a small box").
constexpr std::size_t kLeastEngine = 150 * kMb;
constexpr std::size_t kMostEngine = 4000 * kMb;
constexpr std::size_t kLeastWork = 16 * kMb;
// Small blocks that come meanwhile, tables of pages, buffers of the kernel.
constexpr std::size_t kUnseen = 24 * kMb;
constexpr std::size_t kUnseenAddresses = 128 * kMb;  // a heap of the allocator reserves as many
constexpr std::int64_t kGiveBackEveryNs = kNsPerSecond / 5;
// Below this a look at the kernel's figures costs more than it saves.
constexpr std::size_t kWorthALook = 256u << 10;

}  // namespace

MemoryShares DivideMemory(std::size_t limit) {
  if (limit == SIZE_MAX) return {.engine = kMostEngine, .work = SIZE_MAX};
  MemoryShares shares;
  shares.engine = std::clamp(limit / 100 * 35, kLeastEngine, kMostEngine);
  const std::size_t others = kBase + limit / 10 + shares.engine;
  shares.work = limit > others + kLeastWork ? limit - others : kLeastWork;
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
  if (held <= shares_.work && (bytes < kWorthALook || HasRoom(bytes))) return true;
  Give(bytes);
  return false;
}

bool MemoryBudget::TakeForQuestion(std::size_t bytes) {
  const std::size_t held = held_for_questions_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (held <= shares_.work / 2 && Take(bytes)) return true;
  held_for_questions_.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void MemoryBudget::GiveForQuestion(std::size_t bytes) {
  held_for_questions_.fetch_sub(bytes, std::memory_order_relaxed);
  Give(bytes);
}

bool MemoryBudget::HasRoom(std::size_t bytes) {
  if (limit_ == SIZE_MAX) return true;
  const auto fits = [&](std::size_t most) {
    const MemoryUse use = ReadMemoryUse();
    return use.anonymous + bytes <= most && bytes + kUnseenAddresses <= AddressesLeft(use);
  };
  if (fits(limit_ / 10 * 6)) return true;
  GiveBack();
  return fits(limit_ - std::max(limit_ / 20, kUnseen));
}

void MemoryBudget::OnShort(std::function<void()> give_back) {
  MutexLock lock(mutex_);
  give_back_ = std::move(give_back);
}

void MemoryBudget::GiveBack() {
  const std::int64_t now = MonotonicNs();
  std::int64_t before = gave_back_ns_.load();
  if (before != 0 && now - before < kGiveBackEveryNs) return;
  if (!gave_back_ns_.compare_exchange_strong(before, now)) return;
  MutexLock lock(mutex_);
  if (give_back_) give_back_();
}

Error ShortOfMemory() {
  return {Code::kUnavailable,
          "the server has no memory left for this now; try again (serve --memory)"};
}

}  // namespace wherefore
