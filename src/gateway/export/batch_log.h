// BatchLog: which entries are sent together, on disk before the first byte of them is sent, so that
// a retry after a crash carries the same bytes.
//
// Always:  after Open, `open` batches are those that were begun and not ended; an entry in
//          `finished` has left the queue.
// Failure: what cannot be written is kUnavailable. On a full disk a reserved file is given up
// first,
//          so that a queue can be emptied.
// Threads: not thread-safe; the queue's batch mutex guards it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/export/queue_records.h"
#include "journal/wal.h"

namespace wherefore::gateway {

class BatchLog {
 public:
  // What the log says, so far.
  struct State {
    std::uint64_t next_id = 1;
    std::map<std::uint64_t, BatchRecord> open;  // by id
    std::set<std::uint64_t> finished;           // entries
    std::map<std::uint64_t, int> batches_of;    // entries of open batches: in how many
    std::uint64_t damaged = 0;                  // frames that could not be read

    void Apply(const BatchLogRecord& record);
  };

  // `directory` is the queue's.
  Result<State> Open(const std::string& directory);
  Result<> Append(const std::vector<BatchLogRecord>& records);
  // Whether it is time to write everything anew.
  [[nodiscard]] bool IsLong() const;
  // Begins the log again with what still counts.
  Result<> Renew(const std::vector<BatchLogRecord>& everything);
  // Sets disk space aside again, if there is some.
  void Reserve();

 private:
  Result<> AppendFrame(std::string_view frame);
  void ReadSegment(const journal::Wal::Segment& segment, State& state);

  std::string reserve_;
  journal::Wal wal_;
  bool has_reserve_ = false;
};

}  // namespace wherefore::gateway
