// HeapTable: which sampled allocations are still there.
//
// Every free() of the host asks MayHold(), one load from a filter of 8 kB that is nearly always
// zero; only then is a finer one asked, and then the table itself. Neighbours in memory are
// neighbours in the filters: what a program frees is mostly near what it freed before, so a free
// rarely costs a line of the cache. (One filter of 64 kB alone took cc1plus 0.9 % of its time.)
// Lock-free, any thread, ordinary context. Fixed size: when a bucket is full the allocation is
// counted as allocated but not as in use, and TakeUntracked says how many. The collector recognises
// an entry by (slot, id); an id is never used twice. What its entries stand for is added up as they
// come and go, so that anybody may ask at any time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace wherefore::sdk {

class HeapTable {
 public:
  static constexpr std::uint32_t kNone = ~0U;
  // What an entry stands for. Exact to a ten-millionth, and taken off again as it was added.
  struct Weight {
    float bytes;
    float objects;
  };
  struct Removed {
    std::uint32_t slot = kNone;
    std::uint64_t id = 0;
    Weight weight = {};
  };
  struct InUse {
    std::int64_t bytes = 0;
    std::int64_t objects = 0;
  };

  [[nodiscard]] bool MayHold(const void* pointer) const {
    return pages_[PageIndex(pointer)].load(std::memory_order_relaxed) != 0 && MayHoldNear(pointer);
  }

  // Gives the slot, or kNone when there is no room.
  std::uint32_t Insert(const void* pointer, std::uint64_t id, Weight weight = {}) {
    const std::uint64_t bucket = Hash(pointer) % kBuckets;
    std::atomic<std::uint8_t>& near = filter_[FilterIndex(pointer)];
    std::atomic<std::uint16_t>& page = pages_[PageIndex(pointer)];
    const bool room = near.load(std::memory_order_relaxed) < kMostNear &&
                      page.load(std::memory_order_relaxed) < kMostOnPage;
    for (std::uint64_t way = 0; way < kWays && room; ++way) {
      Entry& entry = entries_[(bucket * kWays) + way];
      std::uintptr_t free = 0;
      if (!entry.pointer.compare_exchange_strong(free, kClaimed, std::memory_order_acq_rel))
        continue;
      entry.id.store(id, std::memory_order_relaxed);
      entry.weight = weight;
      Count(weight, 1);
      near.fetch_add(1, std::memory_order_relaxed);
      page.fetch_add(1, std::memory_order_relaxed);
      entry.pointer.store(reinterpret_cast<std::uintptr_t>(pointer), std::memory_order_release);
      return static_cast<std::uint32_t>((bucket * kWays) + way);
    }
    untracked_.fetch_add(1, std::memory_order_relaxed);
    return kNone;
  }

  // Before the memory goes back to its allocator, or another thread could get it first.
  Removed Remove(const void* pointer) {
    const std::uint64_t bucket = Hash(pointer) % kBuckets;
    for (std::uint64_t way = 0; way < kWays; ++way) {
      Entry& entry = entries_[(bucket * kWays) + way];
      if (entry.pointer.load(std::memory_order_acquire) !=
          reinterpret_cast<std::uintptr_t>(pointer))
        continue;
      const std::uint64_t id = entry.id.exchange(0, std::memory_order_relaxed);
      const Weight weight = entry.weight;
      Count(weight, -1);
      filter_[FilterIndex(pointer)].fetch_sub(1, std::memory_order_relaxed);
      pages_[PageIndex(pointer)].fetch_sub(1, std::memory_order_relaxed);
      entry.pointer.store(0, std::memory_order_release);
      return {
          .slot = static_cast<std::uint32_t>((bucket * kWays) + way), .id = id, .weight = weight};
    }
    return {};
  }

  [[nodiscard]] bool StillThere(std::uint32_t slot, std::uint64_t id) const {
    return entries_[slot].id.load(std::memory_order_acquire) == id;
  }
  [[nodiscard]] InUse in_use() const {
    return {.bytes = bytes_.load(std::memory_order_relaxed),
            .objects = objects_.load(std::memory_order_relaxed) / kParts};
  }
  [[nodiscard]] std::uint64_t TakeUntracked() {
    return untracked_.exchange(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kBuckets = 8192;
  static constexpr std::uint64_t kWays = 8;
  static constexpr std::uintptr_t kClaimed = 1;
  static constexpr std::uint8_t kMostNear =
      128;  // half of what a counter holds: threads may add at once
  static constexpr std::uint16_t kMostOnPage = 32768;

  struct Entry {
    std::atomic<std::uintptr_t> pointer{0};
    std::atomic<std::uint64_t> id{0};
    Weight weight{};  // whoever set `pointer` last may touch it
  };
  // A sample of a large block stands for 1.001 objects and the like.
  static constexpr std::int64_t kParts = 256;

  void Count(Weight weight, std::int64_t sign) {
    bytes_.fetch_add(sign * static_cast<std::int64_t>(weight.bytes), std::memory_order_relaxed);
    objects_.fetch_add(sign * static_cast<std::int64_t>(weight.objects * kParts),
                       std::memory_order_relaxed);
  }

  static std::uint64_t Hash(const void* pointer) {
    return ((reinterpret_cast<std::uintptr_t>(pointer) >> 4) * 0x9e3779b97f4a7c15ULL) >> 40;
  }
  [[nodiscard]] bool MayHoldNear(const void* pointer) const {
    return filter_[FilterIndex(pointer)].load(std::memory_order_relaxed) != 0;
  }
  // 4 kB of memory share a counter, 128 kB a line of the cache.
  static std::uint64_t PageIndex(const void* pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    return ((address >> 12) ^ (address >> 24)) % kPages;
  }
  // 256 bytes of memory share a counter; what is 16 MB apart does not meet.
  static std::uint64_t FilterIndex(const void* pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    return static_cast<std::uint16_t>((address >> 8) ^ (address >> 24));
  }

  static constexpr std::size_t kPages = 4096;
  alignas(64) std::array<std::atomic<std::uint16_t>, kPages> pages_{};
  std::array<std::atomic<std::uint8_t>, 65536> filter_{};
  std::array<Entry, kBuckets * kWays> entries_{};
  std::atomic<std::uint64_t> untracked_{0};
  std::atomic<std::int64_t> bytes_{0};
  std::atomic<std::int64_t> objects_{0};  // times kParts
};

extern constinit HeapTable g_heap_table;

}  // namespace wherefore::sdk
