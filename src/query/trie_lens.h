// What a lens makes of tries. Used by TrieSums::Apply alone; it must agree with Lens::Apply, which
// does the same to a tree (shown_flame_test.cc compares the two). One thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/merged_trie.h"
#include "query/own_code.h"
#include "query/trie_sums.h"

namespace wherefore::query {

// A node stays although nothing may be left of its value.
template <typename To>
void TrieSums::Summed::Become(MergedTrie trie, std::size_t sides, const To& to) {
  std::array<std::vector<Sum>, 2> moved;
  for (std::size_t side = 0; side < sides; ++side) {
    moved[side].resize(trie.size());
    for (std::uint32_t n = 0; n < sums[side].size(); ++n) {
      const std::optional<std::uint32_t> at = to(n);
      if (!at) continue;
      moved[side][*at].total += sums[side][n].total;
      moved[side][*at].count += sums[side][n].count;
    }
  }
  sums = std::move(moved);
  nodes.assign(trie.size(), kEndsHere);
  nodes[0] = 0;
  lensed = trie.Take();
}

// The step `own`, over one trie after the other.
class TrieOwn {
 public:
  // Asks once about every function; both must outlive this.
  TrieOwn(const OwnCode& own, const TrieSums::FunctionNumbers& numbers);

  void Apply(std::size_t trie, std::size_t sides, TrieSums::Summed& summed) const;

 private:
  // What became of a node of the old trie: the own node at or above it, and the frames since then.
  struct Went {
    std::uint32_t to = 0;
    std::uint32_t frames = 0;
    std::uint32_t kind = 0;  // of them, into kinds_
  };
  // Numbers of the functions that stand for chains, of one trie.
  class Names;

  std::uint32_t KindNumber(std::string_view kind);
  [[nodiscard]] Went Go(const Went& parent, std::size_t trie, std::uint32_t function, Names& names,
                        MergedTrie& made) const;

  const TrieSums::FunctionNumbers& numbers_;
  std::vector<std::string_view> kinds_ = {"", "library"};  // [0]: own
  std::vector<std::uint32_t> kind_of_;                     // by number of a function
};

}  // namespace wherefore::query
