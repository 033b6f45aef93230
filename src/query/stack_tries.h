// StackTries: the tries of all services, kept between queries, and how a query's values get
// onto them.
//
// Bounded by bytes; the least recently used goes first. Queries share tries: each holds its own
// for reading, in the order of their keys, so that no two wait for each other.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "base/result.h"
#include "query/stack_trie.h"
#include "query/trie_sums.h"

namespace wherefore::query {

class StackTries {
 public:
  // `symbolizer` may be null.
  StackTries(store::Reader& reader, symbols::Symbolizer* symbolizer, std::size_t max_bytes)
      : source_{reader, symbolizer}, max_bytes_(max_bytes) {}

  struct Values {
    store::DictionaryKey dictionary;
    std::span<const StackValue> stacks;
    Side side = Side::kAfter;
  };
  // Lays values onto the tries, reading what is still unknown from the store.
  Result<TrieSums> Sum(std::span<const Values> all, const CancelToken& cancel);
  Result<std::vector<bool>> Holding(const FunctionName& function, const store::DictionaryKey& key,
                                    std::span<const std::uint32_t> stacks,
                                    const CancelToken& cancel);
  Result<store::StackSet> Matching(const LensSearch& wanted, const store::DictionaryKey& key,
                                   const CancelToken& cancel);
  Result<bool> NamesFile(const store::DictionaryKey& key, const std::string& file,
                         const CancelToken& cancel);
  // After data was deleted ids may be gone; start over.
  void Clear() EXCLUDES(mutex_);

 private:
  struct ServiceKey {
    std::uint32_t tenant = 0;
    std::uint64_t service = 0;
    auto operator<=>(const ServiceKey&) const = default;
  };
  static ServiceKey ServiceOf(const store::DictionaryKey& key) { return {key.tenant, key.service}; }
  static StackTrie::Need NeedOf(const Values& values);
  using ByService = std::map<ServiceKey, std::vector<const Values*>>;

  std::shared_ptr<StackTrie> Get(const ServiceKey& key) EXCLUDES(mutex_);
  // Null: there is none.
  std::shared_ptr<StackTrie> Find(const ServiceKey& key) EXCLUDES(mutex_);

  // many_tries.cc: dictionaries that are not known yet, read together.
  std::vector<const Values*> Unknown(std::span<const Values> all) EXCLUDES(mutex_);
  using Portion = std::vector<const Values*>;
  Result<std::vector<Portion>> Portions(const std::vector<const Values*>& unknown,
                                        std::uint64_t most_frames, const CancelToken& cancel);
  Result<std::map<store::DictionaryKey, store::DictionaryRows>> ReadPortion(
      const Portion& portion, MemoryClaim& held, const CancelToken& cancel);
  // Into the tries that are kept.
  Result<> ReadTogether(const std::vector<const Values*>& unknown, const CancelToken& cancel);
  // Into a trie of this query, whose values are added at once: queries over everything push
  // out nobody. What is too large for that stays in `by_service`.
  Result<> AddSmallOnes(TrieSums& sums, const std::vector<const Values*>& unknown,
                        ByService& by_service, const CancelToken& cancel);

  static std::vector<StackTrie::Need> NeedsOf(const std::vector<const Values*>& values);
  Result<std::shared_ptr<StackTrie>> Know(const ServiceKey& key,
                                          const std::vector<const Values*>& values,
                                          const CancelToken& cancel) EXCLUDES(mutex_);
  // Without mutex_: it is never taken while tries are held.
  Result<> AddService(TrieSums& sums, const std::shared_ptr<StackTrie>& trie,
                      const std::vector<const Values*>& values, const CancelToken& cancel) const;
  // Keeps the tries of a query that went well, within the limit.
  void Keep(const ServiceKey& key, bool well) EXCLUDES(mutex_);
  void Evict() REQUIRES(mutex_);

  struct Entry {
    std::shared_ptr<StackTrie> trie;
    std::uint64_t last_use = 0;
  };
  const TrieSource source_;
  const std::size_t max_bytes_;
  Mutex mutex_;
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
  std::map<ServiceKey, Entry> tries_ GUARDED_BY(mutex_);
  MemoryHold memory_ GUARDED_BY(mutex_);  // of theirs
};

}  // namespace wherefore::query
