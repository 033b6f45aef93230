// TrieSums: a lens, applied to tries before anything is added up, merged or pruned.
//
// Steps that go by functions alone (Lens::IsByFunction) treat every path for itself, so a step
// makes of each trie another one: with fewer nodes, and values where what they belong to went.
#include <utility>

#include "base/arithmetic.h"
#include "query/trie_sums.h"

namespace wherefore::query {
namespace {

using Node = StackTrie::Node;

// A trie in which nodes of another become one. Children are looked up only below nodes that are
// made of several: below the others each is new.
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
  [[nodiscard]] std::vector<Node> Take() { return std::move(nodes_); }

 private:
  std::uint32_t Append(std::uint32_t parent, std::uint32_t function) {
    const auto id = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({.parent = parent, .function = function});
    several_.push_back(0);
    Link(id);
    return id;
  }
  void Link(std::uint32_t id) {
    Node& parent = nodes_[nodes_[id].parent];
    nodes_[id].next_sibling = parent.first_child;
    parent.first_child = id;
  }

  std::vector<Node> nodes_ = {{}};
  std::vector<char> several_ = {0};
  profile::ChildIndex index_;
};

}  // namespace

// One step over one trie. `hit`: by number of a function, does the step mean it?
class TrieLens {
 public:
  TrieLens(const Lens::Step& step, const TrieSums::FunctionNumbers& numbers,
           const std::vector<char>& hit)
      : op_(step.op), numbers_(numbers), hit_(hit) {}

  void Apply(std::size_t trie, std::size_t sides, TrieSums::Summed& summed) const {
    const std::vector<Node>& nodes = summed.trie();
    const std::vector<char> used = TrieSums::OnPaths(nodes, summed.nodes);
    MergedTrie made(nodes.size());
    std::vector<Went> went(nodes.size());
    went[0].value = Lens::AtRoot(op_).value;
    for (std::uint32_t n = 1; n < nodes.size(); ++n) {
      if (used[n] != 0) went[n] = Go(went[nodes[n].parent], trie, nodes[n].function, made);
    }
    std::array<std::vector<TrieSums::Sum>, 2> sums;
    for (std::size_t side = 0; side < sides; ++side) {
      sums[side].resize(made.size());
      for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        if (!went[n].value) continue;
        sums[side][went[n].to].total += summed.sums[side][n].total;
        sums[side][went[n].to].count += summed.sums[side][n].count;
      }
    }
    summed.sums = std::move(sums);
    // A node stays although nothing may be left of its value.
    summed.nodes.assign(made.size(), TrieSums::kEndsHere);
    summed.nodes[0] = 0;
    summed.lensed = made.Take();
  }

 private:
  // What became of a node of the old trie.
  struct Went {
    std::uint32_t to = 0;  // its node in the new one, or the nearest above it that stayed
    Lens::Above above;     // of the nodes below
    bool value = false;    // whether what ends here stays
  };

  [[nodiscard]] Went Go(const Went& parent, std::size_t trie, std::uint32_t function,
                        MergedTrie& made) const {
    Went here = parent;
    const bool hit = hit_[numbers_.Of(trie, function)] != 0;
    if (op_ == Lens::Op::kRecursion && hit) {
      here.value = true;
      if (const std::uint32_t again = made.Above(parent.to, function)) {
        made.MadeOfSeveral(again);
        here.to = again;
        return here;
      }
    }
    const Lens::Kept kept = Lens::Visit(op_, hit, here.above);
    here.value = kept.value;
    if (kept.node) {
      here.to = made.Child(parent.to, function);
    } else {
      made.MadeOfSeveral(parent.to);
    }
    return here;
  }

  const Lens::Op op_;
  const TrieSums::FunctionNumbers& numbers_;
  const std::vector<char>& hit_;
};

Result<> TrieSums::Apply(const Lens& lens) {
  if (lens.empty()) return {};
  const FunctionNumbers numbers = NumberFunctions(Identity::kFunction);
  std::vector<char> hit(numbers.functions.size());
  for (const Lens::Step& step : lens.steps_) {
    for (std::size_t f = 0; f < hit.size(); ++f) hit[f] = step.Matches(*numbers.functions[f]);
    const TrieLens trie_lens(step, numbers, hit);
    for (std::size_t t = 0; t < tries_.size(); ++t) {
      WHEREFORE_RETURN_IF_ERROR(memory_->token.Check());
      // The new trie beside the old one, and where each node went.
      MemoryClaim scratch(memory_->token);
      const std::size_t nodes = tries_[t].nodes.size();
      WHEREFORE_RETURN_IF_ERROR(
          scratch.Resize(nodes * (sides_ * sizeof(Sum) + sizeof(std::uint32_t) * 5)));
      if (tries_[t].lensed.empty()) WHEREFORE_RETURN_IF_ERROR(Claim(nodes * sizeof(Node)));
      trie_lens.Apply(t, sides_, tries_[t]);
    }
  }
  CountTotals();
  return {};
}

void TrieSums::CountTotals() {
  total_ = {};
  total_count_ = {};
  for (const Summed& summed : tries_) {
    for (std::size_t side = 0; side < sides_; ++side) {
      for (const Sum& sum : summed.sums[side]) {
        total_[side] += static_cast<std::uint64_t>(sum.total);
        total_count_[side] += static_cast<std::uint64_t>(sum.count);
      }
    }
  }
}

}  // namespace wherefore::query
