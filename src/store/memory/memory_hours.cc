// MemoryReader: hours, and what they were rolled to.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "store/hours/hours.h"
#include "store/memory/memory_reader.h"
#include "store/memory/scan_rows.h"
#include "store/memory/selected.h"

namespace wherefore::store::memory {

Result<std::vector<HourRow>> MemoryReader::Hours(const SampleQuery& query,
                                                 const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  const auto [first, last] = HoursOf(query.range);
  std::set<DictionaryKey> wanted;
  for (const SeriesSelection& selection : query.selections) {
    wanted.insert(selection.dictionary);
  }
  const auto is_wanted = [&](DictionaryKey key, std::int64_t hour) {
    return key.tenant == query.tenant && hour >= first && hour <= last && wanted.contains(key);
  };
  std::map<std::pair<DictionaryKey, std::uint32_t>, HourRow> hours;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    const std::int64_t hour = p.row.time_ns / kNsPerHour;
    if (!is_wanted(p.row.dictionary, hour)) return;
    HourRow& row = hours[{p.row.dictionary, static_cast<std::uint32_t>(hour)}];
    row.dictionary = p.row.dictionary;
    row.hour = static_cast<std::uint32_t>(hour);
    ++row.now.profiles;
    row.now.through = std::max(row.now.through, p.row.number);
    row.now.samples += p.row.samples;
  }));
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.hour_rolls, cancel, [&](const StoredRoll& roll) {
    const auto at = hours.find({roll.key, roll.hour});
    if (at == hours.end() || at->second.revision > roll.revision) return;
    at->second.revision = roll.revision;
    at->second.rolled = roll.content;
    at->second.rolled_ns = roll.time_ns;
  }));
  return Charged(std::move(hours), cancel);
}

Result<std::vector<HourRow>> MemoryReader::EveryHour() {
  std::map<std::uint32_t, std::set<DictionaryKey>> keys;  // by tenant
  {
    ReaderLock lock(mutex_);
    for (const StoredProfile& p : tables_.profiles)
      keys[p.row.dictionary.tenant].insert(p.row.dictionary);
  }
  std::vector<HourRow> all;
  for (const auto& [tenant, of_tenant] : keys) {
    SampleQuery query{.tenant = tenant, .range = {0, INT64_MAX}, .selections = {}};
    for (const DictionaryKey& key : of_tenant) query.selections.push_back({key, {}, {}});
    WHEREFORE_ASSIGN_OR_RETURN(const auto hours, Hours(query, {}));
    all.insert(all.end(), hours.begin(), hours.end());
  }
  return all;
}

Result<std::vector<StackSum>> MemoryReader::SumHours(const HourSumQuery& query,
                                                     const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  SampleQuery of = query.query;
  for (SeriesSelection& selection : of.selections) {
    selection.series.clear();
    selection.stacks.reset();
  }
  const Selected selected(of);
  std::set<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>>
      parts;
  for (const auto& [key, hour, revision] : query.parts)
    parts.emplace(key.service, key.bucket, key.writer, hour, revision);
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, std::pair<StackSum, Sum>> sums;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.stack_hours, cancel, [&](const StoredStackHour& s) {
    const auto at = selected.Of(s);
    if (!at || !parts.contains({s.key.service, s.key.bucket, s.key.writer, s.hour, s.revision}))
      return;
    if (query.versions && std::ranges::find(*query.versions, s.version) == query.versions->end())
      return;
    auto& [row, value] = sums[{*at, s.type, s.stack}];
    row = {*at, s.type, s.stack, 0, row.count + s.count};
    value.Add(s.value);
  }));
  std::vector<StackSum> rows;
  for (auto& [key, sum] : sums) {
    sum.first.value = sum.second.value();
    rows.push_back(sum.first);
  }
  return Charged(std::move(rows), cancel);
}

Result<std::vector<SampleCount>> MemoryReader::CountSamples(const SampleQuery& query,
                                                            const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  const Selected selected(query);
  std::map<std::uint32_t, SampleCount> counts;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.samples, cancel, [&](const StoredSample& s) {
    if (!selected.Matches(About(s))) return;
    for (std::uint32_t i = 0; i < query.selections.size(); ++i) {
      DictionaryKey key = query.selections[i].dictionary;
      key.tenant = query.tenant;
      if (key != s.key) continue;
      counts[i].dictionary = i;
      ++counts[i].samples;
      break;
    }
  }));
  return Charged(std::move(counts), cancel);
}

}  // namespace wherefore::store::memory
