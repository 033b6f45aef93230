#include "query/stack_trie.h"

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory_budget.h"
#include "profile/typed_attributes.h"
#include "query/stack_lens.h"

namespace wherefore::query {
namespace {

constexpr std::int64_t kResolveAgainAfterNs = 10 * kNsPerSecond;

}  // namespace

std::string_view FrameTypeOf(std::string_view encoded_attributes) {
  if (encoded_attributes.empty()) return {};
  const auto attributes = profile::ReadTyped(encoded_attributes);
  if (!attributes) return {};
  for (const profile::TypedAttribute& a : *attributes) {
    if (a.key == "profile.frame.type") return a.text;
  }
  return {};
}

StackTrie::StackTrie() {
  WriterLock lock(mutex_);
  Reset();
}

// By new containers: the old ones' memory goes.
void StackTrie::Reset() {
  dictionaries_.clear();
  dictionary_bytes_ = 0;
  resolve_again_ns_ = 0;
  unsettled_.clear();
  functions_ = std::vector<profile::FlameFunction>(1);
  hashes_ = std::vector<FunctionHash>(1);
  function_ids_ = {};
  names_ = {};
  names_are_unique_ = true;
  text_bytes_ = 0;
  nodes_ = std::vector<Node>(1);
  children_ = {};
  Child(0, FunctionId({.name = std::string(profile::kNoStack)}));  // kNoStackNode
  bytes_.store(0, std::memory_order_relaxed);
}

namespace {

std::string KeyOf(const profile::FlameFunction& f) {
  return f.name + '\0' + f.module;
}

}  // namespace

StackTrie::FunctionHash StackTrie::HashOf(const profile::FlameFunction& function) {
  return {.whole = Hash64(KeyOf(function)), .name = Hash64(function.name)};
}

std::uint32_t StackTrie::FunctionId(profile::FlameFunction named) {
  std::string key = KeyOf(named);
  const auto [it, added] =
      function_ids_.try_emplace(std::move(key), static_cast<std::uint32_t>(functions_.size()));
  if (added) {
    text_bytes_ += 2 * (named.name.size() + named.module.size()) + named.file.size();
    hashes_.push_back(HashOf(named));
    names_are_unique_ = names_.insert(hashes_.back().name).second && names_are_unique_;
    functions_.push_back(std::move(named));
  }
  return it->second;
}

std::uint32_t StackTrie::LostFunction() {
  return FunctionId({.name = std::string(profile::kNameLost)});
}

std::uint32_t StackTrie::Child(std::uint32_t parent, std::uint32_t function) {
  const std::size_t before = nodes_.size();
  const std::uint32_t child = children_.Child(nodes_, parent, function);
  if (nodes_.size() != before) {
    nodes_[child].next_sibling = nodes_[parent].first_child;
    nodes_[parent].first_child = child;
  }
  return child;
}

void StackTrie::NameFrame(Dictionary& dictionary, const store::FrameRow& frame,
                          const symbols::ResolvedFrame* resolved) {
  const store::MappingRow& mapping =
      dictionary.mappings[frame.mapping < dictionary.mappings.size() ? frame.mapping : 0];
  profile::FrameFacts facts{.mapping_file = mapping.file,
                            .mapping_start = mapping.start,
                            .mapping_offset = mapping.file_offset,
                            .address = frame.address,
                            .frame_type = FrameTypeOf(frame.attributes)};
  const auto add = [&]() REQUIRES(mutex_) {
    dictionary.frame_functions.push_back(FunctionId(profile::NameFrame(facts)));
  };
  const std::size_t levels = resolved != nullptr ? resolved->size() : frame.lines.size();
  for (std::size_t i = levels; i-- > 0;) {
    facts.inlined = i + 1 < levels;
    if (resolved != nullptr) {
      const symbols::ResolvedLine& line = (*resolved)[i];
      facts.name = line.name;
      facts.system_name = line.system_name;
      facts.file = line.file;
      facts.start_line = line.start_line;
    } else {
      static const store::FunctionRow kLost{.name = std::string(profile::kNameLost)};
      const std::uint32_t function = frame.lines[i].function;
      const store::FunctionRow& f =
          function < dictionary.functions.size() ? dictionary.functions[function] : kLost;
      facts.name = f.name;
      facts.system_name = f.system_name;
      facts.file = f.file;
      facts.start_line = f.start_line;
    }
    add();
  }
  if (levels == 0) add();
}

void StackTrie::NameFrames(Dictionary& dictionary, const store::DictionaryRows& rows,
                           const FrameLines& resolved) {
  std::vector<std::uint32_t>& functions = dictionary.frame_functions;
  for (std::size_t i = 0; i < rows.frames.size(); ++i) {
    const auto begin = static_cast<std::uint32_t>(functions.size());
    NameFrame(dictionary, rows.frames[i], resolved.Of(i));
    dictionary.frames.push_back({begin, static_cast<std::uint32_t>(functions.size()) - begin});
  }
}

Result<> StackTrie::AddStacks(Dictionary& dictionary, const store::DictionaryRows& rows,
                              const CancelToken& cancel) {
  constexpr std::size_t kCheckEvery = 4096;
  const std::size_t before = NodeBytes() + dictionary.bytes();
  MemoryClaim growth(cancel);
  for (const profile::Range range : rows.stacks) {
    std::uint32_t node = 0;
    for (std::uint32_t k = range.count; k-- > 0;) {
      const std::uint32_t frame = rows.stack_frames[range.begin + k];
      if (frame >= dictionary.frames.size()) {
        node = Child(node, LostFunction());
        continue;
      }
      const auto [begin, count] = dictionary.frames[frame];
      for (std::uint32_t i = begin; i < begin + count; ++i)
        node = Child(node, dictionary.frame_functions[i]);
    }
    dictionary.stack_nodes.push_back(node == 0 ? kNoStackNode : node);
    if (dictionary.stack_nodes.size() % kCheckEvery == 0) {
      WHEREFORE_RETURN_IF_ERROR(growth.Resize(NodeBytes() + dictionary.bytes() - before));
      WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    }
  }
  return growth.Resize(NodeBytes() + dictionary.bytes() - before);
}

Result<> StackTrie::ExtendBy(Dictionary& dictionary, store::DictionaryRows rows,
                             symbols::Symbolizer* symbolizer, const CancelToken& cancel) {
  const std::size_t before = dictionary.bytes();
  for (store::FunctionRow& f : rows.functions) {
    text_bytes_ += f.name.size() + f.system_name.size() + f.file.size();
    dictionary.functions.push_back(std::move(f));
  }
  for (store::MappingRow& m : rows.mappings) dictionary.mappings.push_back(std::move(m));
  const FrameLines resolved =
      ResolveFrames(symbolizer, rows.frames, std::span(dictionary.mappings).subspan(1));
  if (resolved.postponed) resolve_again_ns_ = MonotonicNs() + kResolveAgainAfterNs;
  // The first version counts: what was named by then is not named by a later one.
  unsettled_.insert(resolved.unsettled.begin(), resolved.unsettled.end());
  NameFrames(dictionary, rows, resolved);
  WHEREFORE_RETURN_IF_ERROR(AddStacks(dictionary, rows, cancel));
  dictionary.cursor = {.stack = static_cast<std::uint32_t>(dictionary.stack_nodes.size()),
                       .frame = static_cast<std::uint32_t>(dictionary.frames.size()),
                       .function = static_cast<std::uint32_t>(dictionary.functions.size()),
                       .mapping = static_cast<std::uint32_t>(dictionary.mappings.size())};
  dictionary_bytes_ += dictionary.bytes() - before;
  bytes_.store(NodeBytes() + dictionary_bytes_, std::memory_order_relaxed);
  return {};
}

Result<> StackTrie::Extend(const store::DictionaryKey& key, const TrieSource& source,
                           const CancelToken& cancel) {
  const MemoryScope scope(cancel);  // rows go; the trie belongs to the cache
  Dictionary& dictionary = dictionaries_[key];
  WHEREFORE_ASSIGN_OR_RETURN(store::DictionaryRows rows,
                             source.reader.Dictionary(key, dictionary.cursor, cancel));
  Result<> extended;
  try {
    extended = ExtendBy(dictionary, std::move(rows), source.symbolizer, cancel);
  } catch (const std::bad_alloc&) {
    extended = ShortOfMemory();
  }
  if (!extended) Reset();  // another query may be waiting for this trie
  return extended;
}

void StackTrie::AddLost(Dictionary& dictionary, std::uint32_t highest) {
  if (highest < dictionary.stack_nodes.size()) return;
  dictionary.stack_nodes.resize(std::size_t{highest} + 1, Child(0, LostFunction()));
  dictionary.cursor.stack = static_cast<std::uint32_t>(dictionary.stack_nodes.size());
}

Result<> StackTrie::Fill(const Need& need, store::DictionaryRows rows, std::uint64_t generation,
                         const TrieSource& source, const CancelToken& cancel) {
  WriterLock lock(mutex_);
  const auto [it, added] = dictionaries_.try_emplace(need.dictionary);
  if (!added) return {};  // another query was faster
  auto filled = ExtendBy(it->second, std::move(rows), source.symbolizer, cancel);
  if (!filled) {
    Reset();
    return filled;
  }
  it->second.generation = generation;
  AddLost(it->second, need.highest);
  return filled;
}

void StackTrie::KeepStacksOnly() {
  WriterLock lock(mutex_);
  dictionary_bytes_ = 0;
  for (auto& [key, dictionary] : dictionaries_) {
    Dictionary stacks;
    stacks.stack_nodes = std::move(dictionary.stack_nodes);
    dictionary = std::move(stacks);
    dictionary_bytes_ += dictionary.bytes();
  }
  bytes_.store(NodeBytes() + dictionary_bytes_, std::memory_order_relaxed);
}

bool StackTrie::HasDictionary(const store::DictionaryKey& dictionary) {
  ReaderLock lock(mutex_);
  return dictionaries_.contains(dictionary);
}

bool StackTrie::IsKnown(std::span<const Need> needs) const {
  return std::ranges::all_of(needs, [this](const Need& need) REQUIRES_SHARED(mutex_) {
    const auto it = dictionaries_.find(need.dictionary);
    return it != dictionaries_.end() && need.highest < it->second.stack_nodes.size();
  });
}

bool StackTrie::IsStale(symbols::Symbolizer* symbolizer) const {
  return (resolve_again_ns_ != 0 && MonotonicNs() >= resolve_again_ns_) ||
         HasNews(symbolizer, unsettled_);
}

Result<> StackTrie::Know(std::span<const Need> needs, const TrieSource& source,
                         const CancelToken& cancel) {
  {
    ReaderLock lock(mutex_);
    if (IsKnown(needs) && !IsStale(source.symbolizer)) return {};
  }
  WriterLock lock(mutex_);
  if (IsStale(source.symbolizer)) Reset();
  for (const Need& need : needs) {
    if (IsKnown({&need, 1})) continue;
    WHEREFORE_RETURN_IF_ERROR(Extend(need.dictionary, source, cancel));
    AddLost(dictionaries_[need.dictionary], need.highest);
  }
  return {};
}

Result<> StackTrie::KnowAll(const store::DictionaryKey& key, const TrieSource& source,
                            const CancelToken& cancel) {
  WriterLock lock(mutex_);
  if (IsStale(source.symbolizer)) Reset();
  // Before reading: what comes meanwhile is read again.
  const std::uint64_t generation = source.reader.Generation();
  const std::uint64_t known = dictionaries_[key].generation;
  if (known == kReadsNoFurther || (generation != 0 && known == generation)) return {};
  WHEREFORE_RETURN_IF_ERROR(Extend(key, source, cancel));
  dictionaries_[key].generation = generation;
  return {};
}

Result<std::vector<bool>> StackTrie::Holding(const FunctionName& function,
                                             const store::DictionaryKey& key,
                                             std::span<const std::uint32_t> stacks,
                                             const TrieSource& source, const CancelToken& cancel) {
  const Need need{key, stacks.empty() ? 0 : *std::ranges::max_element(stacks)};
  while (true) {
    WHEREFORE_RETURN_IF_ERROR(Know({&need, 1}, source, cancel));
    ReaderLock lock(mutex_);
    if (!IsKnown({&need, 1})) continue;
    std::vector<bool> wanted(functions_.size());
    for (std::size_t i = 1; i < functions_.size(); ++i) {
      wanted[i] = functions_[i].name == function.name &&
                  (!function.module || functions_[i].module == *function.module);
    }
    std::vector<bool> below(nodes_.size());
    for (std::size_t node = 1; node < nodes_.size(); ++node) {
      below[node] = below[nodes_[node].parent] || wanted[nodes_[node].function];
    }
    const std::vector<std::uint32_t>& at = dictionaries_.at(key).stack_nodes;
    std::vector<bool> holds(stacks.size());
    for (std::size_t i = 0; i < stacks.size(); ++i) holds[i] = below[at[stacks[i]]];
    return holds;
  }
}

Result<std::vector<char>> StackTrie::MatchingNodes(const LensSearch& wanted,
                                                   const Dictionary& dictionary,
                                                   const CancelToken& cancel) {
  constexpr std::uint32_t kCheckEvery = 1u << 14;
  const StackLens lens(wanted.lens, functions_);
  std::vector<char> hit(lens.size());
  for (std::uint32_t f = 1; f < hit.size(); ++f) hit[f] = wanted.search.Matches(lens.function(f));
  MemoryClaim scratch(cancel);
  WHEREFORE_RETURN_IF_ERROR(scratch.Resize(2 * nodes_.size()));
  std::vector<char> ends(nodes_.size());
  for (const std::uint32_t node : dictionary.stack_nodes) ends[node] = 1;
  std::vector<char> matching(nodes_.size());
  std::vector<std::uint32_t> frames;
  for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
    if (node % kCheckEvery == 0) WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    if (wanted.lens.empty()) {
      matching[node] = matching[nodes_[node].parent] != 0 || hit[nodes_[node].function] != 0;
      continue;
    }
    if (ends[node] == 0) continue;
    frames.clear();
    for (std::uint32_t at = node; at != 0; at = nodes_[at].parent)
      frames.push_back(nodes_[at].function);
    std::ranges::reverse(frames);
    matching[node] = lens.Apply(frames) &&
                     std::ranges::any_of(frames, [&](std::uint32_t f) { return hit[f] != 0; });
  }
  return matching;
}

