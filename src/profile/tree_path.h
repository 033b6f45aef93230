// A frame's address in a flame graph: a hash chained over the functions from the root to it, as 16
// hex digits. The same path has the same address in every answer, so it can be part of a URL and
// select the subtree below it. The page computes the same (ui/src/core/path.ts; both test the same
// vectors).
//
// Two 32-bit lanes instead of 64 bits, because browsers multiply 32-bit numbers fast. Pure
// functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/flame_tree.h"

namespace wherefore::profile {

// One per node. Only the root's is 0.
[[nodiscard]] std::vector<std::uint64_t> PathHashes(const FlameTree& tree);
// The hash of a frame, given its caller's.
[[nodiscard]] std::uint64_t PathHashBelow(std::uint64_t parent, const FlameFunction& function);
[[nodiscard]] std::optional<std::uint64_t> ParsePathHash(std::string_view hex);
[[nodiscard]] std::string PathHashText(std::uint64_t hash);

// `node` and what is below it; `node` becomes the root. Values do not change.
[[nodiscard]] FlameTree Subtree(const FlameTree& tree, std::size_t node);

}  // namespace wherefore::profile
