// StackTries: the stacks of a dictionary as a trie, kept between questions.
//
// A dictionary only grows, so a trie is extended; it is rebuilt only when debug information came
// that names its frames better. Adding up a question is then one array write per stack and one pass
// over the touched part of the trie, instead of walking every frame of every stack again. Bounded
// by bytes; the least recently used goes first.
//
// Threads: any. A trie's own mutex is held while it is extended or read.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/cancel.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "base/result.h"
#include "profile/child_index.h"
#include "profile/flame_tree.h"
#include "profile/frame_name.h"
#include "query/frame_lines.h"
#include "query/lens.h"
#include "query/search.h"
#include "store/read.h"

namespace wherefore::query {

struct StackValue {
  std::uint32_t stack = 0;
  std::int64_t value = 0;
  std::int64_t count = 0;
};

// What is looked for, in what a lens leaves.
struct LookedFor {
  Lens lens;
  Search search;
};

// A function as people name it: demangled, and the file name of its module where that is known.
struct FunctionName {
  std::string name;
  std::optional<std::string> module;  // none: in any
};

class StackTrie {
 public:
  explicit StackTrie(store::DictionaryKey key) : key_(key) { functions_.emplace_back(); }

  // Adds the values of these stacks to `builder`, reading what is still unknown from the store.
  Result<> AddTo(profile::TreeBuilder& builder, std::span<const StackValue> stacks,
                 store::Reader& reader, symbols::Symbolizer* symbolizer, const CancelToken& cancel)
      EXCLUDES(mutex_);
  // For each of these stacks whether the function is on it.
  Result<std::vector<bool>> Holding(const FunctionName& function,
                                    std::span<const std::uint32_t> stacks, store::Reader& reader,
                                    symbols::Symbolizer* symbolizer, const CancelToken& cancel)
      EXCLUDES(mutex_);
  // All stacks there are with a function that is looked for.
  Result<store::StackSet> Matching(const LookedFor& wanted, store::Reader& reader,
                                   symbols::Symbolizer* symbolizer, const CancelToken& cancel)
      EXCLUDES(mutex_);
  // Whether one of its functions, as far as they are known by now, comes from that source file.
  Result<bool> NamesFile(const std::string& file, store::Reader& reader,
                         symbols::Symbolizer* symbolizer, const CancelToken& cancel)
      EXCLUDES(mutex_);
  // All rows of its dictionary, read by the caller, into a trie that knows none yet.
  Result<> Fill(store::DictionaryRows rows, symbols::Symbolizer* symbolizer,
                const CancelToken& cancel) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return ExtendBy(std::move(rows), symbolizer, cancel);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Node {
    std::uint32_t parent;
    std::uint32_t function;  // into functions_
  };
  // Reads on when there are stacks up to `highest` and they are not known yet.
  Result<> Know(std::uint32_t highest, store::Reader& reader, symbols::Symbolizer* symbolizer,
                const CancelToken& cancel) REQUIRES(mutex_);
  // Reads on unless nothing can have come since it last did.
  Result<> KnowAll(store::Reader& reader, symbols::Symbolizer* symbolizer,
                   const CancelToken& cancel) REQUIRES(mutex_);
  // By node: is there a function that is looked for on the way to it?
  Result<std::vector<char>> MatchingNodes(const LookedFor& wanted, const CancelToken& cancel)
      REQUIRES(mutex_);
  Result<> Extend(store::Reader& reader, symbols::Symbolizer* symbolizer, const CancelToken& cancel)
      REQUIRES(mutex_);
  Result<> ExtendBy(store::DictionaryRows rows, symbols::Symbolizer* symbolizer,
                    const CancelToken& cancel) REQUIRES(mutex_);
  // Starts over when frames can be named better than they were.
  void Refresh(symbols::Symbolizer* symbolizer) REQUIRES(mutex_);
  void Reset() REQUIRES(mutex_);
  std::uint32_t Child(std::uint32_t parent, std::uint32_t function) REQUIRES(mutex_);
  [[nodiscard]] std::size_t CountBytes() const REQUIRES(mutex_);
  void NameFrames(const store::DictionaryRows& rows, const FrameLines& resolved) REQUIRES(mutex_);
  void NameFrame(const store::FrameRow& frame, const symbols::ResolvedFrame* resolved)
      REQUIRES(mutex_);
  void AddFunction(const profile::FrameFacts& facts) REQUIRES(mutex_);
  std::uint32_t FunctionId(profile::FlameFunction named) REQUIRES(mutex_);
  std::uint32_t LostFunction() REQUIRES(mutex_);

