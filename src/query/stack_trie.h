// StackTrie: the stacks of one service as a trie, kept between queries.
//
// A service has a dictionary per bucket and writer. They mostly hold the same stacks, so they share
// one trie: a node is a function on a path, whichever dictionary it came from. Dictionaries only
// grow, so a trie is extended; it starts over only when debug information came that names its
// frames better. Node 0 is the root, and a node's id is larger than its parent's.
//
// Threads: any. Reading on from the store takes the lock for writing; who works with the nodes
// holds it for reading (TrieReading).
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "base/shared_mutex.h"
#include "profile/child_index.h"
#include "profile/flame_tree.h"
#include "profile/frame_name.h"
#include "query/frame_lines.h"
#include "query/lens.h"
#include "query/search.h"
#include "store/read.h"

namespace wherefore::query {

// What is searched for, in what a lens leaves.
struct LensSearch {
  Lens lens;
  Search search;
};

// A function as people name it: demangled, and the file name of its module where that is known.
struct FunctionName {
  std::string name;
  std::optional<std::string> module;  // none: in any
};

// Where tries read on.
struct TrieSource {
  store::Reader& reader;
  symbols::Symbolizer* symbolizer;  // may be null
};

class StackTrie {
 public:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t function = 0;     // into functions()
    std::uint32_t first_child = 0;  // 0: none
    std::uint32_t next_sibling = 0;
  };
  // Two functions are the same when name and module are; the hashes find them quickly.
  struct FunctionHash {
    std::uint64_t whole = 0;
    std::uint64_t name = 0;
  };
  [[nodiscard]] static FunctionHash HashOf(const profile::FlameFunction& function);
  // A dictionary, and the highest of its stacks that must be known.
  struct Need {
    store::DictionaryKey dictionary;
    std::uint32_t highest = 0;
  };

  // The generation of what one query filled in for itself: it reads no further.
  static constexpr std::uint64_t kReadsNoFurther = UINT64_MAX;

  StackTrie();

  // Reads what is still unknown. Afterwards it is known until the trie starts over, which another
  // query may cause: TrieReading::Knows() says whether it still is.
  Result<> Know(std::span<const Need> needs, const TrieSource& source, const CancelToken& cancel)
      EXCLUDES(mutex_);
  // All rows of a dictionary it does not know yet, read by the caller; `generation` was the store's
  // before that.
  Result<> Fill(const Need& need, store::DictionaryRows rows, std::uint64_t generation,
                const TrieSource& source, const CancelToken& cancel) EXCLUDES(mutex_);
  // Forgets what only reading on needs: for a trie that one query fills in portions.
  void KeepStacksOnly() EXCLUDES(mutex_);
  [[nodiscard]] bool HasDictionary(const store::DictionaryKey& dictionary) EXCLUDES(mutex_);

  // For each of these stacks whether the function is on it.
  Result<std::vector<bool>> Holding(const FunctionName& function,
                                    const store::DictionaryKey& dictionary,
                                    std::span<const std::uint32_t> stacks, const TrieSource& source,
                                    const CancelToken& cancel) EXCLUDES(mutex_);
  // All stacks of a dictionary with a function that is searched for.
  Result<store::StackSet> Matching(const LensSearch& wanted, const store::DictionaryKey& dictionary,
                                   const TrieSource& source, const CancelToken& cancel)
      EXCLUDES(mutex_);
  // Whether one of its functions, as far as they are known by now, comes from that source file.
  Result<bool> NamesFile(const std::string& file, const store::DictionaryKey& dictionary,
                         const TrieSource& source, const CancelToken& cancel) EXCLUDES(mutex_);
  [[nodiscard]] std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  friend class TrieReading;

  // What is known of one dictionary. Vectors are by id.
  struct Dictionary {
    store::DictionaryCursor cursor;
    std::uint64_t generation = 0;  // of the store, when all of it was last read
    std::vector<store::FunctionRow> functions = {{}};
    std::vector<store::MappingRow> mappings = {{}};
    // Functions of each frame, outermost first, as a range of frame_functions.
    std::vector<profile::Range> frames = {{}};
    std::vector<std::uint32_t> frame_functions;
    std::vector<std::uint32_t> stack_nodes = {kNoStackNode};

    [[nodiscard]] std::size_t bytes() const;
  };
  static constexpr std::uint32_t kNoStackNode = 1;  // of samples without a stack

