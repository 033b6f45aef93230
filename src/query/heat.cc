#include "query/heat.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "query/labels.h"
#include "query/scan.h"

namespace wherefore::query {
namespace {

constexpr std::int64_t kOffsetWidth = 20'000'000;
constexpr std::size_t kValueRows = 20;

std::uint32_t StepOf(const HeatMapAnswer& answer, std::int64_t time_ns) {
  return static_cast<std::uint32_t>((time_ns - answer.start_ns) / answer.step_ns);
}

// Cells by offset within the second.
Result<> FillByOffset(QueryContext& context, const Resolved& r, const LensSearch& wanted,
                      HeatMapAnswer& answer, const CancelToken& cancel) {
  const store::Steps steps{answer.step_ns, answer.start_ns};
  WHEREFORE_ASSIGN_OR_RETURN(const auto cells,
                             context.reader.Offsets(r.query, steps, kOffsetWidth, cancel));
  std::map<std::pair<std::int64_t, std::uint32_t>, std::int64_t> matched;
  if (!wanted.search.empty() && !cells.empty()) {
    const auto add = [&](std::span<const std::uint32_t>,
                         const store::SampleQuery& some) -> Result<> {
      WHEREFORE_ASSIGN_OR_RETURN(const auto own,
                                 context.reader.Offsets(some, steps, kOffsetWidth, cancel));
      for (const store::OffsetCell& cell : own)
        matched[{cell.step_start_ns, cell.offset}] += cell.count;
      return {};
    };
    WHEREFORE_RETURN_IF_ERROR(EachNarrowed(context, r.query, wanted, add, cancel));
  }
  for (const store::OffsetCell& cell : cells) {
    const auto own = matched.find({cell.step_start_ns, cell.offset});
    answer.cells.push_back({.step = StepOf(answer, cell.step_start_ns),
                            .row = cell.offset,
                            .count = cell.count,
                            // More of it may have come since the whole was asked for.
                            .matched = own != matched.end() ? std::min(own->second, cell.count) : 0,
                            .whole = cell.count});
  }
  return {};
}

// Cells by the profiles' values.
Result<> FillByValue(QueryContext& context, const Selection& selection, const Resolved& r,
                     const LensSearch& wanted, HeatMapAnswer& answer, const CancelToken& cancel) {
  std::map<std::pair<store::DictionaryKey, std::uint32_t>, std::int64_t> matched;  // by profile
  if (!wanted.search.empty() && !r.needs_samples) {
    const auto add = [&](std::span<const std::uint32_t> at,
                         const store::SampleQuery& some) -> Result<> {
      const MemoryScope scope(cancel);
      WHEREFORE_ASSIGN_OR_RETURN(const auto sums, context.reader.SumProfiles(some, false, cancel));
      for (const store::ProfileSum& p : sums) {
        matched[{r.query.selections[at[p.dictionary]].dictionary, p.number}] =
            r.types.at(p.type).Value(p.value);
      }
      return {};
    };
    WHEREFORE_RETURN_IF_ERROR(EachNarrowed(context, r.query, wanted, add, cancel));
  }
  struct Point {
    std::int64_t time_ns;
    std::int64_t value;
    std::int64_t matched;
  };
  std::vector<Point> points;
  WHEREFORE_ASSIGN_OR_RETURN(
      const bool one_group,
      EachProfile(
          context, selection, {},
          [&](const ProfilePoint& p) {
            const auto own = matched.find({p.dictionary, p.number});
            points.push_back({p.time_ns, std::max<std::int64_t>(p.value, 0),
                              own != matched.end() ? std::max<std::int64_t>(own->second, 0) : 0});
          },
          cancel));
  if (!one_group) {
    answer.hint = "a heat map of whole profiles cannot be narrowed by labels of samples";
    return {};
  }
  if (points.empty()) {
    answer.hint = context.catalog.ExplainEmpty(selection, cancel);
    return {};
  }
  const std::int64_t most = std::ranges::max(points, {}, &Point::value).value;
  answer.row_width = most / static_cast<std::int64_t>(kValueRows) + 1;
  std::map<std::pair<std::uint32_t, std::uint32_t>, HeatMapAnswer::Cell> cells;
  for (const Point& p : points) {
    const std::uint32_t step = StepOf(answer, p.time_ns);
    const auto row = static_cast<std::uint32_t>(p.value / answer.row_width);
    HeatMapAnswer::Cell& cell = cells[{step, row}];
    cell.step = step;
    cell.row = row;
    ++cell.count;
    cell.matched = SaturatingAdd(cell.matched, p.matched);
    cell.whole = SaturatingAdd(cell.whole, p.value);
  }
  for (const auto& [at, cell] : cells) answer.cells.push_back(cell);
  return {};
}

}  // namespace

Result<HeatMapAnswer> HeatMap(QueryContext& context, const Selection& selection,
                              std::int64_t step_ns, const LensSearch& wanted,
                              const CancelToken& cancel) {
  Selection whole = selection;
  whole.add_up_snapshots = true;
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r, context.catalog.Resolve(whole, {}, cancel));
  HeatMapAnswer answer{.by_offset = true,
                       .type = r.type,
                       .unit = r.unit,
                       .start_ns = selection.range.from_ns / step_ns * step_ns,
                       .step_ns = step_ns,
                       .row_width = kOffsetWidth,
                       .rows = kNsPerSecond / kOffsetWidth};
  answer.steps =
      static_cast<std::size_t>((selection.range.to_ns - answer.start_ns + step_ns - 1) / step_ns);
  WHEREFORE_RETURN_IF_ERROR(FillByOffset(context, r, wanted, answer, cancel));
  if (!answer.cells.empty()) return answer;
  answer.by_offset = false;
  answer.rows = kValueRows;
  WHEREFORE_RETURN_IF_ERROR(FillByValue(context, whole, r, wanted, answer, cancel));
  return answer;
}

}  // namespace wherefore::query
