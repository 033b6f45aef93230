// Reader: services, types, label sets, and sums over stacks.
#include "store/reader.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "store/dictionary.h"
#include "store/number_rows.h"
#include "store/query_rows.h"
#include "store/schema.h"
#include "store/selection_number.h"

namespace wherefore::store {

std::unique_ptr<Reader> MakeReader(Transport& transport, QueryLimits limits,
                                   const std::atomic<std::uint64_t>& generation) {
  return std::make_unique<ReaderImpl>(transport, limits, generation);
}

ReaderImpl::ReaderImpl(Transport& transport, QueryLimits limits,
                       const std::atomic<std::uint64_t>& generation)
    : transport_(transport),
      limits_(limits),
      generation_(generation),
      query_seconds_(
          Metrics::Global().GetHistogram("wherefore_query_seconds", "Time of one engine query.")) {}

Result<> ReaderImpl::Run(const std::string& sql, std::size_t columns, const CancelToken& cancel,
                         const RowFunction& row) {
  const std::int64_t begin = MonotonicNs();
  auto result = QueryRows(transport_, sql, columns, limits_, cancel, row);
  query_seconds_.ObserveNs(MonotonicNs() - begin);
  return result;
}

namespace {

std::string StackCondition(const StackSet& set) {
  std::string out;
  if (set.all_below) out += fmt::format(" AND stack < {}", *set.all_below);
  if (set.stacks.empty()) return set.all_below ? out : " AND 0";
  return out + fmt::format(" AND stack {}IN ({})", set.all_below ? "NOT " : "",
                           fmt::join(set.stacks, ","));
}

// What of each selection is wanted. Lists of tuples, not one condition after the other: the engine
// takes any number of rows, but not of expressions.
std::string PartCondition(const SampleQuery& query) {
  NumberRows whole{"UInt64", "UInt32", "UInt32"};
  NumberRows by_series{"UInt64", "UInt32", "UInt32", "UInt32"};
  std::vector<std::string> any;
  for (const SeriesSelection& selection : query.selections) {
    const DictionaryKey& key = selection.dictionary;
    if (selection.stacks) {  // asked for one dictionary at a time
      any.push_back(fmt::format(
          "((service, bucket, writer) = ({},{},{}){}{})", key.service, key.bucket, key.writer,
          selection.series.empty()
              ? ""
              : fmt::format(" AND series IN ({})", fmt::join(selection.series, ",")),
          StackCondition(*selection.stacks)));
      continue;
    }
    if (selection.series.empty()) whole.Add({key.service, key.bucket, key.writer});
    for (const std::uint32_t series : selection.series)
      by_series.Add({key.service, key.bucket, key.writer, series});
  }
  if (!whole.empty()) any.push_back("(service, bucket, writer) IN " + whole.Sql());
  if (!by_series.empty()) any.push_back("(service, bucket, writer, series) IN " + by_series.Sql());
  return fmt::format("({})", fmt::join(any, " OR "));
}

}  // namespace

std::string SelectionCondition(const SampleQuery& query, When when) {
  std::set<std::uint64_t> services;
  std::set<std::uint32_t> buckets;
  std::set<std::uint32_t> writers;
  std::set<std::uint64_t> types;
  bool all_types = false;
  bool some_only = false;
  for (const SeriesSelection& selection : query.selections) {
    services.insert(selection.dictionary.service);
    buckets.insert(selection.dictionary.bucket);
    writers.insert(selection.dictionary.writer);
    types.insert(selection.types.begin(), selection.types.end());
    all_types = all_types || selection.types.empty();
    some_only = some_only || !selection.series.empty() || selection.stacks;
  }
  NumberRows names{"UInt64"};
  for (const std::uint64_t service : services) names.Add({service});
  std::string where =
      fmt::format("tenant = {} AND bucket IN ({}) AND service IN {} AND writer IN ({})",
                  query.tenant, fmt::join(buckets, ","), names.Sql(), fmt::join(writers, ","));
  if (when == When::kInRange) {
    where += fmt::format(" AND time >= {} AND time < {}", query.range.from_ns, query.range.to_ns);
  }
  if (!all_types) where += fmt::format(" AND type IN ({})", fmt::join(types, ","));
  if (!some_only) return where;
  return where + " AND " + PartCondition(query);
}

std::string SumColumns(std::string_view column) {
  return fmt::format("sum({0}), sum(toFloat64({0}))", column);
}

std::int64_t ReadSum(const std::vector<NativeColumn>& columns, std::size_t first, std::size_t row) {
  constexpr double kHalf = 9223372036854775808.0;  // 2^63, half of what a sum that wraps is off by
  const std::int64_t sum = columns[first].Int(row);
  const double about = columns[first + 1].Float(row);
  if (std::abs(about - static_cast<double>(sum)) < kHalf) return sum;
  return about < 0 ? INT64_MIN : INT64_MAX;
}

SampleQuery AboutProfiles(SampleQuery query) {
  for (SeriesSelection& selection : query.selections) {
    selection.series.clear();
    selection.stacks.reset();
  }
  return query;
}

Result<std::vector<ServiceRow>> ReaderImpl::Services(std::uint32_t tenant, TimeRange range,
                                                     const CancelToken& cancel) {
  return ReadServices(tenant, range, "signal = 1", cancel);
}

Result<std::vector<ServiceRow>> ReaderImpl::ServicesOfAnySignal(std::uint32_t tenant,
                                                                TimeRange range,
                                                                const CancelToken& cancel) {
  return ReadServices(tenant, range, "signal IN (1, 2)", cancel);
}

Result<std::vector<ServiceRow>> ReaderImpl::ReadServices(std::uint32_t tenant, TimeRange range,
                                                         std::string_view signals,
                                                         const CancelToken& cancel) {
  std::vector<ServiceRow> rows;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT service, bucket, writer, any(name) FROM {} WHERE tenant = {} AND "
                      "{} AND {} "
                      "GROUP BY service, bucket, writer ORDER BY bucket, writer, service",
                      PhysicalName(Table::kServices), tenant, signals,
                      BucketCondition(range.from_ns, range.to_ns)),
          4, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            rows.push_back({{tenant, c[0].Uint(row), c[1].U32(row), c[2].U32(row)},
                            std::string(c[3].Text(row))});
            return {};
          }));
  return rows;
}

