// EventQueue: a bounded queue of events that many threads, and signal handlers in them, fill and the
// collector empties.
//
// Producers: Claim() -> fill the event -> Publish(). Lock-free and without system calls, so allowed
//            in a signal handler that interrupted another producer. A full queue gives nullptr; nobody
//            ever waits. Whoever cannot make up for it calls CountLost().
// Consumer:  Front() / Pop(), one thread. A slot that is claimed but not yet published holds up
//            those behind it until its thread goes on; a thread that dies there is skipped by Reset.
// Memory:    one mapping, made by Open() before the first producer, never given back, so that a late
//            handler cannot fall off it. In a forked child Reset() makes it empty again.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sdk/event.h"

namespace wherefore::sdk {

class EventQueue {
 public:
  // `slots` is a power of two. False: no memory.
  bool Open(std::uint32_t slots, std::uint32_t max_depth) {
    if (memory_ != nullptr) return true;
    stride_ = (sizeof(Slot) + (std::size_t{max_depth} * sizeof(std::uint64_t)) + 63) & ~std::size_t{63};
    void* memory = mmap(nullptr, stride_ * slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    mask_ = slots - 1;
    max_depth_ = max_depth;
    memory_ = static_cast<std::uint8_t*>(memory);
    return true;
  }

  // Memory of zeros is an empty queue, so a process has only the pages it used, and a forked child
  // copies none of them.
  void Reset() {
    if (memory_ == nullptr) return;  // never opened: a child of a process that could not be profiled
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
    Slot& slot = *reinterpret_cast<Slot*>(reinterpret_cast<std::uint8_t*>(event) - offsetof(Slot, event));
    slot.turn.store(slot.turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // The oldest event, or nullptr.
  [[nodiscard]] Event* Front() {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    Slot& slot = At(tail);
    return slot.turn.load(std::memory_order_acquire) + (tail & mask_) == tail + 1 ? &slot.event : nullptr;
  }
  void Pop() {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    At(tail).turn.store(tail + mask_ + 1 - (tail & mask_), std::memory_order_release);
    tail_.store(tail + 1, std::memory_order_relaxed);
  }

  // Any thread: nobody has claimed a slot that was not taken out again.
  [[nodiscard]] bool empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t max_depth() const { return max_depth_; }
  void CountLost() { lost_.fetch_add(1, std::memory_order_relaxed); }
  // Those counted since the last call.
  [[nodiscard]] std::uint64_t TakeLost() { return lost_.exchange(0, std::memory_order_relaxed); }
  [[nodiscard]] bool MoreThanHalfFull() const { return waiting() > mask_ / 2; }
  // By how much whoever can choose should come less often: 1 up to half, then more and more, so that
  // a collector that is held up loses nothing.
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

  [[nodiscard]] std::uint64_t waiting() const {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] Slot& At(std::uint64_t n) {
    return *reinterpret_cast<Slot*>(memory_ + ((n & mask_) * stride_));
  }

  std::uint8_t* memory_ = nullptr;
  std::size_t stride_ = 0;
  std::uint64_t mask_ = 0;
  std::uint32_t max_depth_ = 0;
  std::atomic<std::uint64_t> tail_{0};
  alignas(64) std::atomic<std::uint64_t> head_{0};
  alignas(64) std::atomic<std::uint64_t> lost_{0};
};

}  // namespace wherefore::sdk
