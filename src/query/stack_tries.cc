#include "query/stack_tries.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "base/clock.h"
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

std::uint32_t StackTrie::FunctionId(profile::FlameFunction named) {
  std::string key = named.name + '\0' + named.module;
  const auto [it, added] =
      function_ids_.try_emplace(std::move(key), static_cast<std::uint32_t>(functions_.size()));
  if (added) {
    text_bytes_ += 2 * (named.name.size() + named.module.size()) + named.file.size();
    functions_.push_back(std::move(named));
  }
  return it->second;
}

std::uint32_t StackTrie::LostFunction() {
  return FunctionId({.name = std::string(profile::kNameLost)});
}

void StackTrie::AddFunction(const profile::FrameFacts& facts) {
  frame_functions_.push_back(FunctionId(profile::NameFrame(facts)));
}

void StackTrie::NameFrame(const store::FrameRow& frame, const symbols::ResolvedFrame* resolved) {
  const store::MappingRow& mapping =
      mappings_[frame.mapping < mappings_.size() ? frame.mapping : 0];
  profile::FrameFacts facts{.mapping_file = mapping.file,
                            .mapping_start = mapping.start,
                            .mapping_offset = mapping.file_offset,
                            .address = frame.address,
                            .frame_type = FrameTypeOf(frame.attributes)};
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
          function < raw_functions_.size() ? raw_functions_[function] : kLost;
      facts.name = f.name;
      facts.system_name = f.system_name;
      facts.file = f.file;
      facts.start_line = f.start_line;
    }
    AddFunction(facts);
  }
  if (levels == 0) AddFunction(facts);
}

void StackTrie::NameFrames(const store::DictionaryRows& rows, const FrameLines& resolved) {
  for (std::size_t i = 0; i < rows.frames.size(); ++i) {
    const auto begin = static_cast<std::uint32_t>(frame_functions_.size());
    NameFrame(rows.frames[i], resolved.Of(i));
    frames_.push_back({begin, static_cast<std::uint32_t>(frame_functions_.size()) - begin});
  }
}

Result<> StackTrie::Extend(store::Reader& reader, symbols::Symbolizer* symbolizer,
                           const CancelToken& cancel) {
  const MemoryScope scope(cancel);  // rows go; the trie belongs to the cache
  WHEREFORE_ASSIGN_OR_RETURN(store::DictionaryRows rows, reader.Dictionary(key_, cursor_, cancel));
  Result<> extended;
  try {
    extended = ExtendBy(std::move(rows), symbolizer, cancel);
  } catch (const std::bad_alloc&) {
    extended = ShortOfMemory();
  }
  if (!extended) Reset();  // another question may be waiting for this trie
  return extended;
}

void StackTrie::Refresh(symbols::Symbolizer* symbolizer) {
  const bool time_is_up = resolve_again_ns_ != 0 && MonotonicNs() >= resolve_again_ns_;
  if (time_is_up || HasNews(symbolizer, unsettled_)) Reset();
}

// By new vectors: the old ones' memory goes.
void StackTrie::Reset() {
  cursor_ = {};
  resolve_again_ns_ = 0;
  unsettled_.clear();
  known_generation_ = 0;
  raw_functions_ = std::vector<store::FunctionRow>(1);
  mappings_ = std::vector<store::MappingRow>(1);
  frames_ = std::vector<profile::Range>(1);
  frame_functions_ = std::vector<std::uint32_t>();
  functions_ = std::vector<profile::FlameFunction>(1);
  function_ids_ = {};
  text_bytes_ = 0;
  nodes_ = std::vector<Node>(1);
  children_ = {};
  stack_nodes_ = std::vector<std::uint32_t>(1);
  bytes_.store(0, std::memory_order_relaxed);
}

