#include "query/stack_table.h"

#include <algorithm>

namespace wherefore::query {

namespace {

std::string KeyOf(const profile::FlameFunction& function) {
  std::string key = function.name;
  key += '\0';
  key += function.module;
  return key;
}

}  // namespace

std::uint32_t StackTable::FunctionId(const profile::FlameFunction& function) {
  const auto [at, fresh] =
      function_ids_.try_emplace(KeyOf(function), static_cast<std::uint32_t>(functions_.size()));
  if (fresh) functions_.push_back(function);
  return at->second;
}

std::uint32_t StackTable::Child(std::uint32_t parent, std::uint32_t function) {
  const auto [at, fresh] = children_.try_emplace(std::uint64_t{parent} << 32U | function,
                                                 static_cast<std::uint32_t>(nodes_.size()));
  if (fresh) nodes_.push_back({.parent = parent, .function = function});
  return at->second;
}

void StackTable::AddGroup(Side side, const TrieSums::Stacks& stacks, double unit,
                          std::optional<double> exposure) {
  const auto group = static_cast<std::uint32_t>(groups_.size());
  std::vector<std::uint32_t> ids;
  ids.reserve(stacks.functions.size());
  for (const profile::FlameFunction& f : stacks.functions) ids.push_back(FunctionId(f));
  std::vector<std::uint32_t> to(stacks.nodes.size());
  for (std::size_t n = 1; n < stacks.nodes.size(); ++n)
    to[n] = Child(to[stacks.nodes[n].parent], ids[stacks.nodes[n].function]);
  double total = 0;
  for (const TrieSums::Stacks::End& end : stacks.ends) {
    Node& node = nodes_[to[end.node]];
    if (node.stack == UINT32_MAX) {
      node.stack = static_cast<std::uint32_t>(stacks_.size());
      stacks_.push_back({.node = to[end.node]});
    }
    std::vector<Cell>& cells = stacks_[node.stack].cells;
    if (cells.empty() || cells.back().group != group) {
      cells.push_back({.group = group});
      ++cells_;
    }
    cells.back().value += static_cast<double>(end.value) * unit;
    cells.back().observations += static_cast<double>(end.count);
    total += static_cast<double>(end.value) * unit;
  }
  groups_.push_back({side, exposure.value_or(total)});
}

std::vector<std::uint32_t> StackTable::PathOf(const Stack& stack) const {
  std::vector<std::uint32_t> path;
  for (std::uint32_t n = stack.node; n != 0; n = nodes_[n].parent)
    path.push_back(nodes_[n].function);
  std::ranges::reverse(path);
  return path;
}

StackTable::Values StackTable::Exposures() const {
  Values values(groups_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) values[g].exposure = groups_[g].exposure;
  return values;
}

namespace {

void Add(StackTable::Values& to, const StackTable::Stack& stack) {
  for (const StackTable::Cell& cell : stack.cells) {
    to[cell.group].value += cell.value;
    to[cell.group].observations += cell.observations;
  }
}

}  // namespace

std::unordered_map<std::uint32_t, StackTable::Values> StackTable::ByNode(
    double observations) const {
  std::vector<double> seen(nodes_.size());
  for (const Stack& stack : stacks_) {
    for (const Cell& cell : stack.cells) seen[stack.node] += cell.observations;
  }
  for (std::size_t n = nodes_.size() - 1; n > 0; --n) seen[nodes_[n].parent] += seen[n];
  std::unordered_map<std::uint32_t, Values> out;
  const Values exposures = Exposures();
  for (std::uint32_t n = 1; n < nodes_.size(); ++n) {
    if (seen[n] >= observations) out.emplace(n, exposures);
  }
  for (const Stack& stack : stacks_) {
    for (std::uint32_t n = stack.node; n != 0; n = nodes_[n].parent) {
      if (const auto at = out.find(n); at != out.end()) Add(at->second, stack);
    }
  }
  return out;
}

std::optional<std::uint32_t> StackTable::NodeBelow(std::uint32_t parent,
                                                   const profile::FlameFunction& function) const {
  const auto id = function_ids_.find(KeyOf(function));
  if (id == function_ids_.end()) return std::nullopt;
  const auto child = children_.find(std::uint64_t{parent} << 32U | id->second);
  return child == children_.end() ? std::nullopt : std::optional(child->second);
}

StackTable::Values StackTable::Whole() const {
  Values values = Exposures();
  for (const Stack& stack : stacks_) {
    if (!stack.out) Add(values, stack);
  }
  return values;
}

StackTable::Values StackTable::Of(std::span<const std::uint32_t> stacks) const {
  Values values = Exposures();
  for (const std::uint32_t s : stacks) {
    if (!stacks_[s].out) Add(values, stacks_[s]);
  }
  return values;
}

std::vector<StackTable::OfFunction> StackTable::ByFunction() const {
  std::vector<OfFunction> all(functions_.size());
  const Values none = Exposures();
  std::vector<std::uint32_t> last(functions_.size());  // the stack that counted it, plus one
  for (std::uint32_t s = 0; s < stacks_.size(); ++s) {
    const Stack& stack = stacks_[s];
    if (stack.out || stack.node == 0) continue;
    OfFunction& leaf = all[nodes_[stack.node].function];
    if (leaf.self.empty()) leaf.self = none;
    Add(leaf.self, stack);
    for (std::uint32_t n = stack.node; n != 0; n = nodes_[n].parent) {
      const std::uint32_t f = nodes_[n].function;
      if (last[f] == s + 1) continue;
      last[f] = s + 1;
      if (all[f].total.empty()) all[f].total = none;
      Add(all[f].total, stack);
    }
  }
  for (OfFunction& of : all) {
    if (of.self.empty() && !of.total.empty()) of.self = none;
  }
  return all;
}

Comparison StackTable::CompareSides(const Values& values, Measure measure) const {
  Values before;
  Values after;
  for (std::size_t g = 0; g < groups_.size(); ++g)
    (groups_[g].side == Side::kBefore ? before : after).push_back(values[g]);
  return Compare(before, after, measure, exposure_error_.value_or(0));
}

StackTable::Rates StackTable::RatesOf(const Values& values, std::size_t without) const {
  Rates rates;
  double exposure_before = 0;
  double exposure_after = 0;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (g == without) continue;
    const bool is_before = groups_[g].side == Side::kBefore;
    (is_before ? rates.before : rates.after) += values[g].value;
    (is_before ? rates.observations_before : rates.observations_after) += values[g].observations;
    (is_before ? exposure_before : exposure_after) += values[g].exposure;
  }
  rates.before = exposure_before > 0 ? rates.before / exposure_before : 0;
  rates.after = exposure_after > 0 ? rates.after / exposure_after : 0;
  return rates;
}

