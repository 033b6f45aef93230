// The write-ahead log: what was acknowledged and is not in the engine yet.
//
// Segment files are wal/000001.log, 000002.log, ...; one is open for appending, the closed ones
// wait to be inserted. A frame holds one group of requests and is either complete (its checksum
// fits) or absent. Layout: docs/format.md, "Write-ahead log".
//
// Failure: a frame that could not be written and synced is truncated and does not count. After a
//          failed sync the file is not trusted any more: the next append opens a new segment.
// Threads: any; one internal mutex. Reading a closed segment needs no lock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "journal/file.h"

namespace wherefore::journal {

// Stored on disk: never change. Version 1 has no header checksums.
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
  std::uint64_t nonce = 0;  // random; keeps tokens unique even if somebody deletes the log
};

// The parsed content of a segment. `frames` are views into its bytes.
struct SegmentContent {
  SegmentHeader header;
  bool header_is_damaged = false;  // the checksum does not fit; valid frames still count
  std::vector<std::string_view> frames;
  // A range that was written completely but is not a valid frame: acknowledged data is lost.
  struct Gap {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  std::vector<Gap> damaged;
  // At the end: a frame that was being written when the process died; never acknowledged.
  std::size_t torn_bytes = 0;
};
// kCorrupt if there is no header, kUnsupported for a later version. Safe for any bytes.
[[nodiscard]] Result<SegmentContent> ParseSegment(std::string_view bytes);

class Wal {
 public:
  struct Segment {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::string path;
  };

  // Finds the segments of the last run and opens a new one after them. On a full disk the first
  // Append opens it, so that stored data can still be read and deleted.
  Result<> Open(const std::string& directory, std::uint32_t writer);

  // Where a frame's payload begins.
  struct Place {
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
  };

  // Durable if it succeeds. Returns the segment's number.
  Result<std::uint64_t> Append(std::string_view payload);
  // The same for a caller that reads single frames again.
  Result<Place> AppendPlaced(std::string_view payload);
  // Bytes of a segment, closed or not; shorter where the file ends. Whoever reads checks them.
  [[nodiscard]] Result<std::string> Read(Place from, std::size_t size) const;
  // Closes the current segment, if it has frames, and opens the next.
  Result<> Rotate();

  // Closed segments, oldest first.
  [[nodiscard]] std::vector<Segment> Closed() const;
  // Call when its rows are in the engine.
  Result<> Remove(std::uint64_t number);
  // Renames a damaged segment to NNNNNN.bad.
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
  std::uint64_t size_ GUARDED_BY(mutex_) = kSegmentHeaderBytes;  // valid bytes, header included
  std::uint64_t nonce_ GUARDED_BY(mutex_) = 0;
  bool distrusted_ GUARDED_BY(mutex_) = false;
};

}  // namespace wherefore::journal
