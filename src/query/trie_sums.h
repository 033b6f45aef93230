// TrieSums: what the samples of a query add up to, laid onto tries and not merged yet.
//
// Values are written to the nodes where stacks end. From there a query goes one of three ways:
// Largest() adds up totals in one backward pass and expands the largest paths only, merging equal
// functions of several tries on the way, so that no tree of millions of nodes is made; Top() adds
// up by function, without any tree; Whole() builds everything. Apply() puts a lens before each of
// them (trie_lens.cc). All are exact; all but Whole() need values that are not negative and fit
// into 64 bits together (IsPlain).
//
// Not thread-safe. It holds its tries for reading: they do not change while it lives, so it must be
// short-lived.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/diff.h"
#include "query/lens.h"
#include "query/stack_trie.h"

namespace wherefore::query {

struct StackValue {
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::int64_t count = 0;
};

// How functions are told apart.
enum class Identity : std::uint8_t {
  kFunction,  // by name and module
  kName       // by name alone, as Pyroscope's clients do
};

// The side of a difference; a plain query has the first only.
enum class Side : std::uint8_t { kAfter = 0, kBefore = 1 };

class MergedTrie;

class TrieSums {
 public:
  // `sides`: 2 for a difference.
  explicit TrieSums(const CancelToken& cancel, std::size_t sides = 1)
      : memory_(std::make_unique<Memory>(cancel)), sides_(sides) {}

  // Takes a trie; every trie once. The index is that of Add().
  Result<std::size_t> AddTrie(TrieReading trie);
  // Values of a dictionary that the trie knows.
  void Add(std::size_t trie, const store::DictionaryKey& dictionary,
           std::span<const StackValue> values, Side side = Side::kAfter);

  // Whether there is any sample, be it of value 0.
  [[nodiscard]] bool any() const { return any_; }
  // Whether nothing is negative and everything fits into 64 bits.
  [[nodiscard]] bool IsPlain() const { return plain_; }

  // What the lens leaves. For lenses with Lens::IsByFunction(), before everything below. Plain
  // values only.
  Result<> Apply(const Lens& lens);

  // Every path; not of a difference. What it needed stays charged, for what is made of the tree
  // next.
  Result<profile::FlameTree> Whole(Identity identity) const;

  struct Shown {
    profile::FlameTree tree;
    std::size_t full_nodes = 0;  // of the whole tree; 0: not counted (Identity::kName)
  };
  // As profile::Prune does it with the whole tree; `options.wanted` is not for it. Plain values
  // only.
  Result<Shown> Largest(Identity identity, const profile::PruneOptions& options);
  struct ShownDiff {
    DiffTree diff;
    std::size_t full_nodes = 0;
  };
  // The same as PruneDiff of both sides' whole trees.
  Result<ShownDiff> LargestDiff(const profile::PruneOptions& options);

  struct Functions {
    std::vector<profile::FlameFunction> functions;  // [0]: the root
    std::vector<profile::TopRow> rows;              // as profile::Top() orders them
    std::int64_t total = 0;
    std::int64_t count = 0;
  };
  // As profile::Top() of the whole tree. Plain values only, and before Largest().
  Result<Functions> Top();
  // Every stack with samples, as paths that share their beginnings. Plain values only, and before
  // anything is added up.
  struct Stacks {
    struct Node {
      std::uint32_t parent = 0;    // stands before its children; node 0 is the root
      std::uint32_t function = 0;  // into `functions`
    };
    struct End {
      std::uint32_t node = 0;
      std::int64_t value = 0;
      std::int64_t count = 0;
    };
    std::vector<profile::FlameFunction> functions;
    std::vector<Node> nodes = {{}};
    std::vector<End> ends;
  };
  Result<Stacks> EveryStack() const;
  // As DiffTop() of both sides' whole trees. Plain values only, and before LargestDiff().
  Result<Changes> ChangedFunctions();

 private:
  friend class Expansion;
  friend class TrieLens;
  friend class TrieOwn;

