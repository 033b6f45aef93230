// StackTries: the tries of all services, kept between queries, and how a query's values get
// onto them.
//
// Bounded by bytes; the least recently used goes first. Queries share tries: each holds its own
// for reading, in the order of their keys, so that no two wait for each other.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "base/result.h"
#include "query/stack_paths.h"
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
  // Reads what is still unknown of these together, for queries over one after the other.
  Result<> Prepare(std::span<const Values> all, const CancelToken& cancel);
  // Lays values onto the tries, reading what is still unknown from the store.
  Result<TrieSums> Sum(std::span<const Values> all, const CancelToken& cancel);
  // The paths of these stacks (stack_paths.cc); their values do not matter.
  Result<StackPaths> PathsOf(std::span<const Values> all, const CancelToken& cancel);
  // For the stacks of each of these whether the function is on them; `visit` gets its place.
  Result<> EachHolding(const FunctionName& function, std::span<const Values> all,
                       const std::function<Result<>(std::size_t, const std::vector<bool>&)>& visit,
                       const CancelToken& cancel);
  // All stacks of each of these dictionaries with a function that is searched for.
  Result<> EachMatching(const LensSearch& wanted,
                        std::span<const store::DictionaryKey> dictionaries,
                        const std::function<Result<>(std::size_t, store::StackSet&&)>& visit,
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

  // many_tries.cc: dictionaries that are not known yet.
  struct Unknown {
    std::vector<const Values*> values;
    std::vector<store::DictionaryKey> keys;  // of theirs
    // One by one; together, into the tries that are kept; or, where a query is about so many
    // services that it would push out all others, into tries of its own.
    enum class Read : std::uint8_t { kOneByOne, kKept, kApart } read = Read::kOneByOne;
  };
  Unknown FindUnknown(std::span<const Values> all) EXCLUDES(mutex_);
  // Into the tries that are kept.
  Result<> ReadTogether(const Unknown& unknown, const CancelToken& cancel);
  // Into a trie of this query, whose values are added at once. What is too large for that stays in
  // `by_service`.
  Result<> AddSmallOnes(TrieSums& sums, const Unknown& unknown, ByService& by_service,
                        const CancelToken& cancel);
  // Shows `visit` each with a trie that knows it, or learns it from the store.
  using Visit = std::function<Result<>(std::size_t, StackTrie&)>;
  Result<> Each(std::span<const Values> all, const Visit& visit, const CancelToken& cancel);
  // The same for those that are small; the others are not among what is returned.
  Result<std::set<const Values*>> VisitSmallOnes(std::span<const Values> all,
                                                 const Unknown& unknown, const Visit& visit,
                                                 const CancelToken& cancel);

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
