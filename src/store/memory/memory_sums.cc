// MemoryReader: sums over stacks, and over the samples of a profile.
#include <algorithm>
#include <map>
#include <tuple>

#include "store/memory/memory_reader.h"
#include "store/memory/scan_rows.h"
#include "store/memory/selected.h"

namespace wherefore::store::memory {
namespace {

// Of a group: its row, and the sum that is still to be put into it.
template <typename Row>
struct Group {
  Row row;
  Sum value;
};

// Puts the sums where `value` says.
template <typename Key, typename Row, typename Value>
Result<std::vector<Row>> Finish(std::map<Key, Group<Row>> groups, const CancelToken& cancel,
                                Value&& value) {
  std::vector<Row> rows;
  rows.reserve(groups.size());
  for (auto& [key, group] : groups) {
    value(group.row) = group.value.value();
    rows.push_back(std::move(group.row));
  }
  return Charged(std::move(rows), cancel);
}

}  // namespace

Result<std::vector<StackSum>> MemoryReader::SumStacks(const SampleQuery& query,
                                                      const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  const Selected selected(query);
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, Group<StackSum>> groups;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.samples, cancel, [&](const StoredSample& s) {
    const auto at = selected.Of(s);
    if (!at) return;
    auto& [row, value] = groups[{*at, s.type, s.stack}];
    row = {*at, s.type, s.stack, 0, row.count + s.count};
    value.Add(s.value);
  }));
  return Finish(std::move(groups), cancel, [](StackSum& row) -> auto& { return row.value; });
}

Result<std::vector<StackSumBySeries>> MemoryReader::SumStacksBySeries(const SampleQuery& query,
                                                                      const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  const Selected selected(query);
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t, std::uint32_t>,
           Group<StackSumBySeries>>
      groups;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.samples, cancel, [&](const StoredSample& s) {
    const auto at = selected.Of(s);
    if (!at) return;
    auto& [row, value] = groups[{*at, s.type, s.stack, s.series}];
    row = {{*at, s.type, s.stack, 0, row.sum.count + s.count}, s.series};
    value.Add(s.value);
  }));
  return Finish(std::move(groups), cancel,
                [](StackSumBySeries& row) -> auto& { return row.sum.value; });
}

Result<std::vector<WeighedStack>> MemoryReader::WeighStacks(const SampleQuery& query,
                                                            std::vector<ProfileWeight> weights,
                                                            const CancelToken& cancel) {
  if (weights.empty()) return std::vector<WeighedStack>();
  // Weights say which profiles count: only their selections are asked for, and the range is theirs.
  SampleQuery some{.tenant = query.tenant,
                   .range = {std::ranges::min(weights, {}, &ProfileWeight::time_ns).time_ns,
                             std::ranges::max(weights, {}, &ProfileWeight::time_ns).time_ns + 1},
                   .selections = {}};
  std::map<std::uint32_t, std::map<std::uint32_t, std::int64_t>> by_profile;  // of each selection
  for (const ProfileWeight& w : weights) by_profile[w.dictionary][w.number] = w.weight;
  std::vector<std::uint32_t> asked;  // by place in `some`: the place in `query`
  for (const auto& [selection, numbers] : by_profile) {
    asked.push_back(selection);
    some.selections.push_back(query.selections[selection]);
  }
  const Selected selected(some);
  ReaderLock lock(mutex_);
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, Group<WeighedStack>> groups;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.samples, cancel, [&](const StoredSample& s) {
    const auto at = selected.Of(s);
    if (!at) return;
    const auto& numbers = by_profile.at(asked[*at]);
    const auto weight = numbers.find(s.profile);
    if (weight == numbers.end() || weight->second <= 0) return;
    auto& [row, value] = groups[{*at, s.type, s.stack}];
    row.dictionary = asked[*at];
    row.type = s.type;
    row.stack = s.stack;
    row.weighed += static_cast<double>(s.value) * static_cast<double>(weight->second);
    row.count += s.count;
    value.Add(s.value);
  }));
  return Finish(std::move(groups), cancel, [](WeighedStack& row) -> auto& { return row.value; });
}

Result<std::vector<ProfileSum>> MemoryReader::SumProfiles(const SampleQuery& query, bool by_series,
                                                          const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  const Selected selected(query);
  // By selection, profile and, if they are told apart, label set.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Group<ProfileSum>> groups;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.samples, cancel, [&](const StoredSample& s) {
    const auto at = selected.Of(s);
    if (!at) return;
    const auto [found, fresh] = groups.try_emplace({*at, s.profile, by_series ? s.series : 0});
    auto& [row, value] = found->second;
    if (fresh) row = {*at, s.type, s.series, s.profile, s.time_ns, 0, 0, 0};
    row.count += s.count;
    value.Add(s.value);
  }));
  std::map<std::pair<DictionaryKey, std::uint32_t>, std::int64_t> durations;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& p) {
    durations.try_emplace({p.row.dictionary, p.row.number}, p.row.duration_ns);
  }));
  for (auto& [key, group] : groups) {
    DictionaryKey dictionary = query.selections[group.row.dictionary].dictionary;
    dictionary.tenant = query.tenant;
    const auto found = durations.find({dictionary, group.row.number});
    if (found != durations.end()) group.row.duration_ns = found->second;
  }
  return Finish(std::move(groups), cancel, [](ProfileSum& row) -> auto& { return row.value; });
}

}  // namespace wherefore::store::memory
