// LensWalk: what a lens leaves of one stack, told frame by frame from the root on.
//
// A lens treats every stack for itself, so no tree is needed to know whether a stack stays and
// which of its functions are left: a few bits per step of the lens, handed down from frame to
// frame. Immutable; `functions` must outlive it. Any thread may evaluate.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/flame_tree.h"
#include "query/lens.h"

namespace wherefore::query {

class LensWalk {
 public:
  LensWalk(const Lens& lens, std::span<const profile::FlameFunction> functions);

  // Bytes of state. Those of a frame begin as a copy of its caller's, those of the first frame as
  // Begin() leaves them.
  [[nodiscard]] std::size_t width() const { return lens_.steps_.size(); }
  void Begin(std::span<std::uint8_t> state) const;
  // One frame further down: the function it is shown as, if it is. Numbers from functions.size() on
  // are names that merge-templates made.
  std::optional<std::uint32_t> Enter(std::uint32_t function, std::span<std::uint8_t> state) const;
  // Does the lens keep the value of a stack that ends here?
  [[nodiscard]] static bool Keeps(std::span<const std::uint8_t> state);

  [[nodiscard]] std::size_t size() const { return given_.size() + made_.size(); }
  [[nodiscard]] const profile::FlameFunction& function(std::uint32_t number) const {
    return number < given_.size() ? given_[number] : made_[number - given_.size()];
  }

 private:
  const Lens lens_;
  const std::span<const profile::FlameFunction> given_;
  std::vector<profile::FlameFunction> made_;
  std::vector<std::vector<char>> hit_;               // by step and function
  std::vector<std::vector<std::uint32_t>> renamed_;  // the same; empty: the step renames nothing
};

}  // namespace wherefore::query