Result<> StackTrie::ExtendBy(store::DictionaryRows rows, symbols::Symbolizer* symbolizer,
                             const CancelToken& cancel) {
  const std::size_t before = CountBytes();
  MemoryClaim growth(cancel);
  constexpr std::size_t kCheckEvery = 4096;
  for (store::FunctionRow& f : rows.functions) {
    text_bytes_ += f.name.size() + f.system_name.size() + f.file.size();
    raw_functions_.push_back(std::move(f));
  }
  for (store::MappingRow& m : rows.mappings) mappings_.push_back(std::move(m));
  const FrameLines resolved =
      ResolveFrames(symbolizer, rows.frames, std::span(mappings_).subspan(1));
  if (resolved.postponed) resolve_again_ns_ = MonotonicNs() + kResolveAgainAfterNs;
  // The first version counts: what was named by then is not named by a later one.
  unsettled_.insert(resolved.unsettled.begin(), resolved.unsettled.end());
  NameFrames(rows, resolved);
  for (const profile::Range range : rows.stacks) {
    std::uint32_t node = 0;
    for (std::uint32_t k = range.count; k-- > 0;) {
      const std::uint32_t frame = rows.stack_frames[range.begin + k];
      if (frame >= frames_.size()) {
        node = Child(node, LostFunction());
        continue;
      }
      for (std::uint32_t i = 0; i < frames_[frame].count; ++i) {
        node = Child(node, frame_functions_[frames_[frame].begin + i]);
      }
    }
    stack_nodes_.push_back(node);
    if (stack_nodes_.size() % kCheckEvery == 0) {
      WHEREFORE_RETURN_IF_ERROR(growth.Resize(CountBytes() - before));
      WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    }
  }
  WHEREFORE_RETURN_IF_ERROR(growth.Resize(CountBytes() - before));
  cursor_ = {.stack = static_cast<std::uint32_t>(stack_nodes_.size()),
             .frame = static_cast<std::uint32_t>(frames_.size()),
             .function = static_cast<std::uint32_t>(raw_functions_.size()),
             .mapping = static_cast<std::uint32_t>(mappings_.size())};
  bytes_.store(CountBytes(), std::memory_order_relaxed);
  return {};
}

std::uint32_t StackTrie::Child(std::uint32_t parent, std::uint32_t function) {
  return children_.Child(nodes_, parent, function);
}

Result<> StackTrie::Know(std::uint32_t highest, store::Reader& reader,
                         symbols::Symbolizer* symbolizer, const CancelToken& cancel) {
  Refresh(symbolizer);
  if (highest >= stack_nodes_.size()) WHEREFORE_RETURN_IF_ERROR(Extend(reader, symbolizer, cancel));
  // Names are stored before what uses them: a stack that is not there now is lost.
  if (highest >= stack_nodes_.size()) {
    stack_nodes_.resize(std::size_t{highest} + 1, Child(0, LostFunction()));
    cursor_.stack = static_cast<std::uint32_t>(stack_nodes_.size());
  }
  return {};
}

Result<std::vector<bool>> StackTrie::Holding(const FunctionName& function,
                                             std::span<const std::uint32_t> stacks,
                                             store::Reader& reader, symbols::Symbolizer* symbolizer,
                                             const CancelToken& cancel) {
  MutexLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(
      Know(stacks.empty() ? 0 : *std::ranges::max_element(stacks), reader, symbolizer, cancel));
  std::vector<bool> wanted(functions_.size());
  for (std::size_t i = 1; i < functions_.size(); ++i) {
    wanted[i] = functions_[i].name == function.name &&
                (!function.module || functions_[i].module == *function.module);
  }
  // Ids grow downwards: a parent is decided before its children.
  std::vector<bool> below(nodes_.size());
  for (std::size_t node = 1; node < nodes_.size(); ++node) {
    below[node] = below[nodes_[node].parent] || wanted[nodes_[node].function];
  }
  std::vector<bool> holds(stacks.size());
  for (std::size_t i = 0; i < stacks.size(); ++i) holds[i] = below[stack_nodes_[stacks[i]]];
  return holds;
}

Result<> StackTrie::KnowAll(store::Reader& reader, symbols::Symbolizer* symbolizer,
                            const CancelToken& cancel) {
  Refresh(symbolizer);
  const std::uint64_t generation =
      reader.Generation();  // before: what comes meanwhile is read again
  if (generation != 0 && generation == known_generation_) return {};
  WHEREFORE_RETURN_IF_ERROR(Extend(reader, symbolizer, cancel));
  known_generation_ = generation;
  return {};
}

