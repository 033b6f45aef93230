// The lens' step `own` over tries: what is not the program's own is charged to the own node above,
// chains of it become one.
#include <algorithm>
#include <map>
#include <optional>

#include "query/trie_lens.h"

namespace wherefore::query {

namespace {

constexpr std::uint32_t kOwn = 0;
constexpr std::uint32_t kMixed = 1;  // frames of different kinds: "library"

}  // namespace

TrieOwn::TrieOwn(const OwnCode& own, const TrieSums::FunctionNumbers& numbers) : numbers_(numbers) {
  kind_of_.reserve(numbers.functions.size());
  for (const profile::FlameFunction* f : numbers.functions)
    kind_of_.push_back(KindNumber(own.KindOf(*f)));
}

std::uint32_t TrieOwn::KindNumber(std::string_view kind) {
  const auto number = static_cast<std::uint32_t>(std::ranges::find(kinds_, kind) - kinds_.begin());
  if (number == kinds_.size()) kinds_.push_back(kind);
  return number;
}

// A function that is there already keeps its number, or a path could be there twice.
class TrieOwn::Names {
 public:
  Names(TrieSums::Summed& summed, const std::vector<std::string_view>& kinds)
      : summed_(summed), kinds_(kinds), chains_(kinds.size() * kLengths) {}

  std::uint32_t OfChain(std::uint32_t frames, std::uint32_t kind) {
    std::uint32_t& number =
        chains_[kind * kLengths + std::min(frames, static_cast<std::uint32_t>(kLengths - 1))];
    if (number == 0) number = Number(OwnChain{.frames = frames, .kind = kinds_[kind]}.Name());
    return number;
  }
  std::uint32_t OfNoOwnCode() {
    if (!no_own_code_) no_own_code_ = Number(std::string(kNoOwnCode));
    return *no_own_code_;
  }

 private:
  std::uint32_t Number(std::string name) {
    if (!given_) {
      given_.emplace();
      for (std::uint32_t f = 1; f < summed_.functions(); ++f) {
        const profile::FlameFunction& function = summed_.function(f);
        if (function.name.starts_with('[') && function.module.empty())
          given_->try_emplace(function.name, f);
      }
    }
    const auto at = given_->find(name);
    return at != given_->end() ? at->second : summed_.Make({.name = std::move(name)});
  }

  static constexpr std::size_t kLengths = OwnChain::kMostNamed + 2;  // from there on one name

  TrieSums::Summed& summed_;
  const std::vector<std::string_view>& kinds_;
  std::vector<std::uint32_t> chains_;  // by kind and length; 0: not named yet
  std::optional<std::uint32_t> no_own_code_;
  std::optional<std::map<std::string, std::uint32_t>> given_;
};

TrieOwn::Went TrieOwn::Go(const Went& parent, std::size_t trie, std::uint32_t function,
                          Names& names, MergedTrie& made) const {
  const std::uint32_t kind = kind_of_[numbers_.Of(trie, function)];
  if (kind != kOwn) {
    made.MadeOfSeveral(parent.to);
    return {.to = parent.to,
            .frames = parent.frames + 1,
            .kind = parent.frames == 0 || parent.kind == kind ? kind : kMixed};
  }
  std::uint32_t above = parent.to;
  if (above != 0 && parent.frames > 0) {
    above = made.Child(above, names.OfChain(parent.frames, parent.kind));
    made.MadeOfSeveral(above);
  }
  return {.to = made.Child(above, function)};
}

void TrieOwn::Apply(std::size_t trie, std::size_t sides, TrieSums::Summed& summed) const {
  const std::vector<StackTrie::Node>& nodes = summed.trie();
  const std::vector<char> used = TrieSums::OnPaths(nodes, summed.nodes);
  MergedTrie made(nodes.size());
  Names names(summed, kinds_);
  std::vector<Went> went(nodes.size());
  const auto has_value = [&](std::uint32_t n) {
    for (std::size_t side = 0; side < sides; ++side) {
      if (summed.sums[side][n].total != 0 || summed.sums[side][n].count != 0) return true;
    }
    return false;
  };
  std::uint32_t no_own_code = 0;
  for (std::uint32_t n = 1; n < nodes.size(); ++n) {
    if (used[n] == 0) continue;
    went[n] = Go(went[nodes[n].parent], trie, nodes[n].function, names, made);
    if (went[n].to == 0 && no_own_code == 0 && has_value(n))
      no_own_code = made.Child(0, names.OfNoOwnCode());
  }
  summed.Become(std::move(made), sides, [&](std::uint32_t n) {
    const std::uint32_t to = went[n].to;
    return std::optional(to == 0 && n != 0 ? no_own_code : to);
  });
}

}  // namespace wherefore::query
