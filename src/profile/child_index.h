// ChildIndex: (parent node, function) -> child node, the inner loop of every tree we build.
//
// Open addressing over plain arrays; a quarter of the cost of unordered_map here. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace wherefore::profile {

class ChildIndex {
 public:
  // The slot of this child: 0 when it is new, and the caller then stores its id (never 0) there.
  // The reference is valid until the next call.
  std::uint32_t& At(std::uint32_t parent, std::uint32_t function) {
    if (used_ * 2 >= slots_.size()) Grow();
    // +1 so that (0, 0) is not the key of an empty slot.
    const std::uint64_t key = (static_cast<std::uint64_t>(parent) << 32 | function) + 1;
    Slot& slot = Find(key);
    if (slot.key == 0) {
      slot.key = key;
      ++used_;
    }
    return slot.child;
  }
  [[nodiscard]] std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t child = 0;
  };
  Slot& Find(std::uint64_t key) {
    const std::size_t mask = slots_.size() - 1;
    const std::uint64_t h = key * 0x9e3779b97f4a7c15ULL;
    std::size_t at = (h ^ h >> 32) & mask;
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != 0) Find(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::size_t used_ = 0;
};

}  // namespace wherefore::profile
