// Reader: hours, and what they were rolled to.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/engine/schema.h"
#include "store/hours/hours.h"
#include "store/read/key_columns.h"
#include "store/read/number_rows.h"
#include "store/read/reader.h"
#include "store/read/selection_number.h"
#include "store/read/stack_columns.h"

namespace wherefore::store {
namespace {

constexpr auto kNow = Columns<HourContent>(Col("count()", &HourContent::profiles),
                                           Col("max(number)", &HourContent::through),
                                           Col("sum(samples)", &HourContent::samples));
constexpr auto kRolled =
    Columns<HourContent>(Col("argMax(profiles, revision)", &HourContent::profiles),
                         Col("argMax(through, revision)", &HourContent::through),
                         Col("argMax(samples, revision)", &HourContent::samples));

}  // namespace

Result<std::vector<HourRow>> ReadHours(Transport& transport, const HoursWhere& where,
                                       const QueryLimits& limits, const CancelToken& cancel) {
  using Key = std::pair<DictionaryKey, std::uint32_t>;
  std::map<Key, HourRow> hours;
  const std::string of_profiles = fmt::format("toUInt32(intDiv(time, {})) AS in_hour", kNsPerHour);
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(transport,
                Columns<HourRow>(In(&HourRow::dictionary, kKeyColumns),
                                 Col(of_profiles, &HourRow::hour), In(&HourRow::now, kNow)),
                fmt::format("FROM {} WHERE {} GROUP BY tenant, service, bucket, writer, in_hour",
                            PhysicalName(Table::kProfiles), where.profiles),
                limits, cancel,
                [&](const HourRow& row) { hours.emplace(Key(row.dictionary, row.hour), row); }));
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(transport,
                Columns<HourRow>(In(&HourRow::dictionary, kKeyColumns), Col("hour", &HourRow::hour),
                                 Col("max(revision) AS newest", &HourRow::revision),
                                 In(&HourRow::rolled, kRolled),
                                 Col("argMax(time, revision)", &HourRow::rolled_ns)),
                fmt::format("FROM {} WHERE {} GROUP BY tenant, service, bucket, writer, hour",
                            PhysicalName(Table::kHourRolls), where.rolls),
                limits, cancel, [&](const HourRow& row) {
                  const auto at = hours.find(Key(row.dictionary, row.hour));
                  if (at == hours.end()) return;
                  at->second.revision = row.revision;
                  at->second.rolled = row.rolled;
                  at->second.rolled_ns = row.rolled_ns;
                }));
  std::vector<HourRow> rows;
  rows.reserve(hours.size());
  for (const auto& [key, row] : hours) rows.push_back(row);
  return rows;
}

Result<std::vector<HourRow>> ReaderImpl::Hours(const SampleQuery& query,
                                               const CancelToken& cancel) {
  const auto [first, last] = HoursOf(query.range);
  if (query.selections.empty() || first > last) return std::vector<HourRow>();
  SampleQuery whole = AboutProfiles(query);
  whole.range = {StartOfHour(first), StartOfHour(last + 1)};
  for (SeriesSelection& selection : whole.selections) selection.types.clear();
  const HoursWhere where{SelectionCondition(whole),
                         fmt::format("{} AND hour >= {} AND hour <= {}",
                                     SelectionCondition(whole, When::kAny), first, last)};
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<HourRow> rows,
                             Timed([&] { return ReadHours(transport_, where, limits_, cancel); }));
  // Conditions name services, days and writers, each by itself.
  std::set<DictionaryKey> wanted;
  for (const SeriesSelection& selection : whole.selections) wanted.insert(selection.dictionary);
  std::erase_if(rows, [&](const HourRow& row) { return !wanted.contains(row.dictionary); });
  return rows;
}

Result<std::vector<StackSum>> ReaderImpl::SumHours(const HourSumQuery& query,
                                                   const CancelToken& cancel) {
  if (query.parts.empty() || query.query.selections.empty()) return std::vector<StackSum>();
  SampleQuery of = AboutProfiles(query.query);
  NumberRows parts{"UInt64", "UInt32", "UInt32", "UInt32", "UInt32"};
  for (const auto& [key, hour, revision] : query.parts)
    parts.Add({key.service, key.bucket, key.writer, hour, revision});
  std::string where = fmt::format("{} AND (service, bucket, writer, hour, revision) IN {}",
                                  SelectionCondition(of, When::kAny), parts.Sql());
  if (query.versions) {
    std::vector<std::string> quoted;
    for (const std::string& version : *query.versions) quoted.push_back(Quote(version));
    if (quoted.empty()) return std::vector<StackSum>();
    where += fmt::format(" AND version IN ({})", fmt::join(quoted, ","));
  }
  const SelectionNumber selection(of);
  return AllSelected(selection, selection.Column(), StackColumns(of),
                     fmt::format("FROM {} WHERE {} GROUP BY selection, kind, stack",
                                 PhysicalName(Table::kStackHours), where),
                     cancel);
}

Result<std::vector<SampleCount>> ReaderImpl::CountSamples(const SampleQuery& query,
                                                          const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<SampleCount>();
  struct Row {
    DictionaryKey dictionary;
    std::int64_t samples = 0;
  };
  std::map<DictionaryKey, std::uint32_t> at;
  for (std::size_t i = query.selections.size(); i-- > 0;)
    at[query.selections[i].dictionary] = static_cast<std::uint32_t>(i);
  std::vector<SampleCount> counts;
  WHEREFORE_RETURN_IF_ERROR(Run(
      Columns<Row>(In(&Row::dictionary, KeyColumnsOf(query.tenant)), Col("count()", &Row::samples)),
      fmt::format("FROM {} WHERE {} GROUP BY service, bucket, writer",
                  PhysicalName(Table::kSamples), SelectionCondition(query)),
      cancel, [&](const Row& row) {
        const auto found = at.find(row.dictionary);
        if (found != at.end()) counts.push_back({found->second, row.samples});
      }));
  return counts;
}

}  // namespace wherefore::store
