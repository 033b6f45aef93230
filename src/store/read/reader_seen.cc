// Reader: when profiles were taken, and sums over stacks in which each profile has its weight.
#include <algorithm>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

#include "profile/observed_time.h"
#include "store/engine/schema.h"
#include "store/read/reader.h"
#include "store/read/selection_number.h"

namespace wherefore::store {
namespace {

// Profiles that begin within so many nanoseconds and last as long overlap: the engine puts them
// together, and a day of a service is some thousand rows instead of one per profile.
constexpr std::int64_t kTogetherNs = 4'000'000'000;

}  // namespace

// Few profiles are read one by one, as for a timeline; many are put together by the engine.
Result<std::vector<SeenRow>> ReaderImpl::Seen(const SampleQuery& query, SeenAs as,
                                              const CancelToken& cancel) {
  using Row = NumberedRow<SeenRow>;
  std::vector<SeenRow> rows;
  if (query.selections.empty()) return rows;
  const SelectionNumber selection(query);
  std::size_t read = 0;
  const auto add = [&](Row&& row) {
    ++read;
    SeenRow& seen = row.row;
    if (as == SeenAs::kTogether && seen.length_ns > 0) {
      rows.push_back({.begin_ns = seen.begin_ns, .length_ns = seen.length_ns});
    } else if (const auto index = selection.Find(row.number, seen.type)) {
      seen.dictionary = *index;
      rows.push_back(seen);
    }
  };
  const auto each = Columns<Row>(
      Col(selection.Column(), &Row::number), Col("type", &Row::row, &SeenRow::type),
      Col("series", &Row::row, &SeenRow::series), Col("time", &Row::row, &SeenRow::begin_ns),
      Col(fmt::format("if(duration > 0 AND duration <= {}, duration, 0) AS lasts",
                      profile::kLongestProfileNs),
          &Row::row, &SeenRow::length_ns));
  const std::string from =
      fmt::format("FROM {} WHERE {}", PhysicalName(Table::kProfiles), SelectionCondition(query));
  WHEREFORE_RETURN_IF_ERROR(
      Run(each, fmt::format("{} LIMIT {}", from, kFewProfiles + 1), cancel, add));
  if (read <= kFewProfiles) return rows;
  rows.clear();
  constexpr auto kTogether = Columns<Row>(
      Col("whose", &Row::number), Col("kind", &Row::row, &SeenRow::type),
      Col("own", &Row::row, &SeenRow::series), Col("min(time)", &Row::row, &SeenRow::begin_ns),
      Col("max(time + lasts) - min(time)", &Row::row, &SeenRow::length_ns));
  // Only those that do not say how long they took need to be of somebody.
  const std::string_view whose =
      as == SeenAs::kTogether ? "if(lasts = 0, selection, 0)" : "selection";
  const std::string_view kind = as == SeenAs::kTogether ? "if(lasts = 0, type, 0)" : "type";
  WHEREFORE_RETURN_IF_ERROR(
      Run(kTogether,
          fmt::format("FROM (SELECT {2} AS whose, {3} AS kind, time, lasts, if(lasts = 0, series, "
                      "toUInt32(0)) AS own, lasts >= {0} AS many, if(many, intDiv(time, {0}), "
                      "time) AS at FROM (SELECT {1})) GROUP BY whose, kind, own, many, at",
                      kTogetherNs, each.Sql() + " " + from, whose, kind),
          cancel, add));
  return rows;
}

Result<> ReaderImpl::EachTotal(const SampleQuery& query, std::size_t limit,
                               const CancelToken& cancel,
                               const std::function<Result<>(const ProfileSum&)>& visit) {
  using Row = ProfileSum;
  const SelectionNumber selection(query);
  return RunSelected(
      selection, selection.Column(),
      Columns<Row>(Col("type", &Row::type), Col("series", &Row::series),
                   Col("number", &Row::number), Col("time", &Row::time_ns),
                   Col("duration", &Row::duration_ns), Col("total", &Row::value),
                   Col("n", &Row::count)),
      fmt::format("FROM {} WHERE {}{}", PhysicalName(Table::kProfiles), SelectionCondition(query),
                  limit == 0 ? "" : fmt::format(" LIMIT {}", limit)),
      cancel, visit);
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
  using Row = ProfileSum;
  constexpr auto kProfile =
      Columns<Row>(Col("type", &Row::type), Col("series", &Row::series),
                   Col("argMax(number, time)", &Row::number), Col("max(time)", &Row::time_ns),
                   Col("argMax(duration, time)", &Row::duration_ns),
                   Col("argMax(total, time)", &Row::value), Col("argMax(n, time)", &Row::count));
  constexpr auto kNewest =
      Columns<NewestRow>(In(&NewestRow::profile, kProfile),
                         Col("intDiv(max(time) - min(time), greatest(toInt64(count()) - 1, 1))",
                             &NewestRow::distance_ns));
  if (query.selections.empty()) return std::vector<NewestRow>();
  const SelectionNumber selection(query);
  return AllSelected(selection, selection.Column(), kNewest,
                     fmt::format("FROM {} WHERE {} GROUP BY selection, type, series",
                                 PhysicalName(Table::kProfiles), SelectionCondition(query)),
                     cancel, &NewestRow::profile);
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
  const auto columns = Columns<WeighedStack>(
      Col("type", &WeighedStack::type), Col("stack", &WeighedStack::stack),
      Col("sum(toFloat64(value) * weight)", &WeighedStack::weighed),
      Sum("value", &WeighedStack::value), Col("sum(n)", &WeighedStack::count));
  return RunSelected(
      selection, "selection", columns,
      fmt::format("FROM (SELECT {}, type, stack, value, n, transform(toUInt64(selection) * "
                  "4294967296 + profile, CAST([{}] AS Array(UInt64)), CAST([{}] AS "
                  "Array(UInt64)), toUInt64(0)) AS weight FROM {} WHERE {}) WHERE weight > 0 "
                  "GROUP BY selection, type, stack",
                  selection.Column(), keys, values, PhysicalName(Table::kSamples),
                  SelectionCondition(some)),
      cancel, [&](WeighedStack stack) {
        stack.dictionary = asked[stack.dictionary];
        sums.push_back(stack);
      });
}

}  // namespace wherefore::store
