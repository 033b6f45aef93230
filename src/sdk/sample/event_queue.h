// EventQueue: a bounded queue of events that many threads, and signal handlers in them, fill and
// the collector empties.
//
// Producers: Claim() -> fill the event -> Publish(). Lock-free and without system calls, so allowed
//            in a signal handler that interrupted another producer. A full queue gives nullptr;
//            nobody ever waits. Whoever cannot make up for it calls CountLost(): its value still
//            counts.
// Consumer:  Front() / Pop(), one thread. A slot that is claimed but not yet published holds up
//            those behind it until its thread goes on; a thread that dies there is skipped by
//            Reset.
// Memory:    one mapping, made by Open() before the first producer, never given back, so that
//            a late handler cannot fall off it. In a forked child Reset() makes it empty again.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sdk/sample/event.h"

namespace wherefore::sdk {

class EventQueue {
 public:
  // `slots` is a power of two. False: no memory.
  bool Open(std::uint32_t slots, std::uint32_t max_depth) {
    if (memory_ != nullptr) {  // started again: there is room for so many, no more
      max_depth_.store(std::min(max_depth, most_depth_), std::memory_order_relaxed);
      return true;
    }
    stride_ =
        (sizeof(Slot) + (std::size_t{max_depth} * sizeof(std::uint64_t)) + 63) & ~std::size_t{63};
    void* memory =
        mmap(nullptr, stride_ * slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    mask_ = slots - 1;
    most_depth_ = max_depth;
    max_depth_.store(max_depth, std::memory_order_relaxed);
    memory_ = static_cast<std::uint8_t*>(memory);
    return true;
  }

  // Memory of zeros is an empty queue, so a process has only the pages it used, and a forked child
  // copies none of them.
  void Reset() {
    if (memory_ == nullptr)
      return;  // never opened: a child of a process that could not be profiled
    madvise(memory_, stride_ * (mask_ + 1), MADV_DONTNEED);
    tail_.store(0, std::memory_order_relaxed);
    head_.store(0, std::memory_order_release);
  }

  [[nodiscard]] Event* Claim() {
    std::uint64_t at = head_.load(std::memory_order_relaxed);
    for (;;) {
      Slot& slot = At(at);
      const std::uint64_t turn = slot.turn.load(std::memory_order_acquire) + (at & mask_);
      if (turn == at) {
        if (!head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        slot.event.pcs = reinterpret_cast<std::uint64_t*>(&slot + 1);
        slot.event.early = 0;
        return &slot.event;
      }
      if (turn < at) return nullptr;
      at = head_.load(std::memory_order_relaxed);
    }
  }

  void Publish(Event* event) {
    Slot& slot =
        *reinterpret_cast<Slot*>(reinterpret_cast<std::uint8_t*>(event) - offsetof(Slot, event));
    slot.turn.store(slot.turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // The oldest event, or nullptr.
  [[nodiscard]] Event* Front() {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    Slot& slot = At(tail);
    return slot.turn.load(std::memory_order_acquire) + (tail & mask_) == tail + 1 ? &slot.event
                                                                                  : nullptr;
  }
  void Pop() {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    At(tail).turn.store(tail + mask_ + 1 - (tail & mask_), std::memory_order_release);
    tail_.store(tail + 1, std::memory_order_relaxed);
  }

  // Any thread: every slot that was claimed has been taken out again.
  [[nodiscard]] bool empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t max_depth() const {
    return max_depth_.load(std::memory_order_relaxed);
  }

  // Events of one kind, and of one kind of wait, that found no room.
  struct Lost {
    EventKind kind = EventKind::kCpu;
    WaitKind wait = WaitKind::kMutex;  // kWaiter only
    std::uint32_t events = 0;
    std::int64_t value = 0;
    std::int64_t count = 0;
  };
  void CountLost(EventKind kind, WaitKind wait, std::int64_t value, std::int64_t count) {
    LostSums& sums = lost_[kind == EventKind::kWaiter ? kKinds + static_cast<std::size_t>(wait)
                                                      : static_cast<std::size_t>(kind)];
    sums.value.fetch_add(value, std::memory_order_relaxed);
    sums.count.fetch_add(count, std::memory_order_relaxed);
    sums.events.fetch_add(1, std::memory_order_release);
  }
  // Hands over those counted since the last call.
  template <typename F>
  void TakeLost(F&& take) {
    for (std::size_t i = 0; i < lost_.size(); ++i) {
      const std::uint32_t events = lost_[i].events.exchange(0, std::memory_order_acquire);
      if (events == 0) continue;
      take(Lost{.kind = i < kKinds ? static_cast<EventKind>(i) : EventKind::kWaiter,
                .wait = static_cast<WaitKind>(i < kKinds ? 0 : i - kKinds),
                .events = events,
                .value = lost_[i].value.exchange(0, std::memory_order_relaxed),
                .count = lost_[i].count.exchange(0, std::memory_order_relaxed)});
    }
  }

  [[nodiscard]] bool MoreThanHalfFull() const { return waiting() > mask_ / 2; }
  // The factor by which samplers that can choose should sample less: 1 while it is at most half
  // full, then growing, so that nothing is lost when the collector is held up.
  [[nodiscard]] std::int64_t Crowding() const {
    const std::uint64_t eighths = waiting() * 8 / (mask_ + 1);
    return eighths < 4 ? 1 : std::int64_t{1} << (2 * (eighths - 3));
  }

 private:
  struct Slot {
    // Plus the slot's own number: n: free for the n-th event; n + 1: holds it.
    std::atomic<std::uint64_t> turn;
    Event event;
  };

  struct LostSums {
    std::atomic<std::uint32_t> events;
    std::atomic<std::int64_t> value;
    std::atomic<std::int64_t> count;
  };
  static constexpr std::size_t kKinds = static_cast<std::size_t>(EventKind::kThread) + 1;
  static constexpr std::size_t kWaits = static_cast<std::size_t>(WaitKind::kIo) + 1;

  [[nodiscard]] std::uint64_t waiting() const {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] Slot& At(std::uint64_t n) {
    return *reinterpret_cast<Slot*>(memory_ + ((n & mask_) * stride_));
  }

  std::uint8_t* memory_ = nullptr;
  std::size_t stride_ = 0;
  std::uint64_t mask_ = 0;
  std::uint32_t most_depth_ = 0;  // that a slot holds
  std::atomic<std::uint32_t> max_depth_{0};
  std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::array<LostSums, kKinds + kWaits> lost_{};
};

}  // namespace wherefore::sdk
