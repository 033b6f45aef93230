// EarlyStacks: stacks of samples that were taken before there were tables to follow them with: at
// the start of a program, and right after a library was loaded.
//
// Reading unwind tables takes milliseconds, more than most programs that a script starts ever run.
// So a preloaded library reads none until there is a sample and the program has run for a while
// (collector_loop.cc). Whoever takes one before keeps a copy of the stack itself here, and the
// collector follows it later (capture.h).
//
// Claim() from any thread and from signal handlers, lock-free. Get() by the collector, of samples
// that were published. Memory: one mapping, of which only what is used takes pages. It is never
// unmapped, so that a late handler cannot fall off it; Recycle() lets it be used again and gives
// the pages back.
//
// When it is full Claim() says so, and such a stack is followed by frame pointers alone: nearly
// always "[incomplete]". Reading tables is a tenth of a second of CPU time for a program with many
// libraries, and several times that by the clock of a busy machine, while every thread goes on. So
// whoever can choose (allocations, waits) comes less often the fuller it is, by Crowding(); CPU
// samples cannot, and have the rest to themselves.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sdk/unwind/unwind.h"

namespace wherefore::sdk {

class EarlyStacks {
 public:
  static constexpr std::uint64_t kMostBytes = 16U << 20U;  // of all together

  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): Claim() fills it in
  struct Kept {
    Registers start;
    std::uint64_t general[kGeneralRegisters];  // what start.general points at, if it does
    std::uint64_t from = 0;                    // the address of the bytes that follow
    std::uint64_t size = 0;                    // and their number

    [[nodiscard]] std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(this + 1); }
    [[nodiscard]] const std::uint8_t* bytes() const {
      return reinterpret_cast<const std::uint8_t*>(this + 1);
    }
  };

  // Before the first Claim(). False: no memory.
  bool Open() {
    if (memory_ != nullptr) return true;
    void* memory =
        mmap(nullptr, kMostBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<std::uint8_t*>(memory);
    return true;
  }

  // Room for `size` bytes of the stack from `from` on, for the caller to copy them there. Null:
  // there is none, or start.sp is no stack pointer.
  [[nodiscard]] Kept* Claim(const Registers& start, std::uint64_t from, std::uint64_t size) {
    if (memory_ == nullptr || start.sp % 8 != 0) return nullptr;
    size = (size + 7) & ~std::uint64_t{7};
    const std::uint64_t at = used_.fetch_add(sizeof(Kept) + size, std::memory_order_relaxed);
    if (at + sizeof(Kept) + size > kMostBytes) return nullptr;
    auto* const kept = reinterpret_cast<Kept*>(memory_ + at);
    kept->start = start;
    if (start.general != nullptr) {  // theirs will be gone
      __builtin_memcpy(kept->general, start.general, sizeof kept->general);
      kept->start.general = kept->general;
    }
    kept->from = from;
    kept->size = size;
    return kept;
  }

  // The number by which an event refers to it; never 0.
  [[nodiscard]] std::uint32_t NumberOf(const Kept* kept) const {
    return static_cast<std::uint32_t>(reinterpret_cast<const std::uint8_t*>(kept) - memory_) + 1;
  }
  [[nodiscard]] const Kept& Get(std::uint32_t number) const {
    return *reinterpret_cast<const Kept*>(memory_ + number - 1);
  }

  // It is time to read the tables, which takes a while; more stacks come meanwhile.
  [[nodiscard]] bool Filling() const { return used() > kMostBytes / 4; }
  // As EventQueue's, but from the beginning on: a stack takes a thousand times the room of an
  // event.
  [[nodiscard]] std::int64_t Crowding() const {
    return std::int64_t{1} << (2 * std::min<std::uint64_t>(used() * 8 / kMostBytes, 8));
  }

  // By the collector, when nobody holds an event: all of it may be used again, unless somebody has
  // come since it saw that many bytes used() (whoever claims here has claimed an event before).
  [[nodiscard]] std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  void Recycle(std::uint64_t used) {
    constexpr std::uint64_t kPage = 4096;
    constexpr std::uint64_t kMuch = 256U << 10U;  // worth a system call
    // Before others may write there.
    if (used > kMuch) madvise(memory_, std::min(used, kMostBytes) / kPage * kPage, MADV_DONTNEED);
    used_.compare_exchange_strong(used, 0);
  }

  // In a forked child: what was kept is the parent's.
  void Reset() { used_.store(0, std::memory_order_relaxed); }

 private:
  std::uint8_t* memory_ = nullptr;
  std::atomic<std::uint64_t> used_{0};
};

}  // namespace wherefore::sdk
