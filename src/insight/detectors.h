// Detectors: what no expression can say about stacks. Each finds the stacks that speak for it.
//
// Pure; any thread. Detector::kNPlusOne is about spans: n_plus_one.h.
#pragma once

#include <vector>

#include "insight/frame_matches.h"
#include "insight/rule.h"
#include "query/stack_table.h"

namespace wherefore::insight {

inline constexpr std::size_t kDeepStack = 100;
inline constexpr std::size_t kRecursions = 10;  // of one function on a stack
inline constexpr std::size_t kManyCallers = 8;

[[nodiscard]] std::vector<Hit> Detect(Detector detector, const query::StackTable& table);

}  // namespace wherefore::insight