Result<std::vector<TypeRow>> ReaderImpl::Types(const std::vector<DictionaryKey>& dictionaries,
                                               const CancelToken& cancel) {
  std::vector<TypeRow> rows;
  if (dictionaries.empty()) return rows;
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format(
          "SELECT tenant, service, bucket, writer, type, any(name), any(sample_type), "
          "any(sample_unit), "
          "any(period_type), any(period_unit), any(period), any(count_rule), any(stands_for_cpu) "
          "FROM {} "
          "WHERE {} "
          "GROUP BY tenant, service, bucket, writer, type ORDER BY bucket, service, writer, type",
          PhysicalName(Table::kTypes), InDictionaries(dictionaries)),
      13, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        TypeRow& type = rows.emplace_back();
        type.dictionary = {c[0].U32(row), c[1].Uint(row), c[2].U32(row), c[3].U32(row)};
        type.type = c[4].Uint(row);
        type.details = {std::string(c[5].Text(row)),
                        std::string(c[6].Text(row)),
                        std::string(c[7].Text(row)),
                        std::string(c[8].Text(row)),
                        std::string(c[9].Text(row)),
                        c[10].Int(row),
                        static_cast<profile::CountRule>(c[11].U32(row)),
                        c[12].U32(row) != 0};
        return {};
      }));
  return rows;
}

namespace {

// Columns from `column` on: series, parent, names, values. `rows` begins with id `first`.
SeriesRow& AddSeries(const std::vector<NativeColumn>& c, std::size_t column, std::size_t row,
                     std::uint32_t first, std::vector<SeriesRow>& rows) {
  const std::uint32_t number = c[column].U32(row);
  // A lost one has no labels; none may have those of another.
  for (std::uint32_t id = first + static_cast<std::uint32_t>(rows.size()); id < number; ++id)
    rows.emplace_back().series = id;
  SeriesRow& series = rows.emplace_back();
  series.series = number;
  series.parent = c[column + 1].U32(row);
  const NativeColumn& names = c[column + 2];
  for (std::size_t i = names.ArrayBegin(row); i < names.ArrayEnd(row); ++i)
    series.labels.emplace_back(names.Text(i), c[column + 3].Text(i));
  return series;
}

}  // namespace

Result<std::vector<SeriesRow>> ReaderImpl::Series(const DictionaryKey& dictionary,
                                                  std::uint32_t first, const CancelToken& cancel) {
  std::vector<SeriesRow> rows;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT series, parent, names, `values`, encoded FROM {} WHERE {} AND series "
                      ">= {} ORDER BY series",
                      PhysicalName(Table::kSeries), KeyCondition(dictionary), first),
          5, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            AddSeries(c, 0, row, first, rows).encoded = c[4].Text(row);
            return {};
          }));
  return rows;
}

