// The write-ahead log: what was acknowledged and is not in the engine yet.
//
// Segment files wal/000001.log, 000002.log ...; one is open for appending, the closed ones wait to
// be inserted. A frame is one group of requests: it is there whole (its checksum fits) or not at
// all. Layout: docs/format.md, "Write-ahead log".
//
// Failure: a frame that could not be written and synced is cut off again, and nothing of it counts.
// After a failed sync the file is not trusted any more: the next append opens a new segment.
//
// Threads: any; one internal mutex. Reading a closed segment needs none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "store/file.h"

namespace wherefore::store {

// Saved on disk: never change. Version 1 has no checksums of headers.
inline constexpr std::string_view kSegmentMagic{"WFLOG\0\0\1", 8};
inline constexpr std::uint32_t kSegmentVersion = 2;
// magic, u32 version, u32 writer, u64 number, u64 nonce, u64 checksum of these
inline constexpr std::size_t kSegmentHeaderBytes = 40;
inline constexpr std::uint32_t kFrameMarker = 0x31524657;  // "WFR1"
// u32 length, u32 marker, u64 checksum of the payload, u64 checksum of these
inline constexpr std::size_t kFrameHeaderBytes = 24;

struct SegmentHeader {
  std::uint32_t version = kSegmentVersion;
  std::uint32_t writer = 0;
  std::uint64_t number = 0;
  std::uint64_t nonce = 0;  // random; makes tokens unique even if somebody deletes the log
};

// What a segment's bytes say. `frames` are views into them.
struct SegmentContent {
  SegmentHeader header;
  bool header_is_damaged = false;  // its checksum does not fit; frames that check out count
  std::vector<std::string_view> frames;
  // Bytes that were written whole and are no good frame: some of what was acknowledged is gone.
  struct Gap {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  std::vector<Gap> damaged;
  // At the end: a frame that was being written when the process died, never acknowledged.
  std::size_t torn_bytes = 0;
};
// kCorrupt when not even a header is there, kUnsupported for a later version. Any bytes are safe to
// pass.
[[nodiscard]] Result<SegmentContent> ParseSegment(std::string_view bytes);

class Wal {
 public:
  struct Segment {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::string path;
  };

  // Finds the segments left by the last run and opens a new one behind them; on a full disk the
  // first Append does that, so that what is stored can be read and deleted.
  Result<> Open(const std::string& directory, std::uint32_t writer);

  // Durable when it returns without an error. Returns the segment's number.
  Result<std::uint64_t> Append(std::string_view payload);
  // Closes the current segment if it holds frames and opens the next.
  Result<> Rotate();

  // Closed segments, oldest first.
  [[nodiscard]] std::vector<Segment> Closed() const;
  // After its rows are in the engine.
  Result<> Remove(std::uint64_t number);
  // Puts a damaged segment out of the way as NNNNNN.bad.
  Result<> SetAside(std::uint64_t number);

  [[nodiscard]] std::uint64_t current_number() const;
  [[nodiscard]] std::uint64_t current_bytes() const;  // frames only
  [[nodiscard]] std::uint64_t closed_bytes() const;
  void set_writer(std::uint32_t writer);  // for segments opened from now on

 private:
  Result<> FindSegments() REQUIRES(mutex_);
  Result<> OpenNext() REQUIRES(mutex_);
  Result<> RotateLocked() REQUIRES(mutex_);
  [[nodiscard]] std::string PathOf(std::uint64_t number, std::string_view extension) const;

  std::string directory_;
  mutable Mutex mutex_;
  std::uint32_t writer_ GUARDED_BY(mutex_) = 1;
  std::vector<Segment> closed_ GUARDED_BY(mutex_);
  File file_ GUARDED_BY(mutex_);
  std::uint64_t number_ GUARDED_BY(mutex_) = 0;
  std::uint64_t size_ GUARDED_BY(mutex_) = kSegmentHeaderBytes;  // good bytes, header included
  std::uint64_t nonce_ GUARDED_BY(mutex_) = 0;
  bool distrusted_ GUARDED_BY(mutex_) = false;
};

}  // namespace wherefore::store
