// StackTries: queries over many dictionaries. One by one each costs four reads of the store,
// some 15 ms; hundreds together cost hardly more.
#include <algorithm>

#include "query/stack_tries.h"

namespace wherefore::query {
namespace {

constexpr std::uint64_t kSmallFrames = 50'000;       // of all stacks of a dictionary
constexpr std::uint64_t kPortionFrames = 4'000'000;  // in memory at once
constexpr std::size_t kPortionDictionaries = 2000;

}  // namespace

std::vector<const StackTries::Values*> StackTries::Unknown(std::span<const Values> all) {
  std::vector<const Values*> unknown;
  for (const Values& one : all) {
    const std::shared_ptr<StackTrie> trie = Find(ServiceOf(one.dictionary));
    if (!trie || !trie->HasDictionary(one.dictionary)) unknown.push_back(&one);
  }
  return unknown;
}

Result<std::vector<StackTries::Portion>> StackTries::Portions(
    const std::vector<const Values*>& unknown, std::uint64_t most_frames,
    const CancelToken& cancel) {
  std::vector<store::DictionaryKey> keys;
  for (const Values* one : unknown) keys.push_back(one->dictionary);
  WHEREFORE_ASSIGN_OR_RETURN(const auto frames, source_.reader.FramesOf(keys, cancel));
  std::vector<Portion> portions;
  std::uint64_t in_portion = 0;
  for (const Values* one : unknown) {
    const auto found = frames.find(one->dictionary);
    const std::uint64_t size = found == frames.end() ? 0 : found->second;
    if (size > most_frames) continue;
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

Result<std::map<store::DictionaryKey, store::DictionaryRows>> StackTries::ReadPortion(
    const Portion& portion, MemoryClaim& held, const CancelToken& cancel) {
  std::vector<store::DictionaryKey> keys;
  for (const Values* one : portion) keys.push_back(one->dictionary);
  std::map<store::DictionaryKey, store::DictionaryRows> rows;
  std::size_t bytes = 0;
  {
    const MemoryScope scope(cancel);
    const auto before = cancel.memory_used();
    WHEREFORE_ASSIGN_OR_RETURN(rows, source_.reader.Dictionaries(keys, cancel));
    bytes = static_cast<std::size_t>(cancel.memory_used() - before);
  }
  WHEREFORE_RETURN_IF_ERROR(held.Resize(bytes));
  return rows;
}

Result<> StackTries::ReadTogether(const std::vector<const Values*>& unknown,
                                  const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto portions, Portions(unknown, kPortionFrames, cancel));
  for (const Portion& portion : portions) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    MemoryClaim held(cancel);
    WHEREFORE_ASSIGN_OR_RETURN(auto rows, ReadPortion(portion, held, cancel));
    for (const Values* one : portion) {
      const ServiceKey service = ServiceOf(one->dictionary);
      const Result<> filled =
          Get(service)->Fill(NeedOf(*one), std::move(rows[one->dictionary]), source_, cancel);
      if (!filled) Keep(service, false);
      WHEREFORE_RETURN_IF_ERROR(filled);
    }
  }
  return {};
}

Result<> StackTries::AddSmallOnes(TrieSums& sums, const std::vector<const Values*>& unknown,
                                  ByService& by_service, const CancelToken& cancel) {
  const auto trie = std::make_shared<StackTrie>();
  WHEREFORE_ASSIGN_OR_RETURN(const auto portions, Portions(unknown, kSmallFrames, cancel));
  for (const Portion& portion : portions) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    MemoryClaim held(cancel);
    WHEREFORE_ASSIGN_OR_RETURN(auto rows, ReadPortion(portion, held, cancel));
    const std::size_t before = trie->bytes();
    for (const Values* one : portion) {
      WHEREFORE_RETURN_IF_ERROR(
          trie->Fill(NeedOf(*one), std::move(rows[one->dictionary]), source_, cancel));
    }
    trie->KeepStacksOnly();
    WHEREFORE_RETURN_IF_ERROR(cancel.Charge(trie->bytes() - std::min(before, trie->bytes())));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t at, sums.AddTrie(TrieReading(trie)));
  for (const Portion& portion : portions) {
    for (const Values* one : portion) {
      sums.Add(at, one->dictionary, one->stacks, one->side);
      std::erase(by_service[ServiceOf(one->dictionary)], one);
    }
  }
  std::erase_if(by_service, [](const auto& service) { return service.second.empty(); });
  return {};
}

}  // namespace wherefore::query
