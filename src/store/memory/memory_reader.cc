// MemoryReader: rows come in; services, types, label sets, and what there is.
#include "store/memory/memory_reader.h"

#include <algorithm>
#include <tuple>

#include "store/engine/schema.h"
#include "store/memory/scan_rows.h"

namespace wherefore::store::memory {

Result<> MemoryReader::Add(const RowSet& rows) {
  WriterLock lock(mutex_);
  const auto added = tables_.Add(rows);
  for (const Rows& table : rows.tables()) {
    if (Definition(table.table()).is_dictionary && !table.empty()) generation_.fetch_add(1);
  }
  return added;
}

Result<std::vector<ServiceRow>> MemoryReader::ServicesOf(std::uint32_t tenant, TimeRange range,
                                                         std::uint32_t most_signal,
                                                         const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  const BucketRange buckets = BucketsOf(range.from_ns, range.to_ns);
  using Order = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;
  std::map<Order, ServiceRow> found;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.services, cancel, [&](const ServiceName& service) {
    const DictionaryKey& key = service.key;
    if (key.tenant != tenant || service.signal > most_signal || !buckets.Has(key.bucket)) return;
    found.try_emplace({key.bucket, key.writer, key.service}, ServiceRow{key, service.name});
  }));
  return Charged(std::move(found), cancel);
}

Result<std::vector<ServiceRow>> MemoryReader::Services(std::uint32_t tenant, TimeRange range,
                                                       const CancelToken& cancel) {
  return ServicesOf(tenant, range, 1, cancel);
}

Result<std::vector<ServiceRow>> MemoryReader::ServicesOfAnySignal(std::uint32_t tenant,
                                                                  TimeRange range,
                                                                  const CancelToken& cancel) {
  return ServicesOf(tenant, range, 2, cancel);
}

Result<std::vector<TypeRow>> MemoryReader::Types(const std::vector<DictionaryKey>& dictionaries,
                                                 const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  using Order =
      std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint64_t, std::uint32_t>;
  std::map<Order, TypeRow> found;
  for (const DictionaryKey& key : dictionaries) {
    const auto names = tables_.names.find(key);
    if (names == tables_.names.end()) continue;
    for (const TypeRow& type : names->second.types)
      found.try_emplace({key.bucket, key.service, key.writer, type.type, key.tenant}, type);
  }
  return Charged(std::move(found), cancel);
}

namespace {

// In order and without gaps: a lost one has no labels.
std::vector<SeriesRow> SeriesFrom(std::uint32_t first, const std::vector<SeriesRow>& series) {
  std::vector<SeriesRow> rows;
  for (const SeriesRow& row : series) {
    if (row.series < first) continue;
    for (auto id = first + static_cast<std::uint32_t>(rows.size()); id < row.series; ++id)
      rows.emplace_back().series = id;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

Result<std::vector<SeriesRow>> MemoryReader::Series(const DictionaryKey& dictionary,
                                                    std::uint32_t first,
                                                    const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  const auto names = tables_.names.find(dictionary);
  if (names == tables_.names.end()) return std::vector<SeriesRow>();
  return Charged(SeriesFrom(first, names->second.series), cancel);
}

Result<std::map<DictionaryKey, std::vector<SeriesRow>>> MemoryReader::SeriesOf(
    const std::vector<DictionaryKey>& dictionaries, SeriesParts parts, const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  std::map<DictionaryKey, std::vector<SeriesRow>> all;
  for (const DictionaryKey& key : dictionaries) {
    const auto names = tables_.names.find(key);
    if (names == tables_.names.end() || names->second.series.empty()) continue;
    WHEREFORE_ASSIGN_OR_RETURN(all[key], Charged(SeriesFrom(1, names->second.series), cancel));
    if (parts == SeriesParts::kEncodedToo) continue;
    for (SeriesRow& row : all[key]) row.encoded.clear();
  }
  return all;
}

Result<EngineStatistics> MemoryReader::Statistics(const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  EngineStatistics statistics;
  for (const auto& [table, rows] : tables_.rows) {
    statistics.bytes_on_disk.emplace_back(table, 0);
    statistics.rows.emplace_back(table, rows);
  }
  return statistics;
}

}  // namespace wherefore::store::memory