std::vector<double> StackTable::ChangeOfEach() const {
  double before = 0;
  double after = 0;
  for (const Group& g : groups_) (g.side == Side::kBefore ? before : after) += g.exposure;
  std::vector<double> changes(stacks_.size());
  if (before <= 0 || after <= 0) return changes;
  for (std::size_t s = 0; s < stacks_.size(); ++s) {
    for (const Cell& cell : stacks_[s].cells)
      changes[s] +=
          groups_[cell.group].side == Side::kBefore ? -cell.value / before : cell.value / after;
  }
  return changes;
}

void StackTable::ScaleExposure(double factor, double error) {
  exposure_error_ = error;
  for (Group& group : groups_) {
    if (group.side == Side::kAfter) group.exposure *= factor;
  }
}

std::size_t StackTable::bytes() const {
  constexpr std::size_t kHashNode = 40;
  constexpr std::size_t kRoomToGrow = 2;
  return nodes_.size() * (sizeof(Node) + kHashNode) +
         functions_.size() * (sizeof(profile::FlameFunction) + kHashNode + 64) +
         stacks_.size() * sizeof(Stack) + kRoomToGrow * cells_ * sizeof(Cell);
}

std::size_t StackTable::groups(Side side) const {
  return static_cast<std::size_t>(std::ranges::count(groups_, side, &Group::side));
}

}  // namespace wherefore::query
