#include "query/latency_map.h"

#include <algorithm>

namespace wherefore::query {

Result<LatencyMapAnswer> LatencyMap(QueryContext& context, store::SpanSearch search,
                                    std::int64_t step_ns, const CancelToken& cancel) {
  search.requests_only = search.requests_only || search.name.empty();
  LatencyMapAnswer answer{.start_ns = search.range.from_ns / step_ns * step_ns, .step_ns = step_ns};
  answer.steps =
      static_cast<std::size_t>((search.range.to_ns - answer.start_ns + step_ns - 1) / step_ns);
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto cells,
      context.reader.Durations(search, {.width_ns = step_ns, .phase_ns = answer.start_ns}, cancel));
  if (cells.empty()) return answer;
  const auto [least, most] = std::ranges::minmax(cells, {}, &store::DurationCell::from_ns);
  for (std::int64_t row = least.from_ns; row < most.from_ns; row = store::NextDurationRow(row))
    answer.bounds_ns.push_back(row);
  answer.bounds_ns.push_back(most.from_ns);
  // The longest durations there can be have no next row.
  constexpr std::int64_t kLast = INT64_MAX / 2;
  answer.bounds_ns.push_back(most.from_ns > kLast ? INT64_MAX
                                                  : store::NextDurationRow(most.from_ns));
  for (const store::DurationCell& cell : cells) {
    const auto row = std::ranges::lower_bound(answer.bounds_ns, cell.from_ns);
    answer.cells.push_back(
        {.step = static_cast<std::uint32_t>((cell.step_start_ns - answer.start_ns) / step_ns),
         .row = static_cast<std::uint32_t>(row - answer.bounds_ns.begin()),
         .count = cell.count,
         .errors = cell.errors});
    answer.spans += cell.count;
    answer.errors += cell.errors;
  }
  return answer;
}

}  // namespace wherefore::query
