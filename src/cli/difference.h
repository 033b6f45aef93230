// How two sides are compared, as on the page: raw, per second of observed time of each side, or as
// shares of each side's total. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/verdicts.h"
#include "query/diff.h"

namespace wherefore::cli {

enum class DiffMode : std::uint8_t { kRaw, kRate, kShare };
[[nodiscard]] std::string_view DiffModeName(DiffMode mode);  // raw, rate, share

// What is known about the sides before the comparison.
struct DiffSides {
  bool two_selectors = false;  // not one at two times, not two files
  bool averaged = false;       // a snapshot: there is no rate
  double before_seconds = 0;   // 0: not known
  double after_seconds = 0;
};

struct DiffMeasure {
  DiffMode mode = DiffMode::kRaw;
  std::string why;  // why this mode was chosen; "" if the user asked for it
  DiffSides sides;
};
// `wanted` is a mode's name, or "" for the least misleading one: shares for two selections, which
// seldom carry the same load; rates if the lengths differ; else raw.
[[nodiscard]] DiffMeasure ChooseMeasure(std::string_view wanted, const DiffSides& sides);

// Functions by the change of their self value in the chosen mode. `verdicts` may be null: files and
// raw sums are not tested.
[[nodiscard]] std::string RenderDiff(const query::DiffTree& diff, const DiffMeasure& measure,
                                     const Verdicts* verdicts, std::size_t limit);
// The exact sums, in the same order.
[[nodiscard]] std::string DiffJson(const query::DiffTree& diff, const DiffMeasure& measure,
                                   const Verdicts* verdicts);

}  // namespace wherefore::cli
