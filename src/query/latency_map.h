// How long requests took over time: a heat map of all that match, not of a list of them.
//
// Rows are durations, four to each doubling (store::DurationRow), from the shortest to the longest
// that occur. Counts are exact, however many spans there are. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"

namespace wherefore::query {

struct LatencyMapAnswer {
  std::int64_t start_ns = 0;
  std::int64_t step_ns = 0;
  std::size_t steps = 0;
  // Row r has durations from bounds_ns[r] to below bounds_ns[r + 1]; the first one shorter ones
  // too. Empty: nothing matches.
  std::vector<std::int64_t> bounds_ns;
  struct Cell {
    std::uint32_t step = 0;
    std::uint32_t row = 0;
    std::int64_t count = 0;
    std::int64_t errors = 0;
  };
  std::vector<Cell> cells;  // those with something in them, by step and row
  std::int64_t spans = 0;
  std::int64_t errors = 0;
};

// `search.limit` does not matter. Without a name, only requests are meant: spans that others, or
// nobody, called from outside.
Result<LatencyMapAnswer> LatencyMap(QueryContext& context, store::SpanSearch search,
                                    std::int64_t step_ns, const CancelToken& cancel);

}  // namespace wherefore::query
