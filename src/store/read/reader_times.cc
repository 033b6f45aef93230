// Reader: sums over time, and when profiles were taken.
#include <fmt/format.h>

#include "base/clock.h"
#include "profile/observed_time.h"
#include "store/engine/schema.h"
#include "store/read/reader.h"
#include "store/read/selection_number.h"
#include "store/read/step_sums.h"

namespace wherefore::store {
namespace {

// Of each profile the step it begins in and the one it ends in. StepSums knows exactly; here it
// only matters that profiles within one step are seen as such.
std::string StepsOf(const Steps& steps, std::int64_t end_ns) {
  return fmt::format(
      "intDiv(time - {0}, {1}) AS first, if(intDiv(duration, {1}) >= 1000, first, "
      "intDiv(least(time + greatest(duration, 1), {2}) - 1 - {0}, {1})) AS last",
      steps.phase_ns, steps.width_ns, end_ns);
}

std::int64_t StartOf(std::int64_t step, const Steps& steps) {
  return step * steps.width_ns + steps.phase_ns;
}

}  // namespace

Result<std::vector<SeriesPoint>> ReaderImpl::Timeline(const SampleQuery& query, const Steps& steps,
                                                      bool from_samples,
                                                      const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<SeriesPoint>();
  if (steps.width_ns <= 0) return Error(Code::kInvalid, "the step of a timeline must be positive");
  if (steps.spread && !from_samples) {
    WHEREFORE_ASSIGN_OR_RETURN(SharedOut shared, ShareOut(query, steps, cancel));
    return std::move(shared.points);
  }
  using Point = SeriesPoint;
  const auto columns = Columns<Point>(
      Col("type", &Point::type), Col("series", &Point::series),
      Col<std::int64_t>(
          fmt::format("intDiv(time - {}, {}) AS step", steps.phase_ns, steps.width_ns),
          [&](Point& point, std::int64_t step) { point.step_start_ns = StartOf(step, steps); }),
      Sum(from_samples ? "value" : "total", &Point::value), Col("sum(n)", &Point::count),
      Col(from_samples ? "uniqExact(profile)" : "count()", &Point::profiles),
      Col("max(time)", &Point::last_ns));
  const SelectionNumber selection(query);
  return AllSelected(
      selection, selection.Column(), columns,
      fmt::format("FROM {} WHERE {} GROUP BY selection, type, series, step ORDER BY step",
                  PhysicalName(from_samples ? Table::kSamples : Table::kProfiles),
                  SelectionCondition(query)),
      cancel);
}

// Few profiles are read one by one, which is cheaper than any sum; of many only those that do not
// lie within one step.
Result<SharedOut> ReaderImpl::ShareOut(const SampleQuery& query, const Steps& steps,
                                       const CancelToken& cancel) {
  SharedOut out;
  if (query.selections.empty()) return out;
  StepSums sums(steps, query.range.to_ns);
  MemoryClaim held(cancel);
  std::size_t profiles = 0;
  WHEREFORE_RETURN_IF_ERROR(
      EachTotal(query, kFewProfiles + 1, cancel, [&](const ProfileSum& p) -> Result<> {
        ++profiles;
        sums.Add(p);
        out.seen.push_back(
            {p.dictionary, p.type, p.series, p.time_ns, profile::BelievedDuration(p.duration_ns)});
        return held.Resize(sums.bytes() + out.seen.capacity() * sizeof(SeenRow));
      }));
  if (profiles > kFewProfiles) {
    (void)sums.Take();  // once more, all of them
    WHEREFORE_RETURN_IF_ERROR(ShareOutMany(query, sums, cancel));
    WHEREFORE_ASSIGN_OR_RETURN(out.seen, Seen(query, SeenAs::kTogether, cancel));
  }
  out.points = sums.Take();
  return out;
}

Result<> ReaderImpl::ShareOutMany(const SampleQuery& query, StepSums& sums,
                                  const CancelToken& cancel) {
  struct Row {
    ProfileSum sum;  // of one profile, or of several within a step
    std::int64_t first = 0;
    std::uint64_t alone = 0;  // 0: within its first step, together with others
    std::int64_t profiles = 0;
  };
  const auto sum = Columns<ProfileSum>(
      Col("type", &ProfileSum::type), Col("series", &ProfileSum::series),
      Col("max(time)", &ProfileSum::time_ns), Col("max(duration)", &ProfileSum::duration_ns),
      Sum("total", &ProfileSum::value), Col("sum(n)", &ProfileSum::count));
  const auto columns =
      Columns<Row>(In(&Row::sum, sum), Col("first", &Row::first),
                   Col("if(first = last, 0, toUInt64(number) + 1) AS alone", &Row::alone),
                   Col("count()", &Row::profiles));
  const SelectionNumber selection(query);
  const Steps& steps = sums.steps();
  MemoryClaim held(cancel);
  return RunSelected(
      selection, selection.Column(), columns,
      fmt::format("FROM (SELECT service, bucket, writer, type, series, number, time, duration, "
                  "total, n, {} FROM {} WHERE {}) GROUP BY selection, type, series, first, alone",
                  StepsOf(steps, query.range.to_ns), PhysicalName(Table::kProfiles),
                  SelectionCondition(query)),
      cancel,
      [&](const Row& row) {
        const ProfileSum& s = row.sum;
        if (row.alone != 0) {
          sums.Add(s);
        } else {
          sums.AddWithin({s.dictionary, s.type, s.series, StartOf(row.first, steps), s.value,
                          s.count, row.profiles, s.time_ns});
        }
        return held.Resize(sums.bytes());
      },
      &Row::sum);
}

Result<std::vector<ProfileSum>> ReaderImpl::SumProfiles(const SampleQuery& query, bool by_series,
                                                        const CancelToken& cancel) {
  using Row = ProfileSum;
  const auto columns =
      Columns<Row>(Col("profile", &Row::number), Col("kind", &Row::type), Col("own", &Row::series),
                   Col("began", &Row::time_ns), Col("duration", &Row::duration_ns),
                   SumFrom("value_sum", "about", &Row::value), Col("n_sum", &Row::count));
  if (query.selections.empty()) return std::vector<ProfileSum>();
  const SelectionNumber selection(query);
  return AllSelected(
      selection, "selection", columns,
      fmt::format("FROM (SELECT {0}, profile, any(type) AS kind, any(series) AS own, "
                  "any(time) AS began, sum(value) AS value_sum, sum(toFloat64(value)) AS about, "
                  "sum(n) AS n_sum FROM {1} WHERE {2} "
                  "GROUP BY selection, profile{5}) AS sums ANY LEFT JOIN (SELECT {0}, "
                  "number AS profile, duration FROM {3} WHERE {4}) AS profiles USING (selection, "
                  "profile)",
                  selection.Column(), PhysicalName(Table::kSamples), SelectionCondition(query),
                  PhysicalName(Table::kProfiles), SelectionCondition(AboutProfiles(query)),
                  by_series ? ", series" : ""),
      cancel);
}

Result<std::vector<CoverRow>> ReaderImpl::Coverage(const SampleQuery& query, CoverBy by,
                                                   const CancelToken& cancel) {
  // A year at most: what a sender says must not run over.
  const std::string end = fmt::format("max(time + toInt64(least(duration, {})))", kNsPerDay * 365);
  const auto columns =
      Columns<CoverRow>(Col("type", &CoverRow::type), Col("min(time)", &CoverRow::first_ns),
                        Col(end, &CoverRow::end_ns), Col("max(time)", &CoverRow::last_ns),
                        Col("count()", &CoverRow::profiles), Sum("total", &CoverRow::value),
                        Col("whose", &CoverRow::series));
  if (query.selections.empty()) return std::vector<CoverRow>();
  const SelectionNumber selection(query);
  return AllSelected(selection, selection.Column(), columns,
                     fmt::format("FROM {} WHERE {} GROUP BY selection, type, {} AS whose",
                                 PhysicalName(Table::kProfiles), SelectionCondition(query),
                                 by == CoverBy::kSeries ? "series" : "toUInt32(0)"),
                     cancel);
}

}  // namespace wherefore::store
