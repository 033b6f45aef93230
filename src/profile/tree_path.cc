#include "profile/tree_path.h"

#include <charconv>

#include <fmt/format.h>

namespace wherefore::profile {
namespace {

// Never change: addresses are part of people's links.
constexpr std::uint32_t kPrimeA = 0x01000193;
constexpr std::uint32_t kPrimeB = 0x5bd1e995;

struct Lanes {
  std::uint32_t a = 0x811c9dc5;
  std::uint32_t b = 0x9747b28c;
};

void AddByte(Lanes& lanes, std::uint8_t byte) {
  lanes.a = (lanes.a ^ byte) * kPrimeA;
  lanes.b = (lanes.b ^ byte) * kPrimeB;
  lanes.b ^= lanes.b >> 15;
}

Lanes HashFunction(const FlameFunction& function) {
  Lanes lanes;
  for (const char c : function.name) AddByte(lanes, static_cast<std::uint8_t>(c));
  AddByte(lanes, 0xff);  // does not occur in UTF-8
  for (const char c : function.module) AddByte(lanes, static_cast<std::uint8_t>(c));
  return lanes;
}

std::uint32_t Chain(std::uint32_t parent, std::uint32_t function, std::uint32_t prime) {
  const std::uint32_t x = ((parent << 5 | parent >> 27) ^ function) * prime;
  return x ^ x >> 16;
}

std::uint64_t HashBelow(std::uint64_t parent, const Lanes& own) {
  const std::uint32_t a = Chain(static_cast<std::uint32_t>(parent >> 32), own.a, kPrimeA);
  const std::uint32_t b = Chain(static_cast<std::uint32_t>(parent), own.b, kPrimeB);
  const std::uint64_t hash = std::uint64_t{a} << 32 | b;
  return hash == 0 ? 1 : hash;
}

}  // namespace

std::uint64_t PathHashBelow(std::uint64_t parent, const FlameFunction& function) {
  return HashBelow(parent, HashFunction(function));
}

std::vector<std::uint64_t> PathHashes(const FlameTree& tree) {
  std::vector<Lanes> functions;
  functions.reserve(tree.functions.size());
  for (const FlameFunction& f : tree.functions) functions.push_back(HashFunction(f));
  std::vector<std::uint64_t> hashes(tree.size(), 0);
  std::vector<std::uint64_t> above;  // hashes of the ancestors, by depth
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (i > 0) hashes[i] = HashBelow(above[tree.depth[i] - 1], functions[tree.function[i]]);
    above.resize(tree.depth[i]);
    above.push_back(hashes[i]);
  }
  return hashes;
}

std::optional<std::uint64_t> ParsePathHash(std::string_view hex) {
  std::uint64_t hash = 0;
  const char* const begin = hex.data();
  const char* const end = begin + hex.size();
  const auto [stop, error] = std::from_chars(begin, end, hash, 16);
  if (hex.size() != 16 || error != std::errc() || stop != end) return std::nullopt;
  return hash;
}

std::string PathHashText(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

FlameTree Subtree(const FlameTree& tree, std::size_t node) {
  std::size_t end = node + 1;
  while (end < tree.size() && tree.depth[end] > tree.depth[node]) ++end;
  FlameTree out = WithoutNodes(tree);
  const auto cut = [&](const auto& column) {
    return std::decay_t<decltype(column)>(column.begin() + static_cast<std::ptrdiff_t>(node),
                                          column.begin() + static_cast<std::ptrdiff_t>(end));
  };
  out.function = cut(tree.function);
  out.depth = cut(tree.depth);
  for (std::uint32_t& depth : out.depth) depth -= tree.depth[node];
  out.self = cut(tree.self);
  out.total = cut(tree.total);
  out.self_count = cut(tree.self_count);
  out.total_count = cut(tree.total_count);
  out.hidden_nodes = cut(tree.hidden_nodes);
  return out;
}

}  // namespace wherefore::profile
