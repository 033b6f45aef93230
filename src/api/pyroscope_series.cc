// PyroscopeApi: values over time.
#include <algorithm>

#include <fmt/format.h>

#include "api/pyroscope.h"
#include "api/pyroscope_grid.h"
#include "query/call_site.h"
#include "query/flame.h"
#include "query/lens.h"
#include "query/timeline.h"

namespace wherefore::api {
namespace {

using formats::QuerierRequest;

// A call site is looked up in one flame graph per step.
constexpr std::int64_t kMostCallSiteSteps = 500;

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
      query::Timeline(context_, typed.selection,
                      {.steps = {grid.step_ns, grid.phase_ns()}, .group_by = grouping.names},
                      caller.cancel));
  const bool average = request.aggregation == 1;
  TimeSeriesList series;
  for (const query::TimelineGroup& group : answer.groups) {
    if (request.limit > 0 && series.size() >= static_cast<std::size_t>(request.limit)) break;
    formats::TimeSeries& one = series.emplace_back();
    one.labels = LabelsOf(group.labels, grouping);
    for (std::size_t k = 0; k < group.values.size(); ++k) {
      if (group.profiles[k] == 0) continue;
      const double divisor = average ? static_cast<double>(group.profiles[k]) : 1;
      one.points.push_back(
          {.value = static_cast<double>(group.values[k]) / divisor,
           .time_ms = grid.TimeMs(answer.start_ns + static_cast<std::int64_t>(k) * grid.step_ns)});
    }
  }
  if (request.exemplar_type == static_cast<std::int64_t>(formats::ExemplarType::kIndividual)) {
    WHEREFORE_RETURN_IF_ERROR(AddExemplars(caller, request, series));
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
    const std::int64_t from = grid.first_ns + k * grid.step_ns;
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto typed,
        ReadSelection(caller.tenant, request.type, request.selector,
                      {.from_ns = std::max<std::int64_t>(from, 0), .to_ns = from + grid.step_ns}));
    WHEREFORE_ASSIGN_OR_RETURN(const auto whole,
                               query::FlameByName(context_, typed.selection, {}, caller.cancel));
    const auto tree = query::UnderCallSite(whole, request.call_site);
    if (tree.total[0] == 0) continue;
    series.points.push_back(
        {.value = static_cast<double>(tree.total[0]), .time_ms = grid.TimeMs(from)});
  }
  return series.points.empty() ? TimeSeriesList() : TimeSeriesList{std::move(series)};
}

}  // namespace wherefore::api
