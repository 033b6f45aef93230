// A heat map: observations, or profiles, over time. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"

namespace wherefore::query {

// Observations over time: one cell per step and row, colour = how many.
struct HeatMapAnswer {
  // Senders that give the time of every observation: rows are offsets within the second. Others:
  // rows are the profiles' own values.
  bool by_offset = false;
  std::string type;
  std::string unit;
  std::int64_t start_ns = 0;
  std::int64_t step_ns = 0;
  std::size_t steps = 0;
  std::int64_t row_width = 0;  // nanoseconds of offset, or of the value's unit
  std::size_t rows = 0;
  struct Cell {
    std::uint32_t step = 0;
    std::uint32_t row = 0;
    std::int64_t count = 0;
    // Only with a search: how much of the cell is what is looked for, and of how much:
    // observations, or the values of its profiles.
    std::int64_t matched = 0;
    std::int64_t whole = 0;
  };
  std::vector<Cell> cells;  // those with something in them
  std::string hint;
};

// Rows: 20 ms, or twenty of equal width up to the largest value.
Result<HeatMapAnswer> HeatMap(QueryContext& context, const Selection& selection,
                              std::int64_t step_ns, const LensSearch& wanted,
                              const CancelToken& cancel);

}  // namespace wherefore::query
