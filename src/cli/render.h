// Flame trees as text: tables, indented trees, and flame graphs for the terminal. Pure.
#pragma once

#include <string>

#include "profile/flame_tree.h"
#include "query/search.h"

namespace wherefore::cli {

// False: there are values but no number of observations (some files).
[[nodiscard]] bool CountsKnown(const profile::FlameTree& tree);
// Functions by self value, without those that have no value.
[[nodiscard]] std::vector<profile::TopRow> RowsWithValue(const profile::FlameTree& tree);
// "150 ms", in the tree's unit and scale.
[[nodiscard]] std::string TreeValue(const profile::FlameTree& tree, std::int64_t value);
// "12.3 %" of the root.
[[nodiscard]] std::string ShareText(const profile::FlameTree& tree, std::int64_t value);
// The sampling error of the share (profile::ShareError): "±0.8".
[[nodiscard]] std::string ErrorText(const profile::FlameTree& tree, std::int64_t count);

// `found` or `search` is the search, if any: rows of other functions are left out, matching frames
// are marked.
[[nodiscard]] std::string RenderTop(const profile::FlameTree& tree, std::size_t limit, int width,
                                    const query::Found* found = nullptr);
// The top `limit` functions by self value in one line of at most `width` characters, each with its
// share: "parse 62.0 % · memcpy 12.5 % · …". "" if there are none.
[[nodiscard]] std::string RenderTopLine(const profile::FlameTree& tree, std::size_t limit,
                                        std::size_t width);
[[nodiscard]] std::string RenderIndented(const profile::FlameTree& tree, double min_share,
                                         int max_depth, int width,
                                         const query::Search& search = {});
[[nodiscard]] std::string RenderFlame(const profile::FlameTree& tree, int width, int max_rows,
                                      bool color, const query::Found* found = nullptr);

}  // namespace wherefore::cli
