// Reader: when profiles were taken, and sums over stacks in which each profile has its weight.
#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "profile/observed_time.h"
#include "store/reader.h"
#include "store/schema.h"
#include "store/selection_number.h"

namespace wherefore::store {
namespace {

// Profiles that begin within so many nanoseconds and last as long overlap: the engine puts them
// together, and a day of a service is some thousand rows instead of one per profile.
constexpr std::int64_t kTogetherNs = 4'000'000'000;

}  // namespace

// Few profiles are read one by one, as for a timeline; many are put together by the engine.
Result<std::vector<SeenRow>> ReaderImpl::Seen(const SampleQuery& query, SeenAs as,
                                              const CancelToken& cancel) {
  std::vector<SeenRow> rows;
  if (query.selections.empty()) return rows;
  const SelectionNumber selection(query);
  const std::string each = fmt::format(
      "SELECT {} AS selection, type, series, time, if(duration > 0 AND duration <= {}, duration, "
      "0) AS lasts FROM {} WHERE {}",
      selection.Sql(), profile::kLongestProfileNs, PhysicalName(Table::kProfiles),
      SelectionCondition(query));
  std::size_t read = 0;
  const auto add = [&](const Columns& c, std::size_t row) -> Result<> {
    ++read;
    const std::uint64_t type = c[1].Uint(row);
    if (as == SeenAs::kTogether && c[4].Int(row) > 0) {
      rows.push_back({.begin_ns = c[3].Int(row), .length_ns = c[4].Int(row)});
    } else if (const auto at = selection.Find(c[0].Uint(row), type)) {
      rows.push_back({*at, type, c[2].U32(row), c[3].Int(row), c[4].Int(row)});
    }
    return {};
  };
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("{} LIMIT {}", each, kFewProfiles + 1), 5, cancel, add));
  if (read <= kFewProfiles) return rows;
  rows.clear();
  // Only those that do not say how long they took need to be of somebody.
  const std::string_view whose =
      as == SeenAs::kTogether ? "if(lasts = 0, selection, 0)" : "selection";
  const std::string_view kind = as == SeenAs::kTogether ? "if(lasts = 0, type, 0)" : "type";
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT whose, kind, own, min(time), max(time + lasts) - min(time) FROM "
                      "(SELECT {2} AS whose, {3} AS kind, time, lasts, if(lasts = 0, series, "
                      "toUInt32(0)) AS own, lasts >= {0} AS many, if(many, intDiv(time, {0}), "
                      "time) AS at FROM ({1})) GROUP BY whose, kind, own, many, at",
                      kTogetherNs, each, whose, kind),
          5, cancel, add));
  return rows;
}

Result<> ReaderImpl::EachTotal(const SampleQuery& query, std::size_t limit,
                               const CancelToken& cancel,
                               const std::function<Result<>(const ProfileSum&)>& visit) {
  const SelectionNumber selection(query);
  return Run(fmt::format("SELECT {} AS selection, type, series, number, time, duration, total, n "
                         "FROM {} WHERE {}{}",
                         selection.Sql(), PhysicalName(Table::kProfiles), SelectionCondition(query),
                         limit == 0 ? "" : fmt::format(" LIMIT {}", limit)),
             8, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
               const std::uint64_t type = c[1].Uint(row);
               const auto at = selection.Find(c[0].Uint(row), type);
               if (!at) return {};
               return visit({*at, type, c[2].U32(row), c[3].U32(row), c[4].Int(row), c[5].Int(row),
                             c[6].Int(row), c[7].Int(row)});
             });
}

Result<std::vector<ProfileSum>> ReaderImpl::ProfileTotals(const SampleQuery& query,
                                                          const CancelToken& cancel) {
  std::vector<ProfileSum> rows;
  if (query.selections.empty()) return rows;
  WHEREFORE_RETURN_IF_ERROR(EachTotal(query, 0, cancel, [&](const ProfileSum& p) -> Result<> {
    rows.push_back(p);
    return {};
  }));
  return rows;
}

