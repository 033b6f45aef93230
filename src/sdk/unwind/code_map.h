// CodeMap: which code is where and how to unwind it, published to signal handlers.
//
// A CodeMap is immutable. The one in force is in one of eight slots; an ordinary thread publishes
// (ModuleMap does), readers in any context acquire and release without waiting.
//
// Why a reader never sees freed memory: it counts itself into a slot and only then checks that this
// slot is still the one in force. The writer reuses a slot only when it is not in force and its
// count is zero. With all of these operations sequentially consistent, either the writer sees the
// count and leaves the slot alone, or the reader sees that the slot is out of force and steps back
// without having looked inside. The slots themselves are never freed. A handler that is left by
// longjmp while it reads keeps its slot occupied for good; that costs a slot, not correctness.
//
// Plain data and atomics only: everything here may run in a signal handler.
#pragma once

#include <atomic>
#include <cstdint>

#include "elf/unwind_rows.h"

namespace wherefore::sdk {

// Executable bytes of a module, by addresses of this process.
struct CodeRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t base = 0;  // what the rows' addresses count from
  elf::UnwindRows rows;
};

struct CodeMap {
  const CodeRange* ranges = nullptr;  // sorted, not overlapping
  std::uint32_t count = 0;
  std::uint64_t generation = 0;  // grows with every publication; never 0
  bool whole = true;             // all rows were read; false: only those that were asked for

  [[nodiscard]] const CodeRange* Find(std::uint64_t pc) const {
    std::uint32_t low = 0;
    std::uint32_t high = count;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (ranges[middle].end <= pc) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < count && ranges[low].start <= pc ? &ranges[low] : nullptr;
  }
};

class CodeMapSlots {
  struct Slot {
    std::atomic<int> readers{0};
    CodeMap map;
  };

 public:
  static constexpr int kSlots = 8;

  // The map in force while the reader lives; null before the first publication, and in the
  // improbable case that three publications passed in a row while we tried.
  class Reader {
   public:
    explicit Reader(CodeMapSlots& slots) {
      for (int attempt = 0; attempt < 3 && slot_ == nullptr; ++attempt) {
        const int index = slots.current_.load();
        if (index < 0) return;
        Slot& slot = slots.slots_[index];
        slot.readers.fetch_add(1);
        if (slots.current_.load() == index) {
          slot_ = &slot;
        } else {
          slot.readers.fetch_sub(1);
        }
      }
    }
    ~Reader() {
      if (slot_ != nullptr) slot_->readers.fetch_sub(1);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    [[nodiscard]] const CodeMap* get() const { return slot_ == nullptr ? nullptr : &slot_->map; }

   private:
    Slot* slot_ = nullptr;
  };

  // Any thread: there is a map.
  [[nodiscard]] bool published() const { return current_.load() >= 0; }

  // For the one publishing thread. A slot that nobody reads and that is not in force, or -1.
  [[nodiscard]] int FindFree() const {
    for (int i = 0; i < kSlots; ++i) {
      if (i != current_.load() && slots_[i].readers.load() == 0) return i;
    }
    return -1;
  }
  // `index` comes from FindFree().
  void Publish(int index, const CodeMap& map) {
    slots_[index].map = map;
    current_.store(index);
  }
  // There is no map any more; readers that have one keep it.
  void Withdraw() { current_.store(-1); }
  // In the child of a fork: readers of other threads are gone.
  void ForgetReaders() {
    for (Slot& slot : slots_) slot.readers.store(0);
  }

 private:
  std::atomic<int> current_{-1};
  Slot slots_[kSlots];
};

}  // namespace wherefore::sdk
