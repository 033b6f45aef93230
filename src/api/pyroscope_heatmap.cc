// PyroscopeApi: single profiles: exemplars of a time series, and how values are spread over time.
#include <algorithm>
#include <map>

#include "api/pyroscope.h"
#include "api/pyroscope_grid.h"
#include "base/text.h"
#include "query/labels.h"

namespace wherefore::api {
namespace {

using formats::QuerierRequest;
using Point = query::ProfilePoint;

constexpr std::int64_t kBuckets = 20;

// Pyroscope writes profile ids as UUIDs.
std::string Uuid(const profile::ProfileId& id) {
  std::string hex = ToHex(id);
  for (const std::size_t at : {20, 16, 12, 8}) hex.insert(at, 1, '-');
  return hex;
}

formats::Exemplar ExemplarOf(const Point& point) {
  return {.time_ms = point.time_ns / Grid::kNsPerMs,
          .profile_id = Uuid(point.id),
          .value = point.value};
}

bool HasId(const Point& point) {
  return point.id != profile::ProfileId{};
}

// The values of one slot, by bucket.
struct Cells {
  std::map<std::int64_t, std::int32_t> counts;
  std::map<std::int64_t, Point> largest;
};

// Equal widths between the smallest and the largest value of all.
struct Buckets {
  double least = 0;
  double width = 0;

  [[nodiscard]] std::int64_t Of(std::int64_t value) const {
    if (width <= 0) return 0;
    const auto at = static_cast<std::int64_t>((static_cast<double>(value) - least) / width);
    return std::clamp<std::int64_t>(at, 0, kBuckets - 1);
  }
};

formats::HeatmapSlot SlotOf(std::int64_t time_ms, const Cells& cells, const Buckets& buckets,
                            bool exemplars) {
  formats::HeatmapSlot slot{.time_ms = time_ms};
  const std::int64_t count = buckets.width > 0 ? kBuckets : 1;
  for (std::int64_t b = 0; b < count; ++b) {
    slot.y_min.push_back(buckets.least + static_cast<double>(b) * buckets.width);
    const auto it = cells.counts.find(b);
    slot.counts.push_back(it == cells.counts.end() ? 0 : it->second);
  }
  if (!exemplars) return slot;
  for (const auto& [bucket, point] : cells.largest) slot.exemplars.push_back(ExemplarOf(point));
  return slot;
}

}  // namespace

// The largest profile of every point. None where labels of samples are asked for.
Result<> PyroscopeApi::AddExemplars(const Caller& caller, const QuerierRequest& request,
                                    TimeSeriesList& series) {
  WHEREFORE_ASSIGN_OR_RETURN(const Grid grid, ReadGrid(request));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto typed, ReadSelection(caller.tenant, request.type, request.selector, grid.range));
  const Grouping grouping = ReadGrouping(request, typed.selection.type);
  std::map<std::pair<formats::LabelPairs, std::int64_t>, Point> largest;
  WHEREFORE_RETURN_IF_ERROR(query::EachProfile(
      context_, typed.selection, grouping.names,
      [&](const Point& point) {
        if (!HasId(point)) return;
        const auto [it, added] = largest.try_emplace(
            {LabelsOf(point.labels, grouping), grid.PointOf(point.time_ns)}, point);
        if (!added && point.value > it->second.value) it->second = point;
      },
      caller.cancel));
  for (formats::TimeSeries& one : series) {
    for (formats::TimePoint& point : one.points) {
      const auto it = largest.find({one.labels, point.time_ms});
      if (it != largest.end()) point.exemplars = {ExemplarOf(it->second)};
    }
  }
  return {};
}

Result<std::string> PyroscopeApi::SelectHeatmap(const Caller& caller,
                                                const QuerierRequest& request) {
  constexpr std::int64_t kSpans = 2;
  if (request.query_type == kSpans) {
    return Error(Code::kUnsupported, "heatmaps of spans are not there, only of profiles");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const Grid grid, ReadGrid(request));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto typed, ReadSelection(caller.tenant, request.type, request.selector, grid.range));
  if (typed.impossible) return formats::EncodeHeatmap({});
  const Grouping grouping = ReadGrouping(request, typed.selection.type);
  std::map<formats::LabelPairs, std::vector<Point>> groups;
  std::int64_t least = INT64_MAX;
  std::int64_t most = INT64_MIN;
  WHEREFORE_ASSIGN_OR_RETURN(const bool whole,
                             query::EachProfile(
                                 context_, typed.selection, grouping.names,
                                 [&](const Point& point) {
                                   groups[LabelsOf(point.labels, grouping)].push_back(point);
                                   least = std::min(least, point.value);
                                   most = std::max(most, point.value);
                                 },
                                 caller.cancel));
  if (!whole) {
    return Error(Code::kUnsupported, "heatmaps cannot be grouped or narrowed by labels of samples");
  }
  const Buckets buckets{
      .least = static_cast<double>(least),
      .width = (static_cast<double>(most) - static_cast<double>(least)) / kBuckets};
  const bool exemplars =
      request.exemplar_type == static_cast<std::int64_t>(formats::ExemplarType::kIndividual);
  std::vector<formats::HeatmapSeries> series;
  for (const auto& [labels, points] : groups) {
    std::map<std::int64_t, Cells> slots;
    for (const Point& point : points) {
      Cells& cells = slots[grid.PointOf(point.time_ns)];
      const std::int64_t bucket = buckets.Of(point.value);
      ++cells.counts[bucket];
      if (!HasId(point)) continue;
      const auto [it, added] = cells.largest.try_emplace(bucket, point);
      if (!added && point.value > it->second.value) it->second = point;
    }
    formats::HeatmapSeries& one = series.emplace_back();
    one.labels = labels;
    for (const auto& [time_ms, cells] : slots) {
      one.slots.push_back(SlotOf(time_ms, cells, buckets, exemplars));
    }
  }
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(request.limit, 0));
  if (limit > 0 && series.size() > limit) {
    std::stable_sort(series.begin(), series.end(), [&](const auto& a, const auto& b) {
      return groups.at(a.labels).size() > groups.at(b.labels).size();
    });
    series.resize(limit);
  }
  return formats::EncodeHeatmap(series);
}

}  // namespace wherefore::api