  struct Sum {
    std::int64_t total = 0;  // what ends there, until AddUp()
    std::int64_t count = 0;
  };
  struct Summed {
    explicit Summed(TrieReading trie) : reading(std::move(trie)) {}
    TrieReading reading;
    std::vector<StackTrie::Node> lensed;       // instead of the trie's own, where there is a lens
    std::vector<profile::FlameFunction> made;  // functions of a lens, numbered on

    [[nodiscard]] const std::vector<StackTrie::Node>& trie() const {
      return lensed.empty() ? reading.nodes() : lensed;
    }
    // Functions by their numbers in the trie.
    [[nodiscard]] std::size_t functions() const { return reading.functions().size() + made.size(); }
    [[nodiscard]] const profile::FlameFunction& function(std::uint32_t number) const {
      const std::size_t own = reading.functions().size();
      return number < own ? reading.functions()[number] : made[number - own];
    }
    [[nodiscard]] StackTrie::FunctionHash HashOf(std::uint32_t number) const;
    // Not known of what a lens made.
    [[nodiscard]] bool names_are_unique() const {
      return made.empty() && reading.names_are_unique();
    }
    std::uint32_t Make(profile::FlameFunction function);
    // Another trie instead. `to`: where what ends at a node of the old one went, if anywhere.
    template <typename To>
    void Become(MergedTrie trie, std::size_t sides, const To& to);
    std::array<std::vector<Sum>, 2> sums;  // by side and node
    // By node: how many nodes with samples there are at and below it; until AddUp() kEndsHere
    // where a stack ends.
    std::vector<std::uint32_t> nodes;
  };
  static constexpr std::uint32_t kEndsHere = 1u << 31;

  // Numbers for functions that hold for all tries: by trie and its own number.
  struct FunctionNumbers {
    std::vector<std::vector<std::uint32_t>> of_trie;  // empty: the trie's own
    std::vector<const profile::FlameFunction*> functions;

    [[nodiscard]] std::uint32_t Of(std::size_t trie, std::uint32_t function) const {
      return of_trie[trie].empty() ? function : of_trie[trie][function];
    }
  };
  // Which nodes lie on a path to a stack's end.
  static std::vector<char> OnPaths(const std::vector<StackTrie::Node>& nodes,
                                   const std::vector<std::uint32_t>& ends);
  // Makes a step of a lens over every trie.
  template <typename Step>
  Result<> EachTrie(const Step& step);
  void CountTotals();
  // Copies the paths that end somewhere, parents first.
  Result<> AddTo(profile::TreeBuilder& builder, const Summed& summed, Identity identity,
                 MemoryClaim& growth) const;
  // What a function has in all stacks; recursion counts once.
  struct OfFunction {
    std::array<Sum, 2> self;  // by side
    std::array<Sum, 2> total;
    bool seen = false;
  };
  Result<std::vector<OfFunction>> ByFunction(const FunctionNumbers& numbers);
  void AddSelfByFunction(const FunctionNumbers& numbers, std::size_t trie,
                         std::vector<OfFunction>& functions) const;
  void AddTotalsByFunction(const FunctionNumbers& numbers, std::size_t trie,
                           std::vector<std::uint32_t>& above,
                           std::vector<OfFunction>& functions) const;
  // From what ends at each node to what there is at and below it; once.
  void AddUp();
  static void CountNodes(Summed& summed);
  [[nodiscard]] FunctionNumbers NumberFunctions(Identity identity) const;

  struct Memory {
    explicit Memory(const CancelToken& cancel) : token(cancel) {}
    const CancelToken token;
    MemoryClaim claim{token};
    std::size_t bytes = 0;
  };
  Result<> Claim(std::size_t more);

  std::unique_ptr<Memory> memory_;  // a claim does not move
  std::size_t sides_;
  std::vector<Summed> tries_;
  std::array<unsigned __int128, 2> total_{};
  std::array<unsigned __int128, 2> total_count_{};
  bool any_ = false;
  bool plain_ = true;
  bool added_up_ = false;
};

}  // namespace wherefore::query
