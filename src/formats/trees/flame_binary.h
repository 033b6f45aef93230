// FG1: the binary columnar format of a flame tree that the page reads (docs/format.md, "Flame
// graph").
//
// Little-endian: magic "FG1\0", u16 version, u16 section count, section table, sections. Values are
// exact 64-bit varints. The decoder exists for tests, fuzzing and tools; its input is untrusted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/flame_tree.h"

namespace wherefore::formats {

inline constexpr std::string_view kFlameMediaType = "application/x-wherefore-flame";

// The other side of a diff: one entry per node, or empty.
struct FlameBefore {
  std::span<const std::int64_t> self;
  std::span<const std::int64_t> count;    // observations
  std::span<const std::int64_t> verdict;  // 0 unknown, 1 undecided, 2 more, 3 less
};
// `meta` is a JSON object (the query, totals).
[[nodiscard]] std::string EncodeFlameBinary(const profile::FlameTree& tree, std::string_view meta,
                                            const FlameBefore& before = {});

struct DecodedFlame {
  profile::FlameTree tree;
  std::string meta;
  std::vector<std::int64_t> before_self;
  std::vector<std::int64_t> before_count;
  std::vector<std::int64_t> verdict;
};
[[nodiscard]] Result<DecodedFlame> DecodeFlameBinary(std::string_view bytes);

}  // namespace wherefore::formats
