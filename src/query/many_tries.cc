// StackTries: queries over many dictionaries, read in portions (dictionary_portions.h).
#include <algorithm>
#include <set>

#include "query/dictionary_portions.h"
#include "query/stack_tries.h"

namespace wherefore::query {
namespace {

constexpr std::uint64_t kSmallFrames = 50'000;  // of all stacks of a dictionary

}  // namespace

StackTries::Unknown StackTries::FindUnknown(std::span<const Values> all) {
  constexpr std::size_t kFew = 2;            // are read one by one
  constexpr std::size_t kManyServices = 64;  // fewer are worth keeping
  Unknown unknown;
  std::set<ServiceKey> services;
  for (const Values& one : all) {
    const std::shared_ptr<StackTrie> trie = Find(ServiceOf(one.dictionary));
    if (trie && trie->HasDictionary(one.dictionary)) continue;
    unknown.values.push_back(&one);
    unknown.keys.push_back(one.dictionary);
    services.insert(ServiceOf(one.dictionary));
  }
  if (unknown.values.size() > kFew)
    unknown.read = services.size() > kManyServices ? Unknown::Read::kApart : Unknown::Read::kKept;
  return unknown;
}

Result<> StackTries::ReadTogether(const Unknown& unknown, const CancelToken& cancel) {
  if (unknown.keys.empty()) return {};
  WHEREFORE_ASSIGN_OR_RETURN(const auto portions,
                             PortionsOf(source_.reader, unknown.keys, kPortionFrames, cancel));
  for (const Portion& portion : portions) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    MemoryClaim held(cancel);
    const std::uint64_t generation = source_.reader.Generation();
    WHEREFORE_ASSIGN_OR_RETURN(auto rows,
                               ReadPortion(source_.reader, unknown.keys, portion, held, cancel));
    for (const std::size_t i : portion) {
      const Values& one = *unknown.values[i];
      const ServiceKey service = ServiceOf(one.dictionary);
      const Result<> filled = Get(service)->Fill(NeedOf(one), std::move(rows[one.dictionary]),
                                                 generation, source_, cancel);
      if (!filled) Keep(service, false);
      WHEREFORE_RETURN_IF_ERROR(filled);
    }
  }
  return {};
}

Result<> StackTries::Prepare(std::span<const Values> all, const CancelToken& cancel) {
  return ReadTogether(FindUnknown(all), cancel);
}

Result<> StackTries::AddSmallOnes(TrieSums& sums, const Unknown& unknown, ByService& by_service,
                                  const CancelToken& cancel) {
  const auto trie = std::make_shared<StackTrie>();
  WHEREFORE_ASSIGN_OR_RETURN(const auto portions,
                             PortionsOf(source_.reader, unknown.keys, kSmallFrames, cancel));
  for (const Portion& portion : portions) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    MemoryClaim held(cancel);
    WHEREFORE_ASSIGN_OR_RETURN(auto rows,
                               ReadPortion(source_.reader, unknown.keys, portion, held, cancel));
    const std::size_t before = trie->bytes();
    for (const std::size_t i : portion) {
      const Values& one = *unknown.values[i];
      WHEREFORE_RETURN_IF_ERROR(trie->Fill(NeedOf(one), std::move(rows[one.dictionary]),
                                           StackTrie::kReadsNoFurther, source_, cancel));
    }
    trie->KeepStacksOnly();
    WHEREFORE_RETURN_IF_ERROR(cancel.Charge(trie->bytes() - std::min(before, trie->bytes())));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::size_t at, sums.AddTrie(TrieReading(trie)));
  for (const Portion& portion : portions) {
    for (const std::size_t i : portion) {
      const Values& one = *unknown.values[i];
      sums.Add(at, one.dictionary, one.stacks, one.side);
      std::erase(by_service[ServiceOf(one.dictionary)], &one);
    }
  }
  std::erase_if(by_service, [](const auto& service) { return service.second.empty(); });
  return {};
}

Result<std::set<const StackTries::Values*>> StackTries::VisitSmallOnes(std::span<const Values> all,
                                                                       const Unknown& unknown,
                                                                       const Visit& visit,
                                                                       const CancelToken& cancel) {
  std::set<const Values*> visited;
  WHEREFORE_ASSIGN_OR_RETURN(const auto portions,
                             PortionsOf(source_.reader, unknown.keys, kSmallFrames, cancel));
  for (const Portion& portion : portions) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    MemoryClaim held(cancel);
    WHEREFORE_ASSIGN_OR_RETURN(auto rows,
                               ReadPortion(source_.reader, unknown.keys, portion, held, cancel));
    for (const std::size_t i : portion) {
      const Values& one = *unknown.values[i];
      StackTrie trie;  // of its own: what is asked of a trie costs as much as it is large
      WHEREFORE_RETURN_IF_ERROR(trie.Fill(NeedOf(one), std::move(rows[one.dictionary]),
                                          StackTrie::kReadsNoFurther, source_, cancel));
      WHEREFORE_RETURN_IF_ERROR(visit(static_cast<std::size_t>(&one - all.data()), trie));
      visited.insert(&one);
    }
  }
  return visited;
}

Result<> StackTries::Each(std::span<const Values> all, const Visit& visit,
                          const CancelToken& cancel) {
  const Unknown unknown = FindUnknown(all);
  std::set<const Values*> visited;
  if (unknown.read == Unknown::Read::kKept)
    WHEREFORE_RETURN_IF_ERROR(ReadTogether(unknown, cancel));
  if (unknown.read == Unknown::Read::kApart) {
    WHEREFORE_ASSIGN_OR_RETURN(visited, VisitSmallOnes(all, unknown, visit, cancel));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (visited.contains(&all[i])) continue;
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    const ServiceKey service = ServiceOf(all[i].dictionary);
    const Result<> done = visit(i, *Get(service));
    Keep(service, done.has_value());
    WHEREFORE_RETURN_IF_ERROR(done);
  }
  return {};
}

Result<> StackTries::EachHolding(
    const FunctionName& function, std::span<const Values> all,
    const std::function<Result<>(std::size_t, const std::vector<bool>&)>& visit,
    const CancelToken& cancel) {
  std::vector<std::uint32_t> stacks;
  return Each(
      all,
      [&](std::size_t at, StackTrie& trie) -> Result<> {
        stacks.clear();
        for (const StackValue& value : all[at].stacks) stacks.push_back(value.stack);
        WHEREFORE_ASSIGN_OR_RETURN(
            const std::vector<bool> holds,
            trie.Holding(function, all[at].dictionary, stacks, source_, cancel));
        return visit(at, holds);
      },
      cancel);
}

Result<> StackTries::EachMatching(
    const LensSearch& wanted, std::span<const store::DictionaryKey> dictionaries,
    const std::function<Result<>(std::size_t, store::StackSet&&)>& visit,
    const CancelToken& cancel) {
  std::vector<Values> all;
  all.reserve(dictionaries.size());
  for (const store::DictionaryKey& key : dictionaries) all.push_back({.dictionary = key});
  return Each(
      all,
      [&](std::size_t at, StackTrie& trie) -> Result<> {
        WHEREFORE_ASSIGN_OR_RETURN(store::StackSet matching,
                                   trie.Matching(wanted, dictionaries[at], source_, cancel));
        return visit(at, std::move(matching));
      },
      cancel);
}

}  // namespace wherefore::query
