// Reader: sums over time, and when profiles were taken.
#include <fmt/format.h>

#include "base/clock.h"
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
  if (steps.spread && !from_samples) return SpreadTimeline(query, steps, cancel);
  const SelectionNumber selection(query);
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format(
          "SELECT {} AS selection, type, series, intDiv(time - {}, {}) AS step, sum({}), sum(n), "
          "{}, max(time) FROM {} WHERE {} GROUP BY selection, type, series, step ORDER BY step",
          selection.Sql(), steps.phase_ns, steps.width_ns, from_samples ? "value" : "total",
          from_samples ? "uniqExact(profile)" : "count()",
          PhysicalName(from_samples ? Table::kSamples : Table::kProfiles),
          SelectionCondition(query)),
      8, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        const std::uint64_t type = c[1].Uint(row);
        if (const auto at = selection.Find(c[0].U32(row), type)) {
          points.push_back({*at, type, c[2].U32(row),
                            c[3].Int(row) * steps.width_ns + steps.phase_ns, c[4].Int(row),
                            c[5].Int(row), c[6].Int(row), c[7].Int(row)});
        }
        return {};
      }));
  return points;
}

// Few profiles are read one by one, which is cheaper than any sum; of many only those that do not
// lie within one step.
Result<std::vector<SeriesPoint>> ReaderImpl::SpreadTimeline(const SampleQuery& query,
                                                            const Steps& steps,
                                                            const CancelToken& cancel) {
  constexpr std::size_t kFew = 100'000;
  const SelectionNumber selection(query);
  const std::string from =
      fmt::format("FROM {} WHERE {}", PhysicalName(Table::kProfiles), SelectionCondition(query));
  StepSums sums(steps, query.range.to_ns);
  MemoryClaim held(cancel);
  std::size_t profiles = 0;
  const auto add_one = [&](const Columns& c, std::size_t row) -> Result<> {
    const std::uint64_t type = c[1].Uint(row);
    if (const auto at = selection.Find(c[0].U32(row), type)) {
      sums.Add({.dictionary = *at,
                .type = type,
                .series = c[2].U32(row),
                .time_ns = c[3].Int(row),
                .duration_ns = c[4].Int(row),
                .value = c[5].Int(row),
                .count = c[6].Int(row)});
    }
    return held.Resize(sums.bytes());
  };
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT {} AS selection, type, series, time, duration, total, n {} LIMIT {}",
                      selection.Sql(), from, kFew + 1),
          7, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            ++profiles;
            return add_one(c, row);
          }));
  if (profiles <= kFew) return sums.Take();
  (void)sums.Take();  // once more, all of them
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format("SELECT {} AS selection, type, series, max(time), max(duration), sum(total), "
                  "sum(n), first, if(first = last, 0, toUInt64(number) + 1) AS alone, count() FROM "
                  "(SELECT service, bucket, writer, type, series, number, time, duration, total, "
                  "n, {} {}) GROUP BY selection, type, series, first, alone",
                  selection.Sql(), StepsOf(steps, query.range.to_ns), from),
      10, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        const std::uint64_t type = c[1].Uint(row);
        if (c[8].Uint(row) != 0) return add_one(c, row);
        if (const auto at = selection.Find(c[0].U32(row), type)) {
          sums.AddWithin({*at, type, c[2].U32(row), c[7].Int(row) * steps.width_ns + steps.phase_ns,
                          c[5].Int(row), c[6].Int(row), c[9].Int(row), c[3].Int(row)});
        }
        return {};
      }));
  return sums.Take();
}

Result<std::vector<ProfileSum>> ReaderImpl::SumProfiles(const SampleQuery& query,
                                                        const CancelToken& cancel) {
  std::vector<ProfileSum> rows;
  if (query.selections.empty()) return rows;
  const SelectionNumber selection(query);
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format("SELECT selection, profile, kind, own, began, duration, value_sum, n_sum FROM "
                  "(SELECT {0} AS selection, profile, any(type) AS kind, any(series) AS own, "
                  "any(time) AS began, sum(value) AS value_sum, sum(n) AS n_sum FROM {1} WHERE {2} "
                  "GROUP BY selection, profile) AS sums ANY LEFT JOIN (SELECT {0} AS selection, "
                  "number AS profile, duration FROM {3} WHERE {4}) AS profiles USING (selection, "
                  "profile)",
                  selection.Sql(), PhysicalName(Table::kSamples), SelectionCondition(query),
                  PhysicalName(Table::kProfiles), SelectionCondition(AboutProfiles(query))),
      8, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        const std::uint64_t type = c[2].Uint(row);
        if (const auto at = selection.Find(c[0].U32(row), type)) {
          rows.push_back({*at, type, c[3].U32(row), c[1].U32(row), c[4].Int(row), c[5].Int(row),
                          c[6].Int(row), c[7].Int(row)});
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
                      "{}))) FROM {} WHERE {} GROUP BY selection, type",
                      selection.Sql(), kNsPerDay * 365, PhysicalName(Table::kProfiles),
                      SelectionCondition(query)),
          4, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            if (const auto at = selection.Find(c[0].U32(row), c[1].Uint(row)))
              rows.push_back({*at, c[2].Int(row), c[3].Int(row)});
            return {};
          }));
  return rows;
}

}  // namespace wherefore::store
