// MemoryReader: sums over time, and when profiles were taken.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "profile/observed_time.h"
#include "store/memory/memory_reader.h"
#include "store/memory/scan_rows.h"
#include "store/memory/selected.h"
#include "store/read/step_sums.h"

namespace wherefore::store::memory {
namespace {

struct PointSums {
  SeriesPoint point;
  Sum value;
  std::set<std::uint32_t> profiles;  // told apart where samples are added up
};
// The step first: points come in its order.
using Points =
    std::map<std::tuple<std::int64_t, std::uint32_t, std::uint64_t, std::uint32_t>, PointSums>;

PointSums& PointOf(Points& points, const Steps& steps, std::uint32_t at, const Subject& row) {
  const std::int64_t step = (*row.time_ns - steps.phase_ns) / steps.width_ns;
  PointSums& sums = points[{step, at, row.type, row.series}];
  SeriesPoint& point = sums.point;
  point.dictionary = at;
  point.type = row.type;
  point.series = row.series;
  point.step_start_ns = step * steps.width_ns + steps.phase_ns;
  point.last_ns = std::max(point.last_ns, *row.time_ns);
  return sums;
}

ProfileSum TotalOf(std::uint32_t at, const StoredProfile& p) {
  return {at,          p.row.type, p.row.series, p.row.number, p.row.time_ns, p.row.duration_ns,
          p.row.total, p.count};
}

}  // namespace

Result<std::vector<SeriesPoint>> MemoryReader::Timeline(const SampleQuery& query,
                                                        const Steps& steps, bool from_samples,
                                                        const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<SeriesPoint>();
  if (steps.width_ns <= 0) return Error(Code::kInvalid, "the step of a timeline must be positive");
  if (steps.spread && !from_samples) {
    WHEREFORE_ASSIGN_OR_RETURN(SharedOut shared, ShareOut(query, steps, cancel));
    return std::move(shared.points);
  }
  ReaderLock lock(mutex_);
  const Selected selected(query);
  Points sums;
  const auto add_sample = [&](const StoredSample& s) {
    const auto at = selected.Of(s);
    if (!at) return;
    PointSums& point = PointOf(sums, steps, *at, About(s));
    point.value.Add(s.value);
    point.point.count += s.count;
    point.profiles.insert(s.profile);
    point.point.profiles = static_cast<std::int64_t>(point.profiles.size());
  };
  const auto add_profile = [&](const StoredProfile& p) {
    const auto at = selected.Of(p);
    if (!at) return;
    PointSums& point = PointOf(sums, steps, *at, About(p));
    point.value.Add(p.row.total);
    point.point.count = WrappingAdd(point.point.count, p.count);
    ++point.point.profiles;
  };
  WHEREFORE_RETURN_IF_ERROR(from_samples ? Each(tables_.samples, cancel, add_sample)
                                         : Each(tables_.profiles, cancel, add_profile));
  std::vector<SeriesPoint> points;
  for (auto& [key, sum] : sums) {
    sum.point.value = sum.value.value();
    points.push_back(sum.point);
  }
  return Charged(std::move(points), cancel);
}

Result<SharedOut> MemoryReader::ShareOut(const SampleQuery& query, const Steps& steps,
                                         const CancelToken& cancel) {
  SharedOut out;
  if (query.selections.empty()) return out;
  StepSums sums(steps, query.range.to_ns);
  WHEREFORE_ASSIGN_OR_RETURN(const auto profiles, ProfileTotals(query, cancel));
  MemoryClaim held(cancel);
  for (const ProfileSum& p : profiles) {
    sums.Add(p);
    out.seen.push_back(
        {p.dictionary, p.type, p.series, p.time_ns, profile::BelievedDuration(p.duration_ns)});
    WHEREFORE_RETURN_IF_ERROR(held.Resize(sums.bytes() + out.seen.capacity() * sizeof(SeenRow)));
  }
  out.points = sums.Take();
  return out;
}

Result<std::vector<ProfileSum>> MemoryReader::ProfileTotals(const SampleQuery& query,
                                                            const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  const Selected selected(query);
  std::vector<ProfileSum> rows;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    if (const auto at = selected.Of(p)) rows.push_back(TotalOf(*at, p));
  }));
  return Charged(std::move(rows), cancel);
}

