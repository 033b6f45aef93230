// StackLens: what a lens leaves of one stack.
//
// A lens treats every stack for itself, so no tree is needed to know whether a stack stays and
// which of its functions are left. It must agree with Lens::Apply: matches_test.cc compares the
// two. Immutable; `functions` must outlive it. Any thread may evaluate.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profile/flame_tree.h"
#include "query/lens.h"

namespace wherefore::query {

class StackLens {
 public:
  StackLens(const Lens& lens, std::span<const profile::FlameFunction> functions);

  // `frames` are functions by number, the outermost first; afterwards those that are left. Numbers
  // from functions.size() on are names that merge-templates made. False: the stack goes altogether.
  bool Apply(std::vector<std::uint32_t>& frames) const;

  [[nodiscard]] std::size_t size() const { return given_.size() + made_.size(); }
  [[nodiscard]] const profile::FlameFunction& function(std::uint32_t number) const {
    return number < given_.size() ? given_[number] : made_[number - given_.size()];
  }

 private:
  // What a step has to know of the functions that can reach it.
  struct Known {
    std::vector<char> hit;                                     // not of paths
    std::vector<std::uint32_t> renamed;                        // of merge-templates
    std::vector<std::string_view> kinds;                       // of own: empty where a function is
    std::map<std::string, std::uint32_t, std::less<>> chains;  // by name: its number
  };
  void NameChains(const OwnCode& own, Known& known);
  bool ApplyOwn(const Known& known, std::vector<std::uint32_t>& frames) const;
  void MergeTemplates(Known& known);
  [[nodiscard]] bool Same(std::uint32_t a, std::uint32_t b) const;
  // By frame: does the step mean it?
  [[nodiscard]] std::vector<char> Hits(const Lens::Step& step, const Known& known,
                                       std::span<const std::uint32_t> frames) const;
  bool ApplyStep(std::size_t step, std::vector<std::uint32_t>& frames) const;

  const Lens lens_;
  const std::span<const profile::FlameFunction> given_;
  std::vector<profile::FlameFunction> made_;
  std::vector<Known> known_;  // by step
};

}  // namespace wherefore::query