  const store::DictionaryKey key_;
  std::atomic<std::size_t> bytes_{0};
  Mutex mutex_;
  store::DictionaryCursor cursor_ GUARDED_BY(mutex_);
  // When to start over, because there was no time to look up some frames; 0 = all were looked up.
  std::int64_t resolve_again_ns_ GUARDED_BY(mutex_) = 0;
  UnsettledModules unsettled_ GUARDED_BY(mutex_);
  std::uint64_t known_generation_ GUARDED_BY(mutex_) = 0;  // of the store, when KnowAll() last read
  std::vector<store::FunctionRow> raw_functions_ GUARDED_BY(mutex_) = {{}};
  std::vector<store::MappingRow> mappings_ GUARDED_BY(mutex_) = {{}};
  // Functions of each frame, outermost first, as a range of frame_functions_.
  std::vector<profile::Range> frames_ GUARDED_BY(mutex_) = {{}};
  std::vector<std::uint32_t> frame_functions_ GUARDED_BY(mutex_);
  std::vector<profile::FlameFunction> functions_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::uint32_t> function_ids_ GUARDED_BY(mutex_);
  std::size_t text_bytes_ GUARDED_BY(mutex_) = 0;
  std::vector<Node> nodes_ GUARDED_BY(mutex_) = {{0, 0}};
  profile::ChildIndex children_ GUARDED_BY(mutex_);
  std::vector<std::uint32_t> stack_nodes_ GUARDED_BY(mutex_) = {0};  // by stack id
};

class StackTries {
 public:
  // `symbolizer` may be null.
  StackTries(store::Reader& reader, symbols::Symbolizer* symbolizer, std::size_t max_bytes)
      : reader_(reader), symbolizer_(symbolizer), max_bytes_(max_bytes) {}

  Result<> AddTo(profile::TreeBuilder& builder, const store::DictionaryKey& key,
                 std::span<const StackValue> stacks, const CancelToken& cancel);
  // The same of many dictionaries (many_tries.cc): small ones that are not kept yet are read
  // together, and not kept afterwards, so that a question over everything pushes out nobody.
  struct Values {
    store::DictionaryKey dictionary;
    std::span<const StackValue> stacks;
  };
  Result<> AddTo(profile::TreeBuilder& builder, std::span<const Values> all,
                 const CancelToken& cancel);
  Result<std::vector<bool>> Holding(const FunctionName& function, const store::DictionaryKey& key,
                                    std::span<const std::uint32_t> stacks,
                                    const CancelToken& cancel);
  Result<store::StackSet> Matching(const LookedFor& wanted, const store::DictionaryKey& key,
                                   const CancelToken& cancel);
  Result<bool> NamesFile(const store::DictionaryKey& key, const std::string& file,
                         const CancelToken& cancel);
  // After data was deleted ids may be gone; start over.
  void Clear();

 private:
  std::shared_ptr<StackTrie> Get(const store::DictionaryKey& key) EXCLUDES(mutex_);
  // Many_tries.cc: dictionaries worth reading together, in portions of a bounded size.
  using Portion = std::vector<const Values*>;
  Result<std::vector<Portion>> SmallOnes(std::span<const Values> all, const CancelToken& cancel)
      EXCLUDES(mutex_);
  Result<> AddPortion(profile::TreeBuilder& builder, const Portion& portion,
                      const CancelToken& cancel);
  // Keeps the trie of a question that went well, within the limit.
  void Keep(const store::DictionaryKey& key, bool well) EXCLUDES(mutex_);
  void Evict() REQUIRES(mutex_);

  struct Entry {
    std::shared_ptr<StackTrie> trie;
    std::uint64_t last_use = 0;
  };
  store::Reader& reader_;
  symbols::Symbolizer* const symbolizer_;
  const std::size_t max_bytes_;
  Mutex mutex_;
  std::uint64_t uses_ GUARDED_BY(mutex_) = 0;
  std::map<store::DictionaryKey, Entry> tries_ GUARDED_BY(mutex_);
  MemoryHold memory_ GUARDED_BY(mutex_);  // of theirs
};

// Build(), within the question's memory. What the builder was charged for stays charged, for what
// is made of the tree next: a smaller tree, a text.
[[nodiscard]] Result<profile::FlameTree> BuildTree(profile::TreeBuilder& builder,
                                                   const CancelToken& cancel);

// How a stored frame's functions are called; shared with exports.
[[nodiscard]] std::string_view FrameTypeOf(std::string_view encoded_attributes);

}  // namespace wherefore::query
