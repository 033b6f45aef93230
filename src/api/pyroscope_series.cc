// PyroscopeApi: values over time.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "api/pyroscope.h"
#include "query/call_site.h"

namespace wherefore::api {
namespace {

using formats::QuerierRequest;

constexpr std::int64_t kNsPerMs = 1'000'000;
// A call site is looked up in one flame graph per step.
constexpr std::int64_t kMostCallSiteSteps = 500;

// Points at start + k * step; each is about what began in (point - step, point], to the
// millisecond.
struct Grid {
  std::int64_t step_ns = 0;
  std::int64_t points = 0;
  store::TimeRange range;  // of all points together

  [[nodiscard]] std::int64_t phase_ns() const { return range.from_ns % step_ns; }
  // The point whose step begins here.
  [[nodiscard]] std::int64_t TimeMs(std::int64_t step_start_ns) const {
    return (step_start_ns + step_ns) / kNsPerMs - 1;
  }
};

Result<Grid> ReadGrid(const QuerierRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto range, ReadRange(request.start_ms, request.end_ms));
  if (!std::isfinite(request.step_seconds) || request.step_seconds < 0.001 ||
      request.step_seconds > 1e9) {
    return Error(Code::kInvalid, "step must be at least a millisecond");
  }
  Grid grid{.step_ns = std::llround(request.step_seconds * 1e9)};
  grid.points = (range.to_ns - kNsPerMs - range.from_ns) / grid.step_ns + 1;
  grid.range.from_ns = range.from_ns + kNsPerMs - grid.step_ns;
  grid.range.to_ns = range.from_ns + kNsPerMs + (grid.points - 1) * grid.step_ns;
  if (grid.range.from_ns < 0)
    return Error(Code::kInvalid, "start must be more than a step after 1970");
  return grid;
}

// Labels to group by: those the engine knows, and those that follow from the type.
struct Grouping {
  std::vector<std::string> names;  // for the engine
  formats::LabelPairs fixed;
};

Grouping ReadGrouping(const QuerierRequest& request, std::string_view type_id) {
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

formats::LabelPairs LabelsOf(const query::SeriesGroup& group, const Grouping& grouping) {
  formats::LabelPairs labels = grouping.fixed;
  for (const auto& [name, value] : group.labels) {
    if (!value.empty()) labels.emplace_back(name, value);  // a label that is not there is left out
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

}  // namespace

Result<std::string> PyroscopeApi::SelectSeries(const Caller& caller,
                                               const QuerierRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto series, TimeSeriesOf(caller, request));
  return formats::EncodeTimeSeries(series);
}

Result<PyroscopeApi::TimeSeriesList> PyroscopeApi::TimeSeriesOf(const Caller& caller,
                                                                const QuerierRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const Grid grid, ReadGrid(request));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto typed, ReadSelection(caller.tenant, request.type, request.selector, grid.range));
  if (request.limit < 0) return Error(Code::kInvalid, "limit must not be negative");
  if (typed.impossible) return TimeSeriesList();
  if (!request.call_site.empty()) return CallSiteSeries(caller, request);
  const Grouping grouping = ReadGrouping(request, typed.selection.type);
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto answer,
      engine_.Series(typed.selection,
                     {.steps = {grid.step_ns, grid.phase_ns()}, .group_by = grouping.names},
                     caller.cancel));
  const bool average = request.aggregation == 1;
  TimeSeriesList series;
  for (const query::SeriesGroup& group : answer.groups) {
    if (request.limit > 0 && series.size() >= static_cast<std::size_t>(request.limit)) break;
    formats::TimeSeries& one = series.emplace_back();
    one.labels = LabelsOf(group, grouping);
    for (std::size_t k = 0; k < group.values.size(); ++k) {
      if (group.profiles[k] == 0) continue;
      const double divisor = average ? static_cast<double>(group.profiles[k]) : 1;
      one.points.push_back(
          {.value = static_cast<double>(group.values[k]) / divisor,
           .time_ms = grid.TimeMs(answer.start_ns + static_cast<std::int64_t>(k) * grid.step_ns)});
    }
  }
  return series;
}

// The values below a call site: one flame graph per step.
Result<PyroscopeApi::TimeSeriesList> PyroscopeApi::CallSiteSeries(const Caller& caller,
                                                                  const QuerierRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const Grid grid, ReadGrid(request));
  if (!request.group_by.empty()) {
    return Error(Code::kUnsupported, "stackTraceSelector cannot be combined with groupBy");
  }
  if (grid.points > kMostCallSiteSteps) {
    return Error(Code::kInvalid, fmt::format("{} points with stackTraceSelector; at most {}: take "
                                             "a larger step",
                                             grid.points, kMostCallSiteSteps));
  }
  formats::TimeSeries series;
  for (std::int64_t k = 0; k < grid.points; ++k) {
    const std::int64_t from = grid.range.from_ns + k * grid.step_ns;
    WHEREFORE_ASSIGN_OR_RETURN(const auto typed,
                               ReadSelection(caller.tenant, request.type, request.selector,
                                             {.from_ns = from, .to_ns = from + grid.step_ns}));
    WHEREFORE_ASSIGN_OR_RETURN(const auto answer,
                               engine_.Flame(typed.selection, query::Lens(), caller.cancel));
    const auto tree = query::UnderCallSite(formats::MergedByName(answer.tree), request.call_site);
    if (tree.total[0] == 0) continue;
    series.points.push_back(
        {.value = static_cast<double>(tree.total[0]), .time_ms = grid.TimeMs(from)});
  }
  return series.points.empty() ? TimeSeriesList() : TimeSeriesList{std::move(series)};
}

}  // namespace wherefore::api