namespace {

// The same for what has no frames at all, which is shown as one.
bool FindsBare(const LookedFor& wanted) {
  const std::vector<profile::FlameFunction> bare = {{.name = std::string(profile::kNoStack)}};
  const StackLens lens(wanted.lens, bare);
  std::vector<std::uint32_t> frames = {0};
  return lens.Apply(frames) && std::ranges::any_of(frames, [&](std::uint32_t f) {
           return wanted.search.Matches(lens.function(f));
         });
}

}  // namespace

Result<std::vector<char>> StackTrie::MatchingNodes(const LookedFor& wanted,
                                                   const CancelToken& cancel) {
  constexpr std::uint32_t kCheckEvery = 1u << 14;
  const StackLens lens(wanted.lens, functions_);
  std::vector<char> hit(lens.size());
  for (std::uint32_t f = 1; f < hit.size(); ++f) hit[f] = wanted.search.Matches(lens.function(f));
  MemoryClaim scratch(cancel);
  WHEREFORE_RETURN_IF_ERROR(scratch.Resize(2 * nodes_.size()));
  std::vector<char> ends(nodes_.size());
  for (const std::uint32_t node : stack_nodes_) ends[node] = 1;
  std::vector<char> matching(nodes_.size());
  std::vector<std::uint32_t> frames;
  matching[0] = FindsBare(wanted);
  // Ids grow downwards: a caller is decided before what it calls.
  for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
    if (node % kCheckEvery == 0) WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    if (wanted.lens.empty()) {
      const auto [parent, function] = nodes_[node];
      matching[node] = (parent != 0 && matching[parent] != 0) || hit[function] != 0;
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

Result<store::StackSet> StackTrie::Matching(const LookedFor& wanted, store::Reader& reader,
                                            symbols::Symbolizer* symbolizer,
                                            const CancelToken& cancel) {
  MutexLock lock(mutex_);
  WHEREFORE_RETURN_IF_ERROR(KnowAll(reader, symbolizer, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<char> matching, MatchingNodes(wanted, cancel));
  const auto matches = [&](std::uint32_t node) { return matching[node] != 0; };
  const auto many = static_cast<std::size_t>(std::ranges::count_if(stack_nodes_, matches));
  // Whichever list is the shorter one.
  const bool rest = many > stack_nodes_.size() / 2;
  store::StackSet set;
  if (rest) set.all_below = static_cast<std::uint32_t>(stack_nodes_.size());
  set.stacks.reserve(rest ? stack_nodes_.size() - many : many);
  for (std::uint32_t i = 0; i < stack_nodes_.size(); ++i) {
    if (matches(stack_nodes_[i]) != rest) set.stacks.push_back(i);
  }
  return set;
}

Result<bool> StackTrie::NamesFile(const std::string& file, store::Reader& reader,
                                  symbols::Symbolizer* symbolizer, const CancelToken& cancel) {
  MutexLock lock(mutex_);
  Refresh(symbolizer);
  WHEREFORE_RETURN_IF_ERROR(Extend(reader, symbolizer, cancel));
  return std::ranges::find(functions_, file, &profile::FlameFunction::file) != functions_.end();
}

Result<> StackTrie::AddTo(profile::TreeBuilder& builder, std::span<const StackValue> stacks,
                          store::Reader& reader, symbols::Symbolizer* symbolizer,
                          const CancelToken& cancel) {
  MutexLock lock(mutex_);
  std::uint32_t highest = 0;
  for (const StackValue& s : stacks) highest = std::max(highest, s.stack);
  WHEREFORE_RETURN_IF_ERROR(Know(highest, reader, symbolizer, cancel));
  // Which nodes lie on a path that carries a value; then copy those, parents first (ids grow
  // downwards).
  MemoryClaim scratch(cancel);
  WHEREFORE_RETURN_IF_ERROR(scratch.Resize(nodes_.size() * (sizeof(std::uint32_t) + 1) +
                                           functions_.size() * sizeof(std::uint32_t)));
  MemoryClaim growth(cancel);
  const std::size_t before = builder.bytes();
  std::vector<std::uint32_t> target(nodes_.size(), UINT32_MAX);
  std::vector<char> used(nodes_.size());
  used[0] = 1;
  for (const StackValue& s : stacks) {
    for (std::uint32_t node = stack_nodes_[s.stack]; used[node] == 0; node = nodes_[node].parent) {
      used[node] = 1;
    }
  }
  target[0] = 0;
  std::vector<std::uint32_t> function_ids(functions_.size(), UINT32_MAX);
  const std::size_t first_new = builder.size();
  constexpr std::uint32_t kCheckEvery = 1u << 16;
  for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
    if (node % kCheckEvery == 0) {
      WHEREFORE_RETURN_IF_ERROR(cancel.Check());
      WHEREFORE_RETURN_IF_ERROR(growth.Resize(builder.bytes() - before));
    }
    if (used[node] == 0) continue;
    std::uint32_t& id = function_ids[nodes_[node].function];
    if (id == UINT32_MAX) id = builder.AddFunction(functions_[nodes_[node].function]);
    // A trie has a path once, so what lies below a node that is new to the builder is new as well.
    const std::uint32_t parent = target[nodes_[node].parent];
    target[node] = parent >= first_new ? builder.NewChild(parent, id) : builder.Child(parent, id);
  }
  for (const StackValue& s : stacks) {
    std::uint32_t node = target[stack_nodes_[s.stack]];
    if (stack_nodes_[s.stack] == 0) {
      node = builder.Child(0, builder.AddFunction({.name = std::string(profile::kNoStack)}));
    }
    builder.AddValue(node, s.value, s.count);
  }
  WHEREFORE_RETURN_IF_ERROR(growth.Resize(builder.bytes() - before));
  growth.Keep();
  return {};
}

Result<profile::FlameTree> BuildTree(profile::TreeBuilder& builder, const CancelToken& cancel) {
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(builder.BuildBytes()));
  return builder.Build();
}

std::size_t StackTrie::CountBytes() const {
  return nodes_.capacity() * sizeof(Node) + children_.bytes() + stack_nodes_.capacity() * 4 +
         frames_.capacity() * sizeof(profile::Range) + frame_functions_.capacity() * 4 +
         functions_.capacity() * sizeof(profile::FlameFunction) +
         raw_functions_.capacity() * sizeof(store::FunctionRow) + function_ids_.size() * 64 +
         text_bytes_;
}

std::shared_ptr<StackTrie> StackTries::Get(const store::DictionaryKey& key) {
  MutexLock lock(mutex_);
  Entry& entry = tries_[key];
  if (!entry.trie) entry.trie = std::make_shared<StackTrie>(key);
  entry.last_use = ++uses_;
  return entry.trie;
}

void StackTries::Keep(const store::DictionaryKey& key, bool well) {
  MutexLock lock(mutex_);
  if (!well) tries_.erase(key);
  Evict();
}

Result<> StackTries::AddTo(profile::TreeBuilder& builder, const store::DictionaryKey& key,
                           std::span<const StackValue> stacks, const CancelToken& cancel) {
  Result<> result = Get(key)->AddTo(builder, stacks, reader_, symbolizer_, cancel);
  Keep(key, static_cast<bool>(result));
  return result;
}

Result<std::vector<bool>> StackTries::Holding(const FunctionName& function,
                                              const store::DictionaryKey& key,
                                              std::span<const std::uint32_t> stacks,
                                              const CancelToken& cancel) {
  auto result = Get(key)->Holding(function, stacks, reader_, symbolizer_, cancel);
  Keep(key, static_cast<bool>(result));
  return result;
}

Result<store::StackSet> StackTries::Matching(const LookedFor& wanted,
                                             const store::DictionaryKey& key,
                                             const CancelToken& cancel) {
  auto result = Get(key)->Matching(wanted, reader_, symbolizer_, cancel);
  Keep(key, static_cast<bool>(result));
  return result;
}

Result<bool> StackTries::NamesFile(const store::DictionaryKey& key, const std::string& file,
                                   const CancelToken& cancel) {
  auto result = Get(key)->NamesFile(file, reader_, symbolizer_, cancel);
  Keep(key, static_cast<bool>(result));
  return result;
}

void StackTries::Evict() {
  std::size_t total = 0;
  for (const auto& [key, entry] : tries_) total += entry.trie->bytes();
  // A single one that is larger helps where there is room for more than it.
  const auto too_much = [&] {
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
