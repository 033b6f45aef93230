// One chunk of a JFR file: header, classes, constant pools, events.
//
// A file is a sequence of independent chunks. Events follow each other, each with its size; two
// kinds of them are not events but the class descriptions and the constant pools. Pools are found
// by walking over all events instead of following the chain of offsets: the result is the same, and
// loops are impossible. Pool entries are indexed by position and parsed when needed. One thread at
// a time; views point into the file's bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/jfr/cursor.h"
#include "formats/jfr/types.h"
#include "profile/batch.h"

namespace wherefore::formats {

// The entries of one pool, by key.
class JfrPool {
 public:
  struct Entry {
    std::int64_t key = 0;
    std::uint32_t at = 0;      // position of its value in the chunk
    profile::Id resolved = 0;  // set by whoever reads the pool: what this entry became
  };
  void Add(std::int64_t key, std::size_t at) {
    entries_.push_back({key, static_cast<std::uint32_t>(at), 0});
  }
  void Sort();
  [[nodiscard]] Entry* Find(std::int64_t key) {
    if (entries_.empty()) return nullptr;
    // Keys are nearly always consecutive.
    const std::uint64_t guess =
        static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(entries_.front().key);
    if (guess < entries_.size() && entries_[guess].key == key) return &entries_[guess];
    const auto it = std::ranges::lower_bound(entries_, key, {}, &Entry::key);
    return it != entries_.end() && it->key == key ? &*it : nullptr;
  }

 private:
  std::vector<Entry> entries_;
};

class JfrChunk {
 public:
  enum Pool : std::uint8_t {
    kStrings,
    kSymbols,
    kClasses,
    kMethods,
    kThreads,
    kThreadStates,
    kFrameTypes,
    kStackTraces,
    kPools
  };
  struct Header {
    std::uint64_t size = 0;
    std::uint64_t metadata = 0;
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t ticks_per_second = 0;
    bool compressed = false;
  };
  static constexpr std::size_t kHeaderBytes = 68;

  // The chunk at `offset` of the file; `number` is for messages.
  static Result<JfrChunk> Read(std::string_view file, std::size_t offset, std::size_t number);

  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] const JfrTypes& types() const { return types_; }
  [[nodiscard]] JfrPool& pool(Pool which) { return pools_[which]; }
  [[nodiscard]] JfrCursor At(std::size_t at) const { return {bytes_, at, header_.compressed}; }

  // Calls fn(class number, cursor) for every event; the cursor is behind the class number and ends
  // with the event. fn returns "" or an error.
  template <typename Fn>
  Result<> EachEvent(Fn fn) const;

  // Reads fields of one pool entry; false if its bytes are malformed.
  [[nodiscard]] bool ReadEntry(Pool which, const JfrPool::Entry& entry, JfrRow& row) const {
    JfrCursor in = At(entry.at);
    types_.Walk(in, plans_[which], row);
    return in.ok();
  }
  // UTF-8 in most cases (see JfrUtf8); pooled strings are looked up.
  [[nodiscard]] std::string Text(const JfrText& text);
  // The text of an entry in a pool of names; "" if there is none.
  [[nodiscard]] std::string NameIn(Pool which, std::int64_t key);
  [[nodiscard]] Error Corrupt(std::string_view what, std::size_t at, std::string_view reason) const;

  // The frames of a stack trace: calls fn(method, line, frame type) for each, leaf first.
  template <typename Fn>
  [[nodiscard]] bool EachFrame(const JfrPool::Entry& trace, Fn fn) const;

 private:
  Result<> ReadHeader(std::string_view file);
  Result<> ReadTypes();
  Result<> ReadPools();
  std::string ReadCheckpoint(JfrCursor& in);
  void PlanPools();

  std::string_view bytes_;  // of this chunk
  std::size_t offset_ = 0;
  std::size_t number_ = 0;
  Header header_;
  JfrTypes types_;
  std::array<JfrPool, kPools> pools_;
  std::array<std::int64_t, kPools> pool_types_{};
  std::array<std::vector<JfrStep>, kPools> plans_;
  std::vector<JfrStep> frame_plan_;
  std::size_t frames_step_ = 0;  // in plans_[kStackTraces]: the array of frames
};

template <typename Fn>
Result<> JfrChunk::EachEvent(Fn fn) const {
  std::size_t at = kHeaderBytes;
  while (at < bytes_.size()) {
    JfrCursor head = At(at);
    const std::int64_t size = head.Int();
    if (!head.ok() || size <= 0 || static_cast<std::uint64_t>(size) > bytes_.size() - at) {
      return Corrupt("event", at, "its size does not fit into the chunk");
    }
    const std::size_t end = at + static_cast<std::size_t>(size);
    JfrCursor in(bytes_.substr(0, end), head.at(), header_.compressed);
    const std::int64_t type = in.Long();
    if (!in.ok()) return Corrupt("event", at, "it is shorter than its head");
    if (const std::string wrong = fn(type, in); !wrong.empty()) return Corrupt("event", at, wrong);
    at = end;
  }
  return {};
}

template <typename Fn>
bool JfrChunk::EachFrame(const JfrPool::Entry& trace, Fn fn) const {
  const std::vector<JfrStep>& steps = plans_[kStackTraces];
  if (frames_step_ >= steps.size()) return true;
  JfrCursor in = At(trace.at);
  JfrRow row;
  types_.Walk(in, std::span(steps).first(frames_step_), row);
  const std::int64_t count = in.Int();
  for (std::int64_t i = 0; i < count && in.ok(); ++i) {
    row.numbers = {};
    types_.Walk(in, frame_plan_, row);
    if (in.ok() && !fn(row.numbers[0], row.numbers[1], row.numbers[2])) return true;
  }
  return in.ok();
}

}  // namespace wherefore::formats
