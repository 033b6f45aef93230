// What the frames of a queue's two logs say (docs/format.md, "Queues of exporters"). Plain data and
// pure functions; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/formats.h"
#include "journal/identities.h"

namespace wherefore::gateway {

// One request of a sender.
struct QueueEntry {
  formats::Signal signal = formats::Signal::kProfiles;
  std::string tenant;               // its name; empty: none
  journal::IdentityRecord request;  // identity, tenant number, and what the sender is told
  std::uint32_t items = 0;          // samples or spans
  std::int64_t arrival_ns = 0;
  std::shared_ptr<const std::string> payload;  // OTLP, protobuf
};

// An entry as found in a frame. Views point into the frame.
struct StoredEntry {
  std::uint64_t number = 0;
  formats::Signal signal = formats::Signal::kProfiles;
  std::string_view tenant;
  journal::IdentityRecord request;
  std::uint32_t items = 0;
  std::int64_t arrival_ns = 0;
  std::uint64_t checksum = 0;  // of the payload
  std::size_t offset = 0;      // of the payload in the frame
  std::string_view payload;
};

// Appends an entry to a frame; returns where its payload begins in the frame.
std::size_t AppendEntry(std::string& frame, std::uint64_t number, const QueueEntry& entry);
// kCorrupt if the frame is none of ours.
[[nodiscard]] Result<std::vector<StoredEntry>> ParseEntries(std::string_view frame);

// Entries that are sent as one request. Its bytes follow from this record alone: the entries are
// merged in this order; then each character of `path` halves the request, '0' the first half, '1'
// the second.
struct BatchRecord {
  std::uint64_t id = 0;
  std::string path;
  std::vector<std::uint64_t> entries;
};

// The log of batches: begun, ended, and now and then everything that still counts.
struct BatchLogRecord {
  enum class Kind : std::uint8_t {
    kBegun = 1,     // from now on `batch` is under way
    kEnded = 2,     // sent or dropped
    kReplaced = 3,  // its entries are in other batches
    kFresh = 4      // forget everything before; `batch.entries` have left the queue
  };
  Kind kind = Kind::kBegun;
  BatchRecord batch;  // kEnded, kReplaced: the id alone. kFresh: id is the next one
};
void AppendBatchRecord(std::string& frame, const BatchLogRecord& record);
[[nodiscard]] Result<std::vector<BatchLogRecord>> ParseBatchRecords(std::string_view frame);

}  // namespace wherefore::gateway
