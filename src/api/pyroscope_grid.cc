#include "api/pyroscope_grid.h"

#include <algorithm>
#include <cmath>

#include "api/pyroscope_request.h"

namespace wherefore::api {

Result<Grid> ReadGrid(const formats::QuerierRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto range, ReadRange(request.start_ms, request.end_ms));
  if (!std::isfinite(request.step_seconds) || request.step_seconds < 0.001 ||
      request.step_seconds > 1e9) {
    return Error(Code::kInvalid, "step must be at least a millisecond");
  }
  Grid grid{.step_ns = std::llround(request.step_seconds * 1e9)};
  grid.points = (range.to_ns - Grid::kNsPerMs - range.from_ns) / grid.step_ns + 1;
  grid.first_ns = range.from_ns + Grid::kNsPerMs - grid.step_ns;
  grid.range.from_ns = std::max<std::int64_t>(grid.first_ns, 0);
  grid.range.to_ns = range.from_ns + Grid::kNsPerMs + (grid.points - 1) * grid.step_ns;
  return grid;
}

Grouping ReadGrouping(const formats::QuerierRequest& request, std::string_view type_id) {
  Grouping out;
  for (const std::string& name : request.group_by) {
    if (query::IsTypeLabel(name)) {
      out.fixed.emplace_back(name, query::TypeLabel(type_id, name));
    } else {
      out.names.push_back(name == "__service_name__" ? "service_name" : name);
    }
  }
  return out;
}

formats::LabelPairs LabelsOf(const query::Labels& group, const Grouping& grouping) {
  formats::LabelPairs labels = grouping.fixed;
  for (const auto& [name, value] : group) {
    if (!value.empty()) labels.emplace_back(name, value);
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

}  // namespace wherefore::api
