// Points in time and groups, as queries about values over time have them. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/pyroscope/querier.h"
#include "query/timeline.h"

namespace wherefore::api {

// Points at start + k * step; each is about what began in (point - step, point], to the
// millisecond.
struct Grid {
  static constexpr std::int64_t kNsPerMs = 1'000'000;

  std::int64_t step_ns = 0;
  std::int64_t points = 0;
  std::int64_t first_ns = 0;  // where the first step begins; may lie before 1970
  query::TimeRange range;     // of all points together

  [[nodiscard]] std::int64_t phase_ns() const { return (first_ns % step_ns + step_ns) % step_ns; }
  // The point whose step begins here.
  [[nodiscard]] std::int64_t TimeMs(std::int64_t step_start_ns) const {
    return (step_start_ns + step_ns) / kNsPerMs - 1;
  }
  // The point a moment within the range belongs to.
  [[nodiscard]] std::int64_t PointOf(std::int64_t time_ns) const {
    return TimeMs(first_ns + (time_ns - first_ns) / step_ns * step_ns);
  }
};
[[nodiscard]] Result<Grid> ReadGrid(const formats::QuerierRequest& request);

// Labels to group by: those the engine knows, and those that follow from the type.
struct Grouping {
  std::vector<std::string> names;  // for the engine
  formats::LabelPairs fixed;
};
[[nodiscard]] Grouping ReadGrouping(const formats::QuerierRequest& request,
                                    std::string_view type_id);
// The labels of a group in an answer; one that is not there is left out.
[[nodiscard]] formats::LabelPairs LabelsOf(const query::Labels& group, const Grouping& grouping);

}  // namespace wherefore::api
