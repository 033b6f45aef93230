// ChildIndex: (parent node, function) -> child node, the inner loop of every tree we build.
//
// Open addressing over node ids. The key of a slot is read from the nodes themselves, so an entry
// costs four bytes (at most half the slots are used) and a service's tree fits the CPU cache. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace wherefore::profile {

class ChildIndex {
 public:
  // The child of `parent` for `function`; appended to `nodes` if it is new. Node 0 is the root and
  // never a child. A Node begins with its parent and function.
  template <typename Node>
  std::uint32_t Child(std::vector<Node>& nodes, std::uint32_t parent, std::uint32_t function) {
    MakeRoom(nodes);
    std::size_t at = Home(parent, function);
    for (; slots_[at] != 0; at = (at + 1) & mask_) {
      const Node& node = nodes[slots_[at]];
      if (node.parent == parent && node.function == function) return slots_[at];
    }
    slots_[at] = static_cast<std::uint32_t>(nodes.size());
    nodes.push_back({parent, function});
    ++used_;
    return slots_[at];
  }
  // Indexes a node that was appended to `nodes` directly.
  template <typename Node>
  void Insert(const std::vector<Node>& nodes, std::uint32_t id) {
    MakeRoom(nodes);
    Put(nodes, id);
    ++used_;
  }
  [[nodiscard]] std::size_t bytes() const { return slots_.capacity() * sizeof(std::uint32_t); }

 private:
  [[nodiscard]] std::size_t Home(std::uint32_t parent, std::uint32_t function) const {
    const std::uint64_t key = static_cast<std::uint64_t>(parent) << 32 | function;
    const std::uint64_t h = (key + 1) * 0x9e3779b97f4a7c15ULL;
    return (h ^ h >> 32) & mask_;
  }
  template <typename Node>
  void Put(const std::vector<Node>& nodes, std::uint32_t id) {
    std::size_t at = Home(nodes[id].parent, nodes[id].function);
    while (slots_[at] != 0) at = (at + 1) & mask_;
    slots_[at] = id;
  }
  template <typename Node>
  void MakeRoom(const std::vector<Node>& nodes) {
    if ((used_ + 1) * 2 < slots_.size()) return;
    const std::vector<std::uint32_t> old =
        std::exchange(slots_, std::vector<std::uint32_t>(slots_.size() * 2));
    mask_ = slots_.size() - 1;
    for (const std::uint32_t id : old) {
      if (id != 0) Put(nodes, id);
    }
  }

  std::size_t used_ = 0;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(1024);
  std::size_t mask_ = 1023;
};

}  // namespace wherefore::profile