namespace {

// The stacks whose node matches, by whichever list is the shorter one.
store::StackSet SetOf(std::span<const std::uint32_t> stack_nodes, std::span<const char> matching) {
  const auto matches = [&](std::uint32_t node) { return matching[node] != 0; };
  const auto many = static_cast<std::size_t>(std::ranges::count_if(stack_nodes, matches));
  const bool rest = many > stack_nodes.size() / 2;
  store::StackSet set;
  if (rest) set.all_below = static_cast<std::uint32_t>(stack_nodes.size());
  set.stacks.reserve(rest ? stack_nodes.size() - many : many);
  for (std::uint32_t i = 0; i < stack_nodes.size(); ++i) {
    if (matches(stack_nodes[i]) != rest) set.stacks.push_back(i);
  }
  return set;
}

}  // namespace

Result<store::StackSet> StackTrie::Matching(const LensSearch& wanted,
                                            const store::DictionaryKey& key,
                                            const TrieSource& source, const CancelToken& cancel) {
  while (true) {
    WHEREFORE_RETURN_IF_ERROR(KnowAll(key, source, cancel));
    ReaderLock lock(mutex_);
    const auto known = dictionaries_.find(key);
    if (known == dictionaries_.end()) continue;  // it started over meanwhile
    WHEREFORE_ASSIGN_OR_RETURN(const std::vector<char> matching,
                               MatchingNodes(wanted, known->second, cancel));
    return SetOf(known->second.stack_nodes, matching);
  }
}

