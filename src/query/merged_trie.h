// MergedTrie: a trie that is made of another one, node by node, parents first, where several nodes
// of the old may become one of the new. For lenses (trie_lens.cc, trie_own.cc). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "profile/child_index.h"
#include "query/stack_trie.h"

namespace wherefore::query {

// Children are looked up only below nodes that are made of several: below the others each is new.
class MergedTrie {
 public:
  explicit MergedTrie(std::size_t most) { nodes_.reserve(most); }

  std::uint32_t Child(std::uint32_t parent, std::uint32_t function) {
    if (!several_[parent]) return Append(parent, function);
    const std::size_t before = nodes_.size();
    const std::uint32_t child = index_.Child(nodes_, parent, function);
    if (nodes_.size() > before) {
      several_.push_back(0);
      Link(child);
    } else {
      MadeOfSeveral(child);
    }
    return child;
  }
  // From here on more than one node of the old trie has its children below `node`.
  void MadeOfSeveral(std::uint32_t node) {
    if (std::exchange(several_[node], 1) != 0) return;
    for (std::uint32_t c = nodes_[node].first_child; c != 0; c = nodes_[c].next_sibling)
      index_.Insert(nodes_, c);
  }
  // The nearest call of `function` at or above `node`; 0: none.
  [[nodiscard]] std::uint32_t Above(std::uint32_t node, std::uint32_t function) const {
    while (node != 0 && nodes_[node].function != function) node = nodes_[node].parent;
    return node;
  }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] std::vector<StackTrie::Node> Take() { return std::move(nodes_); }

 private:
  std::uint32_t Append(std::uint32_t parent, std::uint32_t function) {
    const auto id = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({.parent = parent, .function = function});
    several_.push_back(0);
    Link(id);
    return id;
  }
  void Link(std::uint32_t id) {
    StackTrie::Node& parent = nodes_[nodes_[id].parent];
    nodes_[id].next_sibling = parent.first_child;
    parent.first_child = id;
  }

  std::vector<StackTrie::Node> nodes_ = {{}};
  std::vector<char> several_ = {0};
  profile::ChildIndex index_;
};

}  // namespace wherefore::query
