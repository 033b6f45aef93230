#include "query/trie_sums.h"

#include <algorithm>
#include <bit>

#include "base/arithmetic.h"

namespace wherefore::query {
namespace {

using profile::FlameFunction;

constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

StackTrie::FunctionHash TrieSums::Summed::HashOf(std::uint32_t number) const {
  const std::vector<StackTrie::FunctionHash>& known = reading.hashes();
  return number < known.size() ? known[number] : StackTrie::HashOf(function(number));
}

std::uint32_t TrieSums::Summed::Make(FlameFunction function) {
  made.push_back(std::move(function));
  return static_cast<std::uint32_t>(functions() - 1);
}

Result<> TrieSums::Claim(std::size_t more) {
  memory_->bytes += more;
  return memory_->claim.Resize(memory_->bytes);
}

Result<std::size_t> TrieSums::AddTrie(TrieReading trie) {
  const std::size_t nodes = trie.nodes().size();
  WHEREFORE_RETURN_IF_ERROR(Claim(nodes * (sides_ * sizeof(Sum) + sizeof(std::uint32_t))));
  Summed& summed = tries_.emplace_back(std::move(trie));
  for (std::size_t side = 0; side < sides_; ++side) summed.sums[side].resize(nodes);
  summed.nodes.resize(nodes);
  return tries_.size() - 1;
}

void TrieSums::Add(std::size_t trie, const store::DictionaryKey& dictionary,
                   std::span<const StackValue> values, Side side) {
  Summed& summed = tries_[trie];
  const auto at = static_cast<std::size_t>(side);
  const std::vector<std::uint32_t>& stack_nodes = summed.reading.StackNodes(dictionary);
  std::vector<Sum>& sums = summed.sums[at];
  any_ = any_ || !values.empty();
  for (const StackValue& v : values) {
    const std::uint32_t node = stack_nodes[v.stack];
    Sum& sum = sums[node];
    sum.total = SaturatingAdd(sum.total, v.value);
    sum.count = SaturatingAdd(sum.count, v.count);
    summed.nodes[node] = kEndsHere;
    plain_ = plain_ && v.value >= 0 && v.count >= 0;
    total_[at] += static_cast<std::uint64_t>(v.value);
    total_count_[at] += static_cast<std::uint64_t>(v.count);
  }
  plain_ = plain_ && total_[at] < INT64_MAX && total_count_[at] < INT64_MAX;
}

// A parent stands before its children, so one backward pass is enough.
void TrieSums::CountNodes(Summed& summed) {
  const std::vector<StackTrie::Node>& nodes = summed.trie();
  for (std::size_t n = summed.nodes.size(); n-- > 1;) {
    if (summed.nodes[n] == 0) continue;
    summed.nodes[n] = (summed.nodes[n] & ~kEndsHere) + 1;
    summed.nodes[nodes[n].parent] += summed.nodes[n];
  }
  ++summed.nodes[0];
}

void TrieSums::AddUp() {
  if (std::exchange(added_up_, true)) return;
  for (Summed& summed : tries_) {
    CountNodes(summed);
    const std::vector<StackTrie::Node>& nodes = summed.trie();
    for (std::size_t side = 0; side < sides_; ++side) {
      std::vector<Sum>& sums = summed.sums[side];
      for (std::size_t n = sums.size(); n-- > 1;) {
        if (summed.nodes[n] == 0) continue;
        Sum& parent = sums[nodes[n].parent];
        parent.total += sums[n].total;
        parent.count += sums[n].count;
      }
    }
  }
}

namespace {

// Gives equal functions of several tries one number.
class FunctionTable {
 public:
  explicit FunctionTable(std::size_t most)
      : slots_(std::bit_ceil(2 * most + 2), kNone), mask_(slots_.size() - 1) {}

  template <typename Same>
  std::uint32_t Number(std::uint64_t hash, const FlameFunction& function, const Same& same) {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      if (slots_[at] == kNone) {
        slots_[at] = static_cast<std::uint32_t>(functions_.size());
        functions_.push_back(&function);
        hashes_.push_back(hash);
        return slots_[at];
      }
      const std::uint32_t found = slots_[at];
      if (hashes_[found] == hash && same(*functions_[found], function)) return found;
    }
  }
  [[nodiscard]] std::vector<const FlameFunction*> Take() { return std::move(functions_); }