Result<bool> StackTrie::NamesFile(const std::string& file, const store::DictionaryKey& key,
                                  const TrieSource& source, const CancelToken& cancel) {
  WHEREFORE_RETURN_IF_ERROR(KnowAll(key, source, cancel));
  ReaderLock lock(mutex_);
  return std::ranges::find(functions_, file, &profile::FlameFunction::file) != functions_.end();
}

std::size_t StackTrie::NodeBytes() const {
  return nodes_.capacity() * sizeof(Node) + children_.bytes() +
         functions_.capacity() * (sizeof(profile::FlameFunction) + sizeof(FunctionHash)) +
         function_ids_.size() * 64 + names_.size() * 32 + text_bytes_;
}

std::size_t StackTrie::Dictionary::bytes() const {
  return sizeof(Dictionary) + stack_nodes.capacity() * 4 +
         frames.capacity() * sizeof(profile::Range) + frame_functions.capacity() * 4 +
         functions.capacity() * sizeof(store::FunctionRow) +
         mappings.capacity() * sizeof(store::MappingRow);
}

TrieReading::TrieReading(std::shared_ptr<StackTrie> trie) WHEREFORE_TSA(no_thread_safety_analysis)
    : trie_(std::move(trie)) {
  trie_->mutex_.LockShared();
}

void TrieReading::Release() WHEREFORE_TSA(no_thread_safety_analysis) {
  if (trie_) trie_->mutex_.UnlockShared();
  trie_.reset();
}

bool TrieReading::Knows(std::span<const StackTrie::Need> needs) const {
  trie_->mutex_.AssertShared();
  return trie_->IsKnown(needs);
}

}  // namespace wherefore::query
