// StackTries: questions over many dictionaries. One by one each costs four questions to the store,
// some 15 ms; a hundred small ones together cost hardly more.
#include <set>

#include "query/stack_tries.h"

namespace wherefore::query {
namespace {

constexpr std::size_t kMany = 64;                  // fewer are worth keeping
constexpr std::uint64_t kSmallFrames = 50'000;     // of all stacks of a dictionary
constexpr std::uint64_t kPortionFrames = 500'000;  // in memory at once
constexpr std::size_t kPortionDictionaries = 2000;

}  // namespace

Result<std::vector<StackTries::Portion>> StackTries::SmallOnes(std::span<const Values> all,
                                                               const CancelToken& cancel) {
  std::vector<Portion> portions;
  std::vector<const Values*> unknown;
  std::vector<store::DictionaryKey> keys;
  {
    MutexLock lock(mutex_);
    for (const Values& one : all) {
      if (!tries_.contains(one.dictionary)) unknown.push_back(&one);
    }
  }
  if (unknown.size() < kMany) return portions;
  for (const Values* one : unknown) keys.push_back(one->dictionary);
  WHEREFORE_ASSIGN_OR_RETURN(const auto frames, reader_.FramesOf(keys, cancel));
  std::uint64_t in_portion = 0;
  for (const Values* one : unknown) {
    const auto found = frames.find(one->dictionary);
    const std::uint64_t size = found == frames.end() ? 0 : found->second;
    if (size > kSmallFrames) continue;
    if (portions.empty() || in_portion + size > kPortionFrames ||
        portions.back().size() == kPortionDictionaries) {
      portions.emplace_back();
      in_portion = 0;
    }
    portions.back().push_back(one);
    in_portion += size;
  }
  return portions;
}

Result<> StackTries::AddPortion(profile::TreeBuilder& builder, const Portion& portion,
                                const CancelToken& cancel) {
  std::vector<store::DictionaryKey> keys;
  for (const Values* one : portion) keys.push_back(one->dictionary);
  std::map<store::DictionaryKey, store::DictionaryRows> rows;
  MemoryClaim held(cancel);  // unlike what the builder is charged for, rows go with the portion
  std::size_t bytes = 0;
  {
    const MemoryScope scope(cancel);
    const auto before = cancel.memory_used();
    WHEREFORE_ASSIGN_OR_RETURN(rows, reader_.Dictionaries(keys, cancel));
    bytes = static_cast<std::size_t>(cancel.memory_used() - before);
  }
  WHEREFORE_RETURN_IF_ERROR(held.Resize(bytes));
  for (const Values* one : portion) {
    StackTrie trie(one->dictionary);
    const auto found = rows.find(one->dictionary);
    if (found != rows.end())
      WHEREFORE_RETURN_IF_ERROR(trie.Fill(std::move(found->second), symbolizer_, cancel));
    WHEREFORE_RETURN_IF_ERROR(trie.AddTo(builder, one->stacks, reader_, symbolizer_, cancel));
  }
  return {};
}

Result<> StackTries::AddTo(profile::TreeBuilder& builder, std::span<const Values> all,
                           const CancelToken& cancel) {
  std::set<const Values*> done;
  WHEREFORE_ASSIGN_OR_RETURN(const auto portions, SmallOnes(all, cancel));
  for (const Portion& portion : portions) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    WHEREFORE_RETURN_IF_ERROR(AddPortion(builder, portion, cancel));
    done.insert(portion.begin(), portion.end());
  }
  for (const Values& one : all) {
    if (done.contains(&one)) continue;
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    WHEREFORE_RETURN_IF_ERROR(AddTo(builder, one.dictionary, one.stacks, cancel));
  }
  return {};
}

}  // namespace wherefore::query
