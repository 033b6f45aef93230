// TrieSums: a lens, applied to tries before anything is added up, merged or pruned.
//
// Steps that go by functions alone (Lens::IsByFunction) treat every path for itself, so a step
// makes of each trie another one: with fewer nodes, and values where what they belong to went. Own
// code is a step of its own kind (trie_own.cc).
#include "query/trie_lens.h"

#include <optional>
#include <utility>

#include "query/merged_trie.h"
#include "query/trie_sums.h"

namespace wherefore::query {
namespace {

using Node = StackTrie::Node;

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
    summed.Become(std::move(made), sides, [&went](std::uint32_t n) {
      return went[n].value ? std::optional(went[n].to) : std::nullopt;
    });
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
  FunctionNumbers numbers = NumberFunctions(Identity::kFunction);
  std::vector<char> hit;
  for (const Lens::Step& step : lens.steps_) {
    if (step.op == Lens::Op::kOwn) {
      const TrieOwn own(step.own, numbers);
      WHEREFORE_RETURN_IF_ERROR(EachTrie([&](std::size_t t) { own.Apply(t, sides_, tries_[t]); }));
      numbers = NumberFunctions(Identity::kFunction);  // chains have names
      continue;
    }
    hit.assign(numbers.functions.size(), 0);
    for (std::size_t f = 0; f < hit.size(); ++f) hit[f] = step.Matches(*numbers.functions[f]);
    const TrieLens trie_lens(step, numbers, hit);
    WHEREFORE_RETURN_IF_ERROR(
        EachTrie([&](std::size_t t) { trie_lens.Apply(t, sides_, tries_[t]); }));
  }
  CountTotals();
  return {};
}

template <typename Step>
Result<> TrieSums::EachTrie(const Step& step) {
  for (std::size_t t = 0; t < tries_.size(); ++t) {
    WHEREFORE_RETURN_IF_ERROR(memory_->token.Check());
    // The new trie beside the old one, and where each node went.
    MemoryClaim scratch(memory_->token);
    const std::size_t nodes = tries_[t].nodes.size();
    WHEREFORE_RETURN_IF_ERROR(
        scratch.Resize(nodes * (sides_ * sizeof(Sum) + sizeof(std::uint32_t) * 5)));
    if (tries_[t].lensed.empty()) WHEREFORE_RETURN_IF_ERROR(Claim(nodes * sizeof(Node)));
    step(t);
  }
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
