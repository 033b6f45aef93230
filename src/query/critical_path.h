// The critical path of a trace: which span the request was waiting for at every moment.
//
// Found backwards from the end of the root: whatever ended last before a moment is what was waited
// for until then. Segments are gapless and add up to the root's duration exactly, whatever the
// spans look like: clocks that differ, children that outlive their parents, missing parents,
// circles. Pure; any thread; n log n and no recursion, for traces of 100,000 spans.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "query/stored_types.h"

namespace wherefore::query {

struct PathSegment {
  // Index into the trace; kNoSpan: time of a root that has not arrived.
  std::uint32_t span = 0;
  std::int64_t start_ns = 0;  // after clocks were corrected
  std::int64_t end_ns = 0;
};
inline constexpr std::uint32_t kNoSpan = UINT32_MAX;

struct CriticalPath {
  std::vector<PathSegment> segments;  // in the order of time
  // By span: how far it was moved, because the clock of its place differs from its caller's.
  std::vector<std::int64_t> moved_ns;
  std::uint32_t root = kNoSpan;
  std::int64_t duration_ns = 0;
};
[[nodiscard]] CriticalPath FindCriticalPath(std::span<const store::SpanRow> trace);

}  // namespace wherefore::query