  [[nodiscard]] const std::vector<Node>& nodes() const REQUIRES_SHARED(mutex_) { return nodes_; }
  [[nodiscard]] const std::vector<profile::FlameFunction>& functions() const
      REQUIRES_SHARED(mutex_) {
    return functions_;
  }
  [[nodiscard]] const std::vector<FunctionHash>& hashes() const REQUIRES_SHARED(mutex_) {
    return hashes_;
  }
  [[nodiscard]] bool IsKnown(std::span<const Need> needs) const REQUIRES_SHARED(mutex_);
  // Can frames be named better than they were?
  [[nodiscard]] bool IsStale(symbols::Symbolizer* symbolizer) const REQUIRES_SHARED(mutex_);
  // Knows all stacks there are.
  Result<> KnowAll(const store::DictionaryKey& key, const TrieSource& source,
                   const CancelToken& cancel) EXCLUDES(mutex_);
  Result<> Extend(const store::DictionaryKey& key, const TrieSource& source,
                  const CancelToken& cancel) REQUIRES(mutex_);
  Result<> ExtendBy(Dictionary& dictionary, store::DictionaryRows rows,
                    symbols::Symbolizer* symbolizer, const CancelToken& cancel) REQUIRES(mutex_);
  Result<> AddStacks(Dictionary& dictionary, const store::DictionaryRows& rows,
                     const CancelToken& cancel) REQUIRES(mutex_);
  // Names are stored before what uses them: a stack that is not there after reading is lost.
  void AddLost(Dictionary& dictionary, std::uint32_t highest) REQUIRES(mutex_);
  void Reset() REQUIRES(mutex_);
  std::uint32_t Child(std::uint32_t parent, std::uint32_t function) REQUIRES(mutex_);
  void NameFrames(Dictionary& dictionary, const store::DictionaryRows& rows,
                  const FrameLines& resolved) REQUIRES(mutex_);
  void NameFrame(Dictionary& dictionary, const store::FrameRow& frame,
                 const symbols::ResolvedFrame* resolved) REQUIRES(mutex_);
  std::uint32_t FunctionId(profile::FlameFunction named) REQUIRES(mutex_);
  std::uint32_t LostFunction() REQUIRES(mutex_);
  // By node: is there a function that is searched for on the way to it?
  Result<std::vector<char>> MatchingNodes(const LensSearch& wanted, const Dictionary& dictionary,
                                          const CancelToken& cancel) REQUIRES_SHARED(mutex_);
  // Of nodes and functions, without dictionaries.
  [[nodiscard]] std::size_t NodeBytes() const REQUIRES_SHARED(mutex_);

  std::atomic<std::size_t> bytes_{0};
  SharedMutex mutex_;
  std::map<store::DictionaryKey, Dictionary> dictionaries_ GUARDED_BY(mutex_);
  std::size_t dictionary_bytes_ GUARDED_BY(mutex_) = 0;  // there may be very many
  // When to start over, because there was no time to look up some frames; 0 = all were looked up.
  std::int64_t resolve_again_ns_ GUARDED_BY(mutex_) = 0;
  UnsettledModules unsettled_ GUARDED_BY(mutex_);
  std::vector<profile::FlameFunction> functions_ GUARDED_BY(mutex_);
  std::vector<FunctionHash> hashes_ GUARDED_BY(mutex_);  // of functions_
  std::unordered_map<std::string, std::uint32_t> function_ids_ GUARDED_BY(mutex_);
  std::unordered_set<std::uint64_t> names_ GUARDED_BY(mutex_);  // their hashes
  bool names_are_unique_ GUARDED_BY(mutex_) = true;
  std::size_t text_bytes_ GUARDED_BY(mutex_) = 0;
  std::vector<Node> nodes_ GUARDED_BY(mutex_);
  profile::ChildIndex children_ GUARDED_BY(mutex_);
};

// A trie while a query works with it: it does not change. One thread.
class TrieReading {
 public:
  explicit TrieReading(std::shared_ptr<StackTrie> trie);
  ~TrieReading() { Release(); }
  TrieReading(TrieReading&& other) noexcept : trie_(std::move(other.trie_)) {}
  TrieReading& operator=(TrieReading&&) = delete;

  void Release();
  [[nodiscard]] bool Knows(std::span<const StackTrie::Need> needs) const;
  [[nodiscard]] const std::vector<StackTrie::Node>& nodes() const {
    trie_->mutex_.AssertShared();
    return trie_->nodes();
  }
  [[nodiscard]] const std::vector<profile::FlameFunction>& functions() const {
    trie_->mutex_.AssertShared();
    return trie_->functions();
  }
  [[nodiscard]] const std::vector<StackTrie::FunctionHash>& hashes() const {
    trie_->mutex_.AssertShared();
    return trie_->hashes();
  }
  // No two functions have the same name.
  [[nodiscard]] bool names_are_unique() const {
    trie_->mutex_.AssertShared();
    return trie_->names_are_unique_;
  }
  // By stack id, of a dictionary it knows.
  [[nodiscard]] const std::vector<std::uint32_t>& StackNodes(
      const store::DictionaryKey& dictionary) const {
    trie_->mutex_.AssertShared();
    return trie_->dictionaries_.at(dictionary).stack_nodes;
  }

 private:
  std::shared_ptr<StackTrie> trie_;
};

// How a stored frame's functions are called; shared with exports.
[[nodiscard]] std::string_view FrameTypeOf(std::string_view encoded_attributes);

}  // namespace wherefore::query
