// How two sides are compared, as on the page: raw, per second of observed time of each side, as
// shares of each side's total, or per request. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/verdicts.h"
#include "query/diff.h"

namespace wherefore::cli {

enum class DiffMode : std::uint8_t { kRaw, kRate, kShare, kRequest };
[[nodiscard]] std::string_view DiffModeName(DiffMode mode);  // raw, rate, share, request

// What is known about the sides before the comparison.
struct DiffSides {
  bool two_selectors = false;  // not one at two times, not two files
  bool repeated_runs = false;  // several files on a side
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

// Whether a difference is too large to accept (`--fail-on`): something that surely costs at least
// `limit`, a share of everything before, more. Where nothing that small could have been seen the
// reason says so.
struct FailOn {
  bool failed = false;
  std::string reason;  // empty: nothing to say
};
[[nodiscard]] FailOn JudgeDifference(const Verdicts& verdicts, double limit);

// Functions by the change of their self value in the chosen mode. `verdicts` may be null: files and
// raw sums are not tested.
[[nodiscard]] std::string RenderDiff(const query::DiffTree& diff, const DiffMeasure& measure,
                                     const Verdicts* verdicts, std::size_t limit);
// The same as Markdown, for a pull request or an incident: causes as a list, then a table.
[[nodiscard]] std::string DiffMarkdown(const query::DiffTree& diff, const DiffMeasure& measure,
                                       const Verdicts* verdicts, std::size_t limit);
// "more +13.9 % (+10.1 to +17.7) parse, called by main"
[[nodiscard]] std::string CauseSentence(const ToldCause& cause);
// The exact sums, in the same order.
[[nodiscard]] std::string DiffJson(const query::DiffTree& diff, const DiffMeasure& measure,
                                   const Verdicts* verdicts);

}  // namespace wherefore::cli
