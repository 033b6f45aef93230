// Reader: sums over time, and when profiles were taken.
#include <fmt/format.h>

#include "base/clock.h"
#include "profile/observed_time.h"
#include "store/reader.h"
#include "store/schema.h"
#include "store/selection_number.h"
#include "store/step_sums.h"

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

}  // namespace

Result<std::vector<SeriesPoint>> ReaderImpl::Timeline(const SampleQuery& query, const Steps& steps,
                                                      bool from_samples,
                                                      const CancelToken& cancel) {
  std::vector<SeriesPoint> points;
  if (query.selections.empty()) return points;
  if (steps.width_ns <= 0) return Error(Code::kInvalid, "the step of a timeline must be positive");
  if (steps.spread && !from_samples) {
    WHEREFORE_ASSIGN_OR_RETURN(SharedOut shared, ShareOut(query, steps, cancel));
    return std::move(shared.points);
  }
  const SelectionNumber selection(query);
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format(
              "SELECT {} AS selection, type, series, intDiv(time - {}, {}) AS step, {}, sum(n), "
              "{}, max(time) FROM {} WHERE {} GROUP BY selection, type, series, step ORDER BY step",
              selection.Sql(), steps.phase_ns, steps.width_ns,
              SumColumns(from_samples ? "value" : "total"),
              from_samples ? "uniqExact(profile)" : "count()",
              PhysicalName(from_samples ? Table::kSamples : Table::kProfiles),
              SelectionCondition(query)),
          9, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            const std::uint64_t type = c[1].Uint(row);
            if (const auto at = selection.Find(c[0].Uint(row), type)) {
              points.push_back({*at, type, c[2].U32(row),
                                c[3].Int(row) * steps.width_ns + steps.phase_ns, ReadSum(c, 4, row),
                                c[6].Int(row), c[7].Int(row), c[8].Int(row)});
            }
            return {};
          }));
  return points;
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
  const SelectionNumber selection(query);
  const Steps& steps = sums.steps();
  MemoryClaim held(cancel);
  return Run(
      fmt::format("SELECT {} AS selection, type, series, max(time), max(duration), {}, sum(n), "
                  "first, if(first = last, 0, toUInt64(number) + 1) AS alone, count() FROM (SELECT "
                  "service, bucket, writer, type, series, number, time, duration, total, "
                  "n, {} FROM {} WHERE {}) GROUP BY selection, type, series, first, alone",
                  selection.Sql(), SumColumns("total"), StepsOf(steps, query.range.to_ns),
                  PhysicalName(Table::kProfiles), SelectionCondition(query)),
      11, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        const std::uint64_t type = c[1].Uint(row);
        const auto at = selection.Find(c[0].Uint(row), type);
        if (!at) return {};
        const std::int64_t value = ReadSum(c, 5, row);
        if (c[9].Uint(row) != 0) {
          sums.Add({.dictionary = *at,
                    .type = type,
                    .series = c[2].U32(row),
                    .time_ns = c[3].Int(row),
                    .duration_ns = c[4].Int(row),
                    .value = value,
                    .count = c[7].Int(row)});
        } else {
          sums.AddWithin({*at, type, c[2].U32(row), c[8].Int(row) * steps.width_ns + steps.phase_ns,
                          value, c[7].Int(row), c[10].Int(row), c[3].Int(row)});
        }
        return held.Resize(sums.bytes());
      });
}

Result<std::vector<ProfileSum>> ReaderImpl::SumProfiles(const SampleQuery& query, bool by_series,
                                                        const CancelToken& cancel) {
  std::vector<ProfileSum> rows;
  if (query.selections.empty()) return rows;
  const SelectionNumber selection(query);
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format("SELECT selection, profile, kind, own, began, duration, value_sum, about, n_sum "
                  "FROM (SELECT {0} AS selection, profile, any(type) AS kind, any(series) AS own, "
                  "any(time) AS began, sum(value) AS value_sum, sum(toFloat64(value)) AS about, "
                  "sum(n) AS n_sum FROM {1} WHERE {2} "
                  "GROUP BY selection, profile{5}) AS sums ANY LEFT JOIN (SELECT {0} AS selection, "
                  "number AS profile, duration FROM {3} WHERE {4}) AS profiles USING (selection, "
                  "profile)",
                  selection.Sql(), PhysicalName(Table::kSamples), SelectionCondition(query),
                  PhysicalName(Table::kProfiles), SelectionCondition(AboutProfiles(query)),
                  by_series ? ", series" : ""),
      9, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        const std::uint64_t type = c[2].Uint(row);
        if (const auto at = selection.Find(c[0].Uint(row), type)) {
          rows.push_back({*at, type, c[3].U32(row), c[1].U32(row), c[4].Int(row), c[5].Int(row),
                          ReadSum(c, 6, row), c[8].Int(row)});
        }
        return {};
      }));
  return rows;
}

Result<std::vector<CoverRow>> ReaderImpl::Coverage(const SampleQuery& query,
                                                   const CancelToken& cancel) {
  std::vector<CoverRow> rows;
  if (query.selections.empty()) return rows;
  const SelectionNumber selection(query);
  WHEREFORE_RETURN_IF_ERROR(
      // A year at most: what a sender says must not run over.
      Run(fmt::format("SELECT {} AS selection, type, min(time), max(time + toInt64(least(duration, "
                      "{}))), max(time), count(), {} FROM {} WHERE {} GROUP BY selection, type",
                      selection.Sql(), kNsPerDay * 365, SumColumns("total"),
                      PhysicalName(Table::kProfiles), SelectionCondition(query)),
          8, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            const std::uint64_t type = c[1].Uint(row);
            if (const auto at = selection.Find(c[0].Uint(row), type)) {
              rows.push_back({*at, type, c[2].Int(row), c[3].Int(row), c[4].Int(row), c[5].Int(row),
                              ReadSum(c, 6, row)});
            }
            return {};
          }));
  return rows;
}

}  // namespace wherefore::store
