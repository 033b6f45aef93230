#include "query/stack_tries.h"

#include <algorithm>

namespace wherefore::query {

std::shared_ptr<StackTrie> StackTries::Get(const ServiceKey& key) {
  MutexLock lock(mutex_);
  Entry& entry = tries_[key];
  if (!entry.trie) entry.trie = std::make_shared<StackTrie>();
  entry.last_use = ++uses_;
  return entry.trie;
}

std::shared_ptr<StackTrie> StackTries::Find(const ServiceKey& key) {
  MutexLock lock(mutex_);
  const auto it = tries_.find(key);
  return it == tries_.end() ? nullptr : it->second.trie;
}

void StackTries::Keep(const ServiceKey& key, bool well) {
  MutexLock lock(mutex_);
  if (!well) tries_.erase(key);
  Evict();
}

StackTrie::Need StackTries::NeedOf(const Values& values) {
  StackTrie::Need need{.dictionary = values.dictionary};
  for (const StackValue& v : values.stacks) need.highest = std::max(need.highest, v.stack);
  return need;
}

std::vector<StackTrie::Need> StackTries::NeedsOf(const std::vector<const Values*>& values) {
  std::vector<StackTrie::Need> needs;
  for (const Values* one : values) needs.push_back(NeedOf(*one));
  return needs;
}

Result<std::shared_ptr<StackTrie>> StackTries::Know(const ServiceKey& key,
                                                    const std::vector<const Values*>& values,
                                                    const CancelToken& cancel) {
  std::shared_ptr<StackTrie> trie = Get(key);
  const Result<> known = trie->Know(NeedsOf(values), source_, cancel);
  Keep(key, static_cast<bool>(known));
  if (!known) return known.error();
  return trie;
}

Result<> StackTries::AddService(TrieSums& sums, const std::shared_ptr<StackTrie>& trie,
                                const std::vector<const Values*>& values,
                                const CancelToken& cancel) const {
  const std::vector<StackTrie::Need> needs = NeedsOf(values);
  while (true) {
    TrieReading reading(trie);
    if (reading.Knows(needs)) {
      WHEREFORE_ASSIGN_OR_RETURN(const std::size_t at, sums.AddTrie(std::move(reading)));
      for (const Values* one : values) sums.Add(at, one->dictionary, one->stacks, one->side);
      return {};
    }
    reading.Release();  // it started over, or was pushed out meanwhile
    WHEREFORE_RETURN_IF_ERROR(trie->Know(needs, source_, cancel));
  }
}

Result<TrieSums> StackTries::Sum(std::span<const Values> all, const CancelToken& cancel) {
  const bool difference =
      std::ranges::any_of(all, [](const Values& v) { return v.side == Side::kBefore; });
  TrieSums sums(cancel, difference ? 2 : 1);
  ByService by_service;
  for (const Values& one : all) by_service[ServiceOf(one.dictionary)].push_back(&one);
  const Unknown unknown = FindUnknown(all);
  if (unknown.read == Unknown::Read::kKept)
    WHEREFORE_RETURN_IF_ERROR(ReadTogether(unknown, cancel));
  if (unknown.read == Unknown::Read::kApart)
    WHEREFORE_RETURN_IF_ERROR(AddSmallOnes(sums, unknown, by_service, cancel));
  // First everything is read, which may take long; then tries are held.
  std::vector<std::shared_ptr<StackTrie>> tries;
  for (const auto& [key, values] : by_service) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    WHEREFORE_ASSIGN_OR_RETURN(tries.emplace_back(), Know(key, values, cancel));
  }
  for (std::size_t i = 0; const auto& [key, values] : by_service)
    WHEREFORE_RETURN_IF_ERROR(AddService(sums, tries[i++], values, cancel));
  return sums;
}

Result<bool> StackTries::NamesFile(const store::DictionaryKey& key, const std::string& file,
                                   const CancelToken& cancel) {
  const ServiceKey service = ServiceOf(key);
  auto result = Get(service)->NamesFile(file, key, source_, cancel);
  Keep(service, static_cast<bool>(result));
  return result;
}

void StackTries::Evict() {
  std::size_t total = 0;
  for (const auto& [key, entry] : tries_) total += entry.trie->bytes();
  // A single one that is larger helps where there is room for more than it.
  const auto too_much = [&]() REQUIRES(mutex_) {
    return total > max_bytes_ && (tries_.size() > 1 || !MemoryBudget::Process().Fits(4 * total));
  };
  while (too_much()) {
    const auto oldest = std::min_element(
        tries_.begin(), tries_.end(),
        [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
    total -= oldest->second.trie->bytes();
    tries_.erase(oldest);
  }
  memory_.Set(total);
}

void StackTries::Clear() {
  MutexLock lock(mutex_);
  tries_.clear();
  memory_.Set(0);
}

}  // namespace wherefore::query
