// Causes: which few functions explain the difference of two sides, one report for each.
//
// A function that got dearer makes all of its callers dearer and, in shares, everything else
// cheaper. So values are measured against the rest that did not change, the largest certain change
// is followed down to where it happens, its stacks are taken out, and what is left is looked at
// again. Work that only moved, into a helper or to another name, is called so.
//
// Pure; the same table gives the same causes in the same order. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/own_code.h"
#include "query/stack_table.h"

namespace wherefore::query {

enum class CauseKind : std::uint8_t { kMore, kLess, kNew, kGone, kMoved, kEverywhere };
[[nodiscard]] std::string_view CauseKindName(CauseKind kind);

struct Cause {
  profile::FlameFunction function;
  CauseKind kind = CauseKind::kMore;
  // In units of the table's exposures; the interval holds in 95 of 100 cases.
  double change = 0;
  double low = 0;
  double high = 0;
  double share_of_before = 0;                   // the change, of everything before
  double q = 1;                                 // of its change, as a false discovery rate
  std::vector<profile::FlameFunction> callers;  // those with most of the change first; at most 3
  // The callers with most of the change, one above the other, up to the root.
  std::vector<profile::FlameFunction> way;
  std::vector<profile::FlameFunction> within;    // the function whose change led here, if another
  std::vector<profile::FlameFunction> partners;  // moved: where the work was before, if known
  std::vector<std::string> traces;               // ids of some it was seen in, of the side after
};
// The nearest function on its way that is own code, or it itself; name empty: none is.
[[nodiscard]] profile::FlameFunction OwnFunctionOf(const Cause& cause, const OwnCode& own);

// How measures compare: what did not change costs the same on both sides afterwards. Only for
// tables whose exposures are totals or time, which say nothing about how much was to be done.
void MeasureAgainstTheUnchanged(StackTable& table);

// Largest first. Takes stacks out of the table.
Result<std::vector<Cause>> FindCauses(StackTable& table, const CancelToken& cancel);

}  // namespace wherefore::query
