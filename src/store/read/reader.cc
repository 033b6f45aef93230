// Reader: services, types, label sets, and sums over stacks.
#include "store/read/reader.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/engine/schema.h"
#include "store/read/key_columns.h"
#include "store/read/number_rows.h"
#include "store/read/selection_number.h"
#include "store/read/stack_columns.h"
#include "store/write/dictionary.h"

namespace wherefore::store {

std::unique_ptr<Reader> MakeReader(Transport& transport, QueryLimits limits,
                                   const std::atomic<std::uint64_t>& generation,
                                   const Tiers& tiers) {
  return std::make_unique<ReaderImpl>(transport, limits, generation, tiers);
}

ReaderImpl::ReaderImpl(Transport& transport, QueryLimits limits,
                       const std::atomic<std::uint64_t>& generation, const Tiers& tiers)
    : transport_(transport),
      limits_(limits),
      generation_(generation),
      tiers_(tiers),
      query_seconds_(
          Metrics::Global().GetHistogram("wherefore_query_seconds", "Time of one engine query.")) {}

namespace {

std::string StackCondition(const StackSet& set) {
  std::string out;
  if (set.all_below) out += fmt::format(" AND stack < {}", *set.all_below);
  if (set.stacks.empty()) return set.all_below ? out : " AND 0";
  return out + fmt::format(" AND stack {}IN ({})", set.all_below ? "NOT " : "",
                           fmt::join(set.stacks, ","));
}

// A column of which each selection wants all values or some. Lists of tuples, not one condition
// after the other: the engine takes any number of rows, but not of expressions.
class ValuesOfSelections {
 public:
  explicit ValuesOfSelections(std::string_view column) : column_(column) {}

  void AddAll(const DictionaryKey& key) { all_.Add({key.service, key.bucket, key.writer}); }
  void Add(const DictionaryKey& key, std::uint32_t value) {
    some_.Add({key.service, key.bucket, key.writer, value});
  }
  [[nodiscard]] bool empty() const { return all_.empty() && some_.empty(); }
  [[nodiscard]] bool any_value() const { return some_.empty(); }
  [[nodiscard]] std::string Sql() const {
    std::vector<std::string> any;
    if (!all_.empty()) any.push_back("(service, bucket, writer) IN " + all_.Sql());
    if (!some_.empty()) {
      any.push_back(fmt::format("(service, bucket, writer, {}) IN {}", column_, some_.Sql()));
    }
    return fmt::format("({})", fmt::join(any, " OR "));
  }