Result<std::map<DictionaryKey, std::vector<SeriesRow>>> ReaderImpl::SeriesOf(
    const std::vector<DictionaryKey>& dictionaries, const CancelToken& cancel) {
  std::map<DictionaryKey, std::vector<SeriesRow>> rows;
  if (dictionaries.empty()) return rows;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT tenant, service, bucket, writer, series, parent, names, `values` "
                      "FROM {} WHERE {} ORDER BY tenant, service, bucket, writer, series",
                      PhysicalName(Table::kSeries), InDictionaries(dictionaries)),
          8, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            const DictionaryKey key = {c[0].U32(row), c[1].Uint(row), c[2].U32(row), c[3].U32(row)};
            AddSeries(c, 4, row, 1, rows[key]);
            return {};
          }));
  return rows;
}

Result<bool> ReaderImpl::NamesFile(const std::vector<DictionaryKey>& dictionaries,
                                   const std::string& file, const CancelToken& cancel) {
  if (dictionaries.empty()) return false;
  bool found = false;
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT function FROM {} WHERE file = {} AND {} LIMIT 1",
                      PhysicalName(Table::kFunctions), Quote(file), InDictionaries(dictionaries)),
          1, cancel, [&](const Columns&, std::size_t) -> Result<> {
            found = true;
            return {};
          }));
  return found;
}

namespace {

// The type of a row, known beforehand where only one is asked for: one key less to group by.
std::string TypeOf(const SampleQuery& query) {
  std::set<std::uint64_t> types;
  for (const SeriesSelection& selection : query.selections) {
    if (selection.types.empty()) return "type";
    types.insert(selection.types.begin(), selection.types.end());
  }
  return types.size() == 1 ? fmt::format("toUInt64({})", *types.begin()) : "type";
}

}  // namespace

Result<std::vector<StackSumBySeries>> ReaderImpl::SumStacksBySeries(const SampleQuery& query,
                                                                    const CancelToken& cancel) {
  std::vector<StackSumBySeries> sums;
  if (query.selections.empty()) return sums;
  const SelectionNumber selection(query);
  WHEREFORE_RETURN_IF_ERROR(Run(
      fmt::format("SELECT {} AS selection, {} AS kind, stack, series, {}, sum(n) FROM {} WHERE {} "
                  "GROUP BY selection, kind, stack, series",
                  selection.Sql(), TypeOf(query), SumColumns("value"),
                  PhysicalName(Table::kSamples), SelectionCondition(query)),
      7, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
        const std::uint64_t type = c[1].Uint(row);
        if (const auto at = selection.Find(c[0].Uint(row), type)) {
          sums.push_back(
              {{*at, type, c[2].U32(row), ReadSum(c, 4, row), c[6].Int(row)}, c[3].U32(row)});
        }
        return {};
      }));
  return sums;
}

Result<std::vector<StackSum>> ReaderImpl::SumStacks(const SampleQuery& query,
                                                    const CancelToken& cancel) {
  std::vector<StackSum> sums;
  if (query.selections.empty()) return sums;
  const SelectionNumber selection(query);
  WHEREFORE_RETURN_IF_ERROR(
      Run(fmt::format("SELECT {} AS selection, {} AS kind, stack, {}, sum(n) FROM {} WHERE {} "
                      "GROUP BY selection, kind, stack",
                      selection.Sql(), TypeOf(query), SumColumns("value"),
                      PhysicalName(Table::kSamples), SelectionCondition(query)),
          6, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            const std::uint64_t type = c[1].Uint(row);
            if (const auto at = selection.Find(c[0].Uint(row), type)) {
              sums.push_back({*at, type, c[2].U32(row), ReadSum(c, 3, row), c[5].Int(row)});
            }
            return {};
          }));
  return sums;
}

Result<EngineStatistics> ReaderImpl::Statistics(const CancelToken& cancel) {
  EngineStatistics statistics;
  WHEREFORE_RETURN_IF_ERROR(
      Run("SELECT table, sum(bytes_on_disk), sum(rows) FROM system.parts WHERE active AND database "
          "= currentDatabase() "
          "GROUP BY table ORDER BY table",
          3, cancel, [&](const Columns& c, std::size_t row) -> Result<> {
            std::string table(c[0].Text(row));
            table = table.substr(0, table.rfind("_v"));
            statistics.bytes_on_disk.emplace_back(table, c[1].Uint(row));
            statistics.rows.emplace_back(std::move(table), c[2].Uint(row));
            return {};
          }));
  return statistics;
}

}  // namespace wherefore::store
