// A frame's address inside a flame graph: a hash chained over the functions from the root down to
// it, as 16 hex digits. The same path has the same address in every answer, so it can stand in a
// URL and ask for the part of the graph below it. The page computes the same from what it got
// (ui/src/core/path.ts; both test the same vectors).
//
// Two 32-bit lanes rather than one of 64 bits, because a browser multiplies 32-bit numbers fast.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/flame_tree.h"

namespace wherefore::profile {

// One per node. The root's is 0; no other node's is.
[[nodiscard]] std::vector<std::uint64_t> PathHashes(const FlameTree& tree);
// Of a frame, given its caller's.
[[nodiscard]] std::uint64_t PathHashBelow(std::uint64_t parent, const FlameFunction& function);
[[nodiscard]] std::optional<std::uint64_t> ParsePathHash(std::string_view hex);
[[nodiscard]] std::string PathHashText(std::uint64_t hash);

// What lies at and below `node`; it becomes the root. Values do not change.
[[nodiscard]] FlameTree Subtree(const FlameTree& tree, std::size_t node);

}  // namespace wherefore::profile