 private:
  std::string_view column_;
  NumberRows all_{"UInt64", "UInt32", "UInt32"};
  NumberRows some_{"UInt64", "UInt32", "UInt32", "UInt32"};
};

// What of each selection is wanted.
std::string PartCondition(const SampleQuery& query) {
  ValuesOfSelections series("series");
  ValuesOfSelections stacks("stack");
  std::vector<std::string> any;
  for (const SeriesSelection& selection : query.selections) {
    const DictionaryKey& key = selection.dictionary;
    // A dictionary with many stacks is asked for by itself.
    if (selection.stacks && (selection.stacks->all_below || query.selections.size() == 1)) {
      any.push_back(fmt::format(
          "((service, bucket, writer) = ({},{},{}){}{})", key.service, key.bucket, key.writer,
          selection.series.empty()
              ? ""
              : fmt::format(" AND series IN ({})", fmt::join(selection.series, ",")),
          StackCondition(*selection.stacks)));
      continue;
    }
    if (selection.stacks && selection.stacks->stacks.empty()) continue;
    if (selection.series.empty()) series.AddAll(key);
    for (const std::uint32_t one : selection.series) series.Add(key, one);
    if (!selection.stacks) stacks.AddAll(key);
    if (!selection.stacks) continue;
    for (const std::uint32_t stack : selection.stacks->stacks) stacks.Add(key, stack);
  }
  if (!series.empty()) {
    any.push_back(stacks.any_value() ? series.Sql()
                                     : fmt::format("({} AND {})", series.Sql(), stacks.Sql()));
  }
  return any.empty() ? "0" : fmt::format("({})", fmt::join(any, " OR "));
}

// A single value is compared instead of looked up in a set, which is a tenth of a sum over one
// service.
template <typename T>
std::string Among(std::string_view column, const std::set<T>& values) {
  if (values.size() == 1) return fmt::format("{} = {}", column, *values.begin());
  NumberRows rows{"UInt64"};
  for (const T value : values) rows.Add({value});
  return fmt::format("{} IN {}", column, rows.Sql());
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
  std::string where =
      fmt::format("tenant = {} AND {} AND {} AND {}", query.tenant, Among("bucket", buckets),
                  Among("service", services), Among("writer", writers));
  if (when == When::kInRange) {
    where += fmt::format(" AND time >= {} AND time < {}", query.range.from_ns, query.range.to_ns);
  }
  if (!all_types) where += " AND " + Among("type", types);
  if (!some_only) return where;
  return where + " AND " + PartCondition(query);
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
  return All(Columns<ServiceRow>(In(&ServiceRow::dictionary, KeyColumnsOf(tenant)),
                                 Col("any(name)", &ServiceRow::name)),
             fmt::format("FROM {} WHERE tenant = {} AND {} AND {} GROUP BY service, bucket, writer "
                         "ORDER BY bucket, writer, service",
                         PhysicalName(Table::kServices), tenant, signals,
                         BucketCondition(range.from_ns, range.to_ns)),
             cancel);
}

Result<std::vector<TypeRow>> ReaderImpl::Types(const std::vector<DictionaryKey>& dictionaries,
                                               const CancelToken& cancel) {
  using profile::ProfileType;
  constexpr auto kDetails = Columns<ProfileType>(
      Col("any(name)", &ProfileType::name), Col("any(sample_type)", &ProfileType::sample_type),
      Col("any(sample_unit)", &ProfileType::sample_unit),
      Col("any(period_type)", &ProfileType::period_type),
      Col("any(period_unit)", &ProfileType::period_unit), Col("any(period)", &ProfileType::period),
      Col("any(count_rule)", &ProfileType::count_rule),
      Col("any(stands_for_cpu)", &ProfileType::stands_for_cpu));
  constexpr auto kType =
      Columns<TypeRow>(In(&TypeRow::dictionary, kKeyColumns), Col("type", &TypeRow::type),
                       In(&TypeRow::details, kDetails));
  if (dictionaries.empty()) return std::vector<TypeRow>();
  return All(
      kType,
      fmt::format(
          "FROM {} WHERE {} "
          "GROUP BY tenant, service, bucket, writer, type ORDER BY bucket, service, writer, type",
          PhysicalName(Table::kTypes), InDictionaries(dictionaries)),
      cancel);
}

namespace {

constexpr auto kSeries =
    Columns<SeriesRow>(Col("series", &SeriesRow::series), Col("parent", &SeriesRow::parent),
                       Pairs("names", "`values`", &SeriesRow::labels));
constexpr auto kWholeSeries = Columns<SeriesRow>(kSeries, Col("encoded", &SeriesRow::encoded));

// `rows` begins with id `first`. A lost one has no labels; none may have those of another.
void AddSeries(SeriesRow&& series, std::uint32_t first, std::vector<SeriesRow>& rows) {
  for (std::uint32_t id = first + static_cast<std::uint32_t>(rows.size()); id < series.series; ++id)
    rows.emplace_back().series = id;
  rows.push_back(std::move(series));
}

}  // namespace

Result<std::vector<SeriesRow>> ReaderImpl::Series(const DictionaryKey& dictionary,
                                                  std::uint32_t first, const CancelToken& cancel) {
  std::vector<SeriesRow> rows;
  WHEREFORE_RETURN_IF_ERROR(
      Run(kWholeSeries,
          fmt::format("FROM {} WHERE {} AND series >= {} ORDER BY series",
                      PhysicalName(Table::kSeries), KeyCondition(dictionary), first),
          cancel, [&](SeriesRow&& series) { AddSeries(std::move(series), first, rows); }));
  return rows;
}

Result<std::map<DictionaryKey, std::vector<SeriesRow>>> ReaderImpl::SeriesOf(
    const std::vector<DictionaryKey>& dictionaries, SeriesParts parts, const CancelToken& cancel) {
  struct Row {
    DictionaryKey dictionary;
    SeriesRow series;
  };
  constexpr auto kKey = In(&Row::dictionary, kKeyColumns);
  std::map<DictionaryKey, std::vector<SeriesRow>> rows;
  if (dictionaries.empty()) return rows;
  const std::string from =
      fmt::format("FROM {} WHERE {} ORDER BY tenant, service, bucket, writer, series",
                  PhysicalName(Table::kSeries), InDictionaries(dictionaries));
  const auto add = [&](Row&& row) { AddSeries(std::move(row.series), 1, rows[row.dictionary]); };
  WHEREFORE_RETURN_IF_ERROR(
      parts == SeriesParts::kLabels
          ? Run(Columns<Row>(kKey, In(&Row::series, kSeries)), from, cancel, add)
          : Run(Columns<Row>(kKey, In(&Row::series, kWholeSeries)), from, cancel, add));
  return rows;
}

Result<bool> ReaderImpl::NamesFile(const std::vector<DictionaryKey>& dictionaries,
                                   const std::string& file, const CancelToken& cancel) {
  if (dictionaries.empty()) return false;
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::vector<std::uint32_t> functions,
      RunColumn<std::uint32_t>(
          fmt::format("SELECT function FROM {} WHERE file = {} AND {} LIMIT 1",
                      PhysicalName(Table::kFunctions), Quote(file), InDictionaries(dictionaries)),
          cancel));
  return !functions.empty();
}

Result<std::vector<StackSumBySeries>> ReaderImpl::SumStacksBySeries(const SampleQuery& query,
                                                                    const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<StackSumBySeries>();
  const SelectionNumber selection(query);
  return AllSelected(selection, selection.Column(),
                     Columns<StackSumBySeries>(In(&StackSumBySeries::sum, StackColumns(query)),
                                               Col("series", &StackSumBySeries::series)),
                     fmt::format("FROM {} WHERE {} GROUP BY selection, kind, stack, series",
                                 PhysicalName(Table::kSamples), SelectionCondition(query)),
                     cancel, &StackSumBySeries::sum);
}

Result<std::vector<StackSum>> ReaderImpl::SumStacks(const SampleQuery& query,
                                                    const CancelToken& cancel) {
  if (query.selections.empty()) return std::vector<StackSum>();
  const SelectionNumber selection(query);
  return AllSelected(selection, selection.Column(), StackColumns(query),
                     fmt::format("FROM {} WHERE {} GROUP BY selection, kind, stack",
                                 PhysicalName(Table::kSamples), SelectionCondition(query)),
                     cancel);
}

Result<EngineStatistics> ReaderImpl::Statistics(const CancelToken& cancel) {
  struct Row {
    std::string table;
    std::uint64_t bytes = 0;
    std::uint64_t rows = 0;
  };
  constexpr auto kColumns =
      Columns<Row>(Col("table", &Row::table), Col("sum(bytes_on_disk)", &Row::bytes),
                   Col("sum(rows)", &Row::rows));
  EngineStatistics statistics;
  WHEREFORE_RETURN_IF_ERROR(Run(kColumns,
                                "FROM system.parts WHERE active AND database = currentDatabase() "
                                "GROUP BY table ORDER BY table",
                                cancel, [&](const Row& row) {
                                  const std::string table =
                                      row.table.substr(0, row.table.rfind("_v"));
                                  statistics.bytes_on_disk.emplace_back(table, row.bytes);
                                  statistics.rows.emplace_back(table, row.rows);
                                }));
  return statistics;
}

}  // namespace wherefore::store
