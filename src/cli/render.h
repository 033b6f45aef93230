// Flame trees as text: tables, indented trees, and a flame graph in the terminal.
#pragma once

#include <string>

#include "profile/flame_tree.h"
#include "query/search.h"

namespace wherefore::cli {

// False: there are values and no number of observations behind them (some files).
[[nodiscard]] bool CountsKnown(const profile::FlameTree& tree);
// Functions by self value; none that has nothing of what is shown.
[[nodiscard]] std::vector<profile::TopRow> SeenRows(const profile::FlameTree& tree);
// "150 ms", honouring the tree's unit and scale.
[[nodiscard]] std::string TreeValue(const profile::FlameTree& tree, std::int64_t value);
// "12.3 %" of the root.
[[nodiscard]] std::string ShareText(const profile::FlameTree& tree, std::int64_t value);
// How far off the share may be (profile::ShareError), from the number of observations: "±0.8".
[[nodiscard]] std::string ErrorText(const profile::FlameTree& tree, std::int64_t count);

// `found` or `search`: what is looked for; rows of other functions are left out, frames of these
// are marked. Null or empty: nothing is.
[[nodiscard]] std::string RenderTop(const profile::FlameTree& tree, std::size_t limit, int width,
                                    const query::Found* found = nullptr);
// The `limit` functions with most self value in one line of at most `width` characters, each with
// its share: "parse 62.0 % · memcpy 12.5 % · …". "" when there are none.
[[nodiscard]] std::string RenderTopLine(const profile::FlameTree& tree, std::size_t limit,
                                        std::size_t width);
[[nodiscard]] std::string RenderIndented(const profile::FlameTree& tree, double min_share,
                                         int max_depth, int width,
                                         const query::Search& search = {});
[[nodiscard]] std::string RenderFlame(const profile::FlameTree& tree, int width, int max_rows,
                                      bool color, const query::Found* found = nullptr);

}  // namespace wherefore::cli
