// How two sides are compared, in the page's words: as they are, per second seen of each side, or as
// shares of each side's whole. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "query/engine.h"

namespace wherefore::cli {

enum class DiffMode : std::uint8_t { kRaw, kRate, kShare };
[[nodiscard]] std::string_view DiffModeName(DiffMode mode);  // raw, rate, share

// What is known of the sides before anything is compared.
struct DiffSides {
  bool two_selectors = false;  // not one at two times, not two files
  bool averaged = false;       // a snapshot: nothing can be said per second
  double before_seconds = 0;   // 0: not known
  double after_seconds = 0;
};

struct DiffMeasure {
  DiffMode mode = DiffMode::kRaw;
  std::string why;  // this one; "" when it was asked for
  DiffSides sides;
};
// `wanted`: a mode's name, or "" for the one that does not mislead: shares of two selections, which
// seldom carry the same load; per second where lengths differ; else as they are.
[[nodiscard]] DiffMeasure ChooseMeasure(std::string_view wanted, const DiffSides& sides);

// Functions by how much their self value changed in what is shown.
[[nodiscard]] std::string RenderDiff(const query::DiffTree& diff, const DiffMeasure& measure,
                                     std::size_t limit);
// The exact sums, in the same order.
[[nodiscard]] std::string DiffJson(const query::DiffTree& diff, const DiffMeasure& measure);

}  // namespace wherefore::cli