Result<std::vector<NewestRow>> ReaderImpl::Newest(const SampleQuery& query,
                                                  const CancelToken& cancel) {
  std::vector<NewestRow> rows;
  if (query.selections.empty()) return rows;
  const SelectionNumber selection(query);
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT {} AS selection, type, series, argMax(number, time), max(time), "
                      "argMax(duration, time), argMax(total, time), argMax(n, time), "
                      "intDiv(max(time) - min(time), greatest(toInt64(count()) - 1, 1)) FROM {} "
                      "WHERE {} GROUP BY selection, type, series",
                      selection.Sql(), PhysicalName(Table::kProfiles), SelectionCondition(query)),
          9, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            const std::uint64_t type = c[1].Uint(row);
            if (const auto at = selection.Find(c[0].Uint(row), type)) {
              rows.push_back({{*at, type, c[2].U32(row), c[3].U32(row), c[4].Int(row),
                               c[5].Int(row), c[6].Int(row), c[7].Int(row)},
                              c[8].Int(row)});
            }
            return {};
          }));
  return rows;
}

// Weights travel in the statement, so many at a time; of a dictionary with more than that only the
// time of those is read.
Result<std::vector<WeighedStack>> ReaderImpl::WeighStacks(const SampleQuery& query,
                                                          std::vector<ProfileWeight> weights,
                                                          const CancelToken& cancel) {
  constexpr std::size_t kAtOnce = 20'000;
  std::vector<WeighedStack> sums;
  std::ranges::sort(weights, {}, [](const ProfileWeight& w) {
    return std::tuple(w.dictionary, w.time_ns, w.number);
  });
  for (std::size_t first = 0; first < weights.size(); first += kAtOnce) {
    WHEREFORE_RETURN_IF_ERROR(WeighSome(
        query, std::span(weights).subspan(first, std::min(kAtOnce, weights.size() - first)), sums,
        cancel));
  }
  return sums;
}

Result<> ReaderImpl::WeighSome(const SampleQuery& query, std::span<const ProfileWeight> weights,
                               std::vector<WeighedStack>& sums, const CancelToken& cancel) {
  SampleQuery some{.tenant = query.tenant,
                   .range = {std::ranges::min(weights, {}, &ProfileWeight::time_ns).time_ns,
                             std::ranges::max(weights, {}, &ProfileWeight::time_ns).time_ns + 1},
                   .selections = {}};
  std::vector<std::uint32_t> asked;  // by place in `some`: the place in `query`
  for (const ProfileWeight& w : weights) {
    if (!asked.empty() && asked.back() == w.dictionary) continue;
    asked.push_back(w.dictionary);
    some.selections.push_back(query.selections[w.dictionary]);
  }
  const SelectionNumber selection(some);
  std::string keys;
  std::string values;
  std::uint64_t dictionary = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const ProfileWeight& w = weights[i];
    if (i == 0 || w.dictionary != weights[i - 1].dictionary)
      dictionary = std::uint64_t{selection.Of(query.selections[w.dictionary].dictionary)} << 32U;
    fmt::format_to(std::back_inserter(keys), "{}{}", i == 0 ? "" : ",", dictionary + w.number);
    fmt::format_to(std::back_inserter(values), "{}{}", i == 0 ? "" : ",", w.weight);
  }
  return Run(
      fmt::format(
          "SELECT selection, type, stack, sum(toFloat64(value) * weight), {}, sum(n) FROM "
          "(SELECT {} AS selection, type, stack, value, n, transform(toUInt64(selection) * "
          "4294967296 + profile, CAST([{}] AS Array(UInt64)), CAST([{}] AS Array(UInt64)), "
          "toUInt64(0)) AS weight FROM {} WHERE {}) WHERE weight > 0 GROUP BY selection, type, "
          "stack",
          SumColumns("value"), selection.Sql(), keys, values, PhysicalName(Table::kSamples),
          SelectionCondition(some)),
      7, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        const std::uint64_t type = c[1].Uint(row);
        if (const auto at = selection.Find(c[0].Uint(row), type))
          sums.push_back({asked[*at], type, c[2].U32(row), c[3].Float(row), ReadSum(c, 4, row),
                          c[6].Int(row)});
        return {};
      });
}

}  // namespace wherefore::store
