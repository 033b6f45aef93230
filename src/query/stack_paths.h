// StackPaths: the functions of single stacks, as paths that share their beginnings.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/flame_tree.h"

namespace wherefore::query {

struct StackPaths {
  struct Node {
    std::uint32_t parent = 0;    // stands before its children; node 0 is the root
    std::uint32_t function = 0;  // into `functions`
  };
  std::vector<profile::FlameFunction> functions;
  std::vector<Node> nodes = {{}};
  std::vector<std::vector<std::uint32_t>> ends;  // by list of stacks and stack: its last node
};

}  // namespace wherefore::query
