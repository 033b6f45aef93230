// StackTable: what every stack has in every group of both sides of a comparison.
//
// A stack is a path of functions, whichever dictionary it came from. Values are exact; a stack may
// be taken out, so that what is left can be looked at by itself (causes.h). Sums by function are
// made anew from the stacks that are in.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/flame_tree.h"
#include "query/statistics.h"
#include "query/trie_sums.h"

namespace wherefore::query {

class StackTable {
 public:
  // What a stack has in one group.
  struct Cell {
    std::uint32_t group = 0;  // of both sides, in the order of AddGroup()
    double value = 0;
    double observations = 0;
  };
  struct Stack {
    std::uint32_t node = 0;
    std::vector<Cell> cells;
    bool out = false;  // taken out
  };
  // By group, numbered as in groups(); exposures are those of the groups.
  using Values = std::vector<GroupValue>;
  struct OfFunction {
    Values self;
    Values total;  // recursion counts once
  };

  // `unit`: of one in the stacks' values. `exposure`: what the group's values are measured against;
  // none: its own total.
  void AddGroup(Side side, const TrieSums::Stacks& stacks, double unit,
                std::optional<double> exposure);

  [[nodiscard]] const std::vector<profile::FlameFunction>& functions() const { return functions_; }
  [[nodiscard]] const std::vector<Stack>& stacks() const { return stacks_; }
  void TakeOut(std::size_t stack) { stacks_[stack].out = true; }
  // The functions of a stack, outermost first.
  [[nodiscard]] std::vector<std::uint32_t> PathOf(const Stack& stack) const;

  // Everything that is in, by group.
  [[nodiscard]] Values Whole() const;
  // By number of a function; empty values where it has none.
  [[nodiscard]] std::vector<OfFunction> ByFunction() const;
  // What goes through every path from the root that has so many observations on both sides
  // together, by number of its node.
  [[nodiscard]] std::unordered_map<std::uint32_t, Values> ByNode(double observations) const;
  // The node one call further; none: no stack goes there. The root is 0.
  [[nodiscard]] std::optional<std::uint32_t> NodeBelow(
      std::uint32_t parent, const profile::FlameFunction& function) const;
  // By stack: how much its rate changed.
  [[nodiscard]] std::vector<double> ChangeOfEach() const;
  // Of some stacks together.
  [[nodiscard]] Values Of(std::span<const std::uint32_t> stacks) const;
  [[nodiscard]] Comparison CompareSides(const Values& values, Measure measure) const;
  // The two rates alone, also without one of the groups: cheaper than a comparison.
  struct Rates {
    double before = 0;
    double after = 0;
    double observations_before = 0;
    double observations_after = 0;
  };
  static constexpr std::size_t kEveryGroup = SIZE_MAX;
  [[nodiscard]] Rates RatesOf(const Values& values, std::size_t without = kEveryGroup) const;
  [[nodiscard]] Side SideOf(std::size_t group) const { return groups_[group].side; }

  // The exposures of the side after, all by a factor with this relative standard error.
  void ScaleExposure(double factor, double error);
  // Whether exposures are an estimate, so that a change of everything cannot be seen.
  [[nodiscard]] bool IsScaled() const { return exposure_error_.has_value(); }
  [[nodiscard]] std::size_t groups(Side side) const;
  [[nodiscard]] std::size_t bytes() const;  // roughly

 private:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t function = 0;
    std::uint32_t stack = UINT32_MAX;  // that ends here
  };
  struct Group {
    Side side = Side::kAfter;
    double exposure = 0;
  };
  std::uint32_t FunctionId(const profile::FlameFunction& function);
  std::uint32_t Child(std::uint32_t parent, std::uint32_t function);
  [[nodiscard]] Values Exposures() const;

  std::vector<profile::FlameFunction> functions_;
  std::unordered_map<std::string, std::uint32_t> function_ids_;
  std::vector<Node> nodes_ = {{}};
  std::unordered_map<std::uint64_t, std::uint32_t> children_;
  std::vector<Stack> stacks_;
  std::size_t cells_ = 0;  // of all stacks
  std::vector<Group> groups_;
  std::optional<double> exposure_error_;
};

}  // namespace wherefore::query