Result<std::vector<NewestRow>> MemoryReader::Newest(const SampleQuery& query,
                                                    const CancelToken& cancel) {
  struct Series {
    NewestRow row;
    std::int64_t first_ns = INT64_MAX;
    std::int64_t profiles = 0;
  };
  ReaderLock lock(mutex_);
  const Selected selected(query);
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, Series> found;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    const auto at = selected.Of(p);
    if (!at) return;
    Series& series = found[{*at, p.row.type, p.row.series}];
    if (series.profiles == 0 || p.row.time_ns > series.row.profile.time_ns)
      series.row.profile = TotalOf(*at, p);
    series.first_ns = std::min(series.first_ns, p.row.time_ns);
    ++series.profiles;
  }));
  std::vector<NewestRow> rows;
  for (auto& [key, series] : found) {
    series.row.distance_ns = (series.row.profile.time_ns - series.first_ns) /
                             std::max<std::int64_t>(series.profiles - 1, 1);
    rows.push_back(series.row);
  }
  return Charged(std::move(rows), cancel);
}

Result<std::vector<SeenRow>> MemoryReader::Seen(const SampleQuery& query, SeenAs as,
                                                const CancelToken& cancel) {
  std::vector<SeenRow> rows;
  if (query.selections.empty()) return rows;
  ReaderLock lock(mutex_);
  const Selected selected(query);
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    if (!selected.Matches(About(p))) return;
    const std::int64_t lasts = profile::BelievedDuration(p.row.duration_ns);
    if (as == SeenAs::kTogether && lasts > 0) {
      rows.push_back({.begin_ns = p.row.time_ns, .length_ns = lasts});
    } else if (const auto at = selected.Find(p.row.dictionary, p.row.type)) {
      rows.push_back({*at, p.row.type, p.row.series, p.row.time_ns, lasts});
    }
  }));
  return Charged(std::move(rows), cancel);
}

Result<std::vector<CoverRow>> MemoryReader::Coverage(const SampleQuery& query, CoverBy by,
                                                     const CancelToken& cancel) {
  struct Covered {
    CoverRow row;
    Sum value;
  };
  ReaderLock lock(mutex_);
  const Selected selected(query);
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, Covered> found;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    const auto at = selected.Of(p);
    if (!at) return;
    const std::int64_t time = p.row.time_ns;
    const std::uint32_t series = by == CoverBy::kSeries ? p.row.series : 0;
    const auto [entry, fresh] = found.try_emplace({*at, p.row.type, series});
    auto& [row, value] = entry->second;
    if (fresh) row = {*at, p.row.type, time, INT64_MIN, time, 0, 0, series};
    row.first_ns = std::min(row.first_ns, time);
    // A year at most: what a sender says must not run over.
    row.end_ns = std::max(row.end_ns, time + std::min(p.row.duration_ns, kNsPerDay * 365));
    row.last_ns = std::max(row.last_ns, time);
    ++row.profiles;
    value.Add(p.row.total);
  }));
  std::vector<CoverRow> rows;
  for (auto& [key, covered] : found) {
    covered.row.value = covered.value.value();
    rows.push_back(covered.row);
  }
  return Charged(std::move(rows), cancel);
}

Result<std::vector<OffsetCell>> MemoryReader::Offsets(const SampleQuery& query, const Steps& steps,
                                                      std::int64_t offset_width_ns,
                                                      const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<OffsetCell>();
  ReaderLock lock(mutex_);
  const Selected selected(query);
  std::map<std::pair<std::int64_t, std::uint32_t>, OffsetCell> cells;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.details, cancel, [&](const StoredDetail& d) {
    if (!selected.Matches(About(d))) return;
    for (const std::uint64_t moment : d.row.times) {
      const auto time = static_cast<std::int64_t>(moment);
      if (time < query.range.from_ns || time >= query.range.to_ns) continue;
      const std::int64_t step =
          (time - steps.phase_ns) / steps.width_ns * steps.width_ns + steps.phase_ns;
      const auto offset = static_cast<std::uint32_t>(time % kNsPerSecond / offset_width_ns);
      OffsetCell& cell = cells[{step, offset}];
      cell = {step, offset, cell.count + 1};
    }
  }));
  return Charged(std::move(cells), cancel);
}

}  // namespace wherefore::store::memory