 private:
  std::vector<std::uint32_t> slots_;
  std::size_t mask_;
  std::vector<const FlameFunction*> functions_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace

TrieSums::FunctionNumbers TrieSums::NumberFunctions(Identity identity) const {
  FunctionNumbers numbers{.of_trie = std::vector<std::vector<std::uint32_t>>(tries_.size())};
  const bool by_name = identity == Identity::kName;
  if (tries_.size() == 1 && (!by_name || tries_[0].names_are_unique())) {
    for (std::uint32_t f = 0; f < tries_[0].functions(); ++f)
      numbers.functions.push_back(&tries_[0].function(f));
    return numbers;
  }
  std::size_t most = 0;
  for (const Summed& summed : tries_) most += summed.functions();
  FunctionTable table(most);
  const auto same = [by_name](const FlameFunction& a, const FlameFunction& b) {
    return a.name == b.name && (by_name || a.module == b.module);
  };
  for (std::size_t t = 0; t < tries_.size(); ++t) {
    numbers.of_trie[t].reserve(tries_[t].functions());
    for (std::uint32_t f = 0; f < tries_[t].functions(); ++f) {
      const StackTrie::FunctionHash hash = tries_[t].HashOf(f);
      numbers.of_trie[t].push_back(
          table.Number(by_name ? hash.name : hash.whole, tries_[t].function(f), same));
    }
  }
  numbers.functions = table.Take();
  return numbers;
}

std::vector<char> TrieSums::OnPaths(const std::vector<StackTrie::Node>& nodes,
                                    const std::vector<std::uint32_t>& ends) {
  std::vector<char> used(nodes.size());
  used[0] = 1;
  for (std::uint32_t n = 1; n < nodes.size(); ++n) {
    if (ends[n] == 0) continue;
    for (std::uint32_t up = n; used[up] == 0; up = nodes[up].parent) used[up] = 1;
  }
  return used;
}

Result<> TrieSums::AddTo(profile::TreeBuilder& builder, const Summed& summed, Identity identity,
                         MemoryClaim& growth) const {
  constexpr std::uint32_t kCheckEvery = 1u << 16;
  const CancelToken& cancel = memory_->token;
  const std::vector<StackTrie::Node>& nodes = summed.trie();
  MemoryClaim scratch(cancel);
  WHEREFORE_RETURN_IF_ERROR(
      scratch.Resize(nodes.size() * (sizeof(std::uint32_t) + 1) + summed.functions() * 4));
  const std::vector<char> used = OnPaths(nodes, summed.nodes);
  std::vector<std::uint32_t> target(nodes.size(), kNone);
  target[0] = 0;
  std::vector<std::uint32_t> ids(summed.functions(), kNone);
  // A trie has a path once, so what lies below a node that is new to the builder is new as well;
  // not where functions of one name become one.
  const bool once = identity == Identity::kFunction || summed.names_are_unique();
  const std::size_t first_new = builder.size();
  for (std::uint32_t n = 1; n < nodes.size(); ++n) {
    if (n % kCheckEvery == 0) {
      WHEREFORE_RETURN_IF_ERROR(cancel.Check());
      WHEREFORE_RETURN_IF_ERROR(growth.Resize(builder.bytes()));
    }
    if (used[n] == 0) continue;
    std::uint32_t& id = ids[nodes[n].function];
    if (id == kNone) {
      FlameFunction function = summed.function(nodes[n].function);
      if (identity == Identity::kName) function.module.clear();
      id = builder.AddFunction(function);
    }
    const std::uint32_t parent = target[nodes[n].parent];
    target[n] =
        once && parent >= first_new ? builder.NewChild(parent, id) : builder.Child(parent, id);
    const Sum& self = summed.sums[0][n];
    if (summed.nodes[n] != 0) builder.AddValue(target[n], self.total, self.count);
  }
  return {};
}

Result<profile::FlameTree> TrieSums::Whole(Identity identity) const {
  // Where no two functions have the same name they keep their modules.
  if (identity == Identity::kName && NumberFunctions(Identity::kName).functions.size() ==
                                         NumberFunctions(Identity::kFunction).functions.size()) {
    return Whole(Identity::kFunction);
  }
  const CancelToken& cancel = memory_->token;
  profile::TreeBuilder builder;
  MemoryClaim growth(cancel);
  for (const Summed& summed : tries_)
    WHEREFORE_RETURN_IF_ERROR(AddTo(builder, summed, identity, growth));
  WHEREFORE_RETURN_IF_ERROR(growth.Resize(builder.bytes()));
  growth.Keep();
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(builder.BuildBytes()));
  return builder.Build();
}

void TrieSums::AddSelfByFunction(const FunctionNumbers& numbers, std::size_t trie,
                                 std::vector<OfFunction>& functions) const {
  const Summed& summed = tries_[trie];
  const std::vector<StackTrie::Node>& nodes = summed.trie();
  for (std::uint32_t n = 1; n < nodes.size(); ++n) {
    if (summed.nodes[n] == 0) continue;
    OfFunction& of = functions[numbers.Of(trie, nodes[n].function)];
    for (std::size_t side = 0; side < sides_; ++side) {
      of.self[side].total += summed.sums[side][n].total;
      of.self[side].count += summed.sums[side][n].count;
    }
  }
}

// In preorder, so that what is above a node is known.
void TrieSums::AddTotalsByFunction(const FunctionNumbers& numbers, std::size_t trie,
                                   std::vector<std::uint32_t>& above,
                                   std::vector<OfFunction>& functions) const {
  const Summed& summed = tries_[trie];
  const std::vector<StackTrie::Node>& nodes = summed.trie();
  const auto with_samples = [&](std::uint32_t n) {
    while (n != 0 && summed.nodes[n] == 0) n = nodes[n].next_sibling;
    return n;
  };
  std::uint32_t n = with_samples(nodes[0].first_child);
  while (n != 0) {
    const std::uint32_t f = numbers.Of(trie, nodes[n].function);
    OfFunction& of = functions[f];
    of.seen = true;
    if (above[f]++ == 0) {
      for (std::size_t side = 0; side < sides_; ++side) {
        of.total[side].total += summed.sums[side][n].total;
        of.total[side].count += summed.sums[side][n].count;
      }
    }
    std::uint32_t next = with_samples(nodes[n].first_child);
    while (next == 0 && n != 0) {
      --above[numbers.Of(trie, nodes[n].function)];
      next = with_samples(nodes[n].next_sibling);
      if (next == 0) n = nodes[n].parent;
    }
    n = next;
  }
}

Result<std::vector<TrieSums::OfFunction>> TrieSums::ByFunction(const FunctionNumbers& numbers) {
  std::vector<OfFunction> functions(numbers.functions.size());
  for (std::size_t t = 0; t < tries_.size(); ++t) AddSelfByFunction(numbers, t, functions);
  AddUp();
  std::vector<std::uint32_t> above(functions.size());  // how often a function is above us
  for (std::size_t t = 0; t < tries_.size(); ++t) {
    WHEREFORE_RETURN_IF_ERROR(memory_->token.Check());
    AddTotalsByFunction(numbers, t, above, functions);
  }
  return functions;
}

Result<TrieSums::Functions> TrieSums::Top() {
  const FunctionNumbers numbers = NumberFunctions(Identity::kFunction);
  WHEREFORE_ASSIGN_OR_RETURN(const auto functions, ByFunction(numbers));
  Functions out{.functions = {{.name = "total"}},
                .total = static_cast<std::int64_t>(total_[0]),
                .count = static_cast<std::int64_t>(total_count_[0])};
  for (std::uint32_t f = 0; f < functions.size(); ++f) {
    const OfFunction& of = functions[f];
    if (!of.seen) continue;
    out.rows.push_back({.function = static_cast<std::uint32_t>(out.functions.size()),
                        .self = of.self[0].total,
                        .total = of.total[0].total,
                        .self_count = of.self[0].count,
                        .total_count = of.total[0].count});
    out.functions.push_back(*numbers.functions[f]);
  }
  profile::SortTop(out.functions, out.rows);
  return out;
}

Result<TrieSums::Stacks> TrieSums::EveryStack() const {
  const FunctionNumbers numbers = NumberFunctions(Identity::kFunction);
  Stacks out;
  for (const FlameFunction* f : numbers.functions) out.functions.push_back(*f);
  for (std::size_t t = 0; t < tries_.size(); ++t) {
    WHEREFORE_RETURN_IF_ERROR(memory_->token.Check());
    const std::vector<StackTrie::Node>& nodes = tries_[t].trie();
    const std::vector<char> used = OnPaths(nodes, tries_[t].nodes);
    MemoryClaim scratch(memory_->token);
    WHEREFORE_RETURN_IF_ERROR(scratch.Resize(nodes.size() * (sizeof(std::uint32_t) + 1)));
    std::vector<std::uint32_t> to(nodes.size());
    for (std::uint32_t n = 1; n < nodes.size(); ++n) {
      if (used[n] == 0) continue;
      to[n] = static_cast<std::uint32_t>(out.nodes.size());
      out.nodes.push_back({to[nodes[n].parent], numbers.Of(t, nodes[n].function)});
      const Sum& sum = tries_[t].sums[0][n];
      if (sum.total != 0 || sum.count != 0) out.ends.push_back({to[n], sum.total, sum.count});
    }
  }
  return out;
}

Result<Changes> TrieSums::ChangedFunctions() {
  const FunctionNumbers numbers = NumberFunctions(Identity::kFunction);
  WHEREFORE_ASSIGN_OR_RETURN(const auto functions, ByFunction(numbers));
  std::vector<std::uint32_t> by_name;
  for (std::uint32_t f = 0; f < functions.size(); ++f) {
    if (functions[f].seen) by_name.push_back(f);
  }
  std::ranges::sort(by_name, {}, [&](std::uint32_t f) {
    return std::tie(numbers.functions[f]->name, numbers.functions[f]->module);
  });
  Changes changes;
  for (const std::uint32_t f : by_name) {
    const OfFunction& of = functions[f];
    changes.rows.push_back({.function = static_cast<std::uint32_t>(changes.functions.size()),
                            .self_before = of.self[1].total,
                            .self_after = of.self[0].total,
                            .total_before = of.total[1].total,
                            .total_after = of.total[0].total});
    changes.functions.push_back(*numbers.functions[f]);
  }
  SortDiffTop(changes.rows);
  return changes;
}

}  // namespace wherefore::query
