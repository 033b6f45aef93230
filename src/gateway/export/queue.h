// Queue: the requests of one exporter that are not sent yet, on disk.
//
// Two logs: entries/ has the requests, batches/ which of them are sent together. Payloads are read
// again when they are sent; memory has about 150 bytes for each.
//
// Always:  Append calls `done` with a value only after the request is synced. A batch's boundaries
//          are synced before Take returns it, and its bytes follow from them, so that a retry after
//          a crash carries the same bytes. (On a disk without any room single requests are sent, so
//          that there will be some.) A repeated request (by its identity, over restarts) gets
//          the first answer and is queued once.
// Failure: full: kLimit, unless it may wait; a disk that cannot be written: kUnavailable. Requests
//          in a damaged part of a file are lost and counted; the rest is sent, then the file is
//          renamed to NNNNNN.bad.
// Threads: any. A thread of its own writes; `done` is called on it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "gateway/export/batch_log.h"
#include "gateway/export/exporter.h"
#include "gateway/export/queue_records.h"
#include "journal/counter_bases.h"
#include "journal/file.h"
#include "journal/identities.h"
#include "journal/wal.h"

namespace wherefore::gateway {

struct QueuedBatch {
  BatchRecord record;
  formats::Signal signal = formats::Signal::kProfiles;
  std::string tenant;
  std::uint64_t items = 0;     // of its entries; after a halving, estimated
  std::int64_t oldest_ns = 0;  // arrival of its first entry
  bool senders_wait = false;   // for what the next hop says (wait_for_result)
};

struct QueueFigures {
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;     // of the requests
  std::uint64_t size = 0;      // by the sizer
  std::int64_t oldest_ns = 0;  // arrival; 0: empty
  std::uint64_t damaged = 0;   // parts of files that could not be read
  std::string write_error;     // why the last write failed; empty: it did not
};

class Queue {
 public:
  using Done = std::function<void(Result<profile::WriteAnswer>)>;

  explicit Queue(QueueOptions options);
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue();

  // Finds what the last run left. kUnavailable if another process has this queue.
  Result<> Open();
  // Ends every Take, and answers what was not written with kUnavailable.
  void Close();
  // Another exporter may open this directory. After Close, when no batch is under way any more.
  void Unlock() { lock_ = {}; }

  void Append(QueueEntry entry, Done done);
  // The first answer, if this request was queued before.
  [[nodiscard]] std::optional<profile::WriteAnswer> Known(const Hash128& identity) const;
  // Waits for the next batch; none after Close.
  [[nodiscard]] std::optional<QueuedBatch> Take();
  // The bytes of a batch. kCorrupt: one of its entries is damaged, or cannot be merged.
  [[nodiscard]] Result<std::string> Read(const QueuedBatch& batch) const;
  // Puts two batches in its place: half of the entries each, or halves of the only one.
  Result<> Halve(const QueuedBatch& batch);
  // The batch was sent, or is given up. Senders that wait get `outcome`.
  void Finish(const QueuedBatch& batch, const Result<profile::WriteAnswer>& outcome);
  // Puts a batch back that was not sent. The next Take may return it.
  void PutBack(const QueuedBatch& batch);

  [[nodiscard]] QueueFigures figures() const;

 private:
  struct Entry {
    journal::Wal::Place place;  // of the payload
    std::uint32_t bytes = 0;
    std::uint32_t items = 0;
    std::uint64_t checksum = 0;
    std::int64_t arrival_ns = 0;
    std::int64_t queued_ns = 0;  // monotonic; 0: in an earlier run
    std::uint32_t batches = 0;   // that it is part of
    std::uint16_t lane = 0;
  };
  // Entries that may be sent together: of one signal and one tenant.
  struct Lane {
    formats::Signal signal = formats::Signal::kProfiles;
    std::string tenant;
    std::deque<std::uint64_t> waiting;
    std::uint64_t size = 0;  // of those, by the batch's sizer
  };
  struct Pending {
    QueueEntry entry;
    Done done;
  };
  struct SegmentUse {
    std::uint64_t live = 0;  // entries that are not finished
    bool damaged = false;
  };

  [[nodiscard]] std::uint64_t SizeOf(const Entry& entry, Sizer sizer) const;
  [[nodiscard]] static std::uint64_t SizeOf(const QueueEntry& entry, Sizer sizer);
  std::uint16_t LaneOf(formats::Signal signal, std::string_view tenant) REQUIRES(mutex_);

  [[nodiscard]] std::optional<profile::WriteAnswer> FirstAnswer(
      const journal::IdentityRecord& request) const REQUIRES(mutex_);
  void Remember(const journal::IdentityRecord& request) REQUIRES(mutex_);

  // Opening.
  Result<> LockDirectory();
  Result<> ReadIdentities();
  Result<> ReadSegments(const BatchLog::State& state);
  Result<> ReadSegment(const journal::Wal::Segment& segment, const BatchLog::State& state)
      REQUIRES(mutex_);
  void Restore(const StoredEntry& stored, journal::Wal::Place frame, bool in_batch)
      REQUIRES(mutex_);
  void RestoreBatches(const BatchLog::State& state) REQUIRES(mutex_);

  // The writer thread.
  void RunWriter();
  std::vector<Pending> NextGroup() REQUIRES(mutex_);
  void AdmitWaiting() REQUIRES(mutex_);
  void WriteGroup(std::vector<Pending> group);
  void TakeDifferences(QueueEntry& entry);
  void Tell(const std::vector<Pending>& group, const Result<journal::Wal::Place>& place) const;
  [[nodiscard]] bool Waits(const QueueEntry& entry) const;
  void AddEntries(const std::vector<Pending>& group, const std::vector<std::size_t>& offsets,
                  std::uint64_t first, journal::Wal::Place frame) REQUIRES(mutex_);
  void RemoveSegments();
  // What outlives a segment.
  Result<> KeepMoves(const std::vector<profile::CounterMove>& moves);
  Result<> KeepFacts(const journal::Wal::Segment& segment);
  Result<> SaveIdentities();

  // Batches.
  struct Ready {
    std::optional<std::size_t> lane;
    std::int64_t next_ns = INT64_MAX;  // monotonic: when the next lane may be ready
  };
  [[nodiscard]] Ready FindReady() const REQUIRES(mutex_);
  QueuedBatch FormBatch(std::size_t lane, std::size_t most) REQUIRES(mutex_);
  [[nodiscard]] bool IsFull(std::uint64_t size, std::uint64_t next, std::uint64_t bytes,
                            std::size_t count) const;
  void Undo(const QueuedBatch& batch) REQUIRES(mutex_);
  void Describe(QueuedBatch& batch) const REQUIRES(mutex_);
  void Leave(std::uint64_t number, std::vector<Done>& told, bool accepted) REQUIRES(mutex_);
  [[nodiscard]] std::vector<BatchLogRecord> Everything() const REQUIRES(mutex_);
  void RenewBatchLog() REQUIRES(batch_mutex_);

  const QueueOptions options_;
  journal::File lock_;
  journal::Wal wal_;                                         // entries/
  journal::IdentityLog identity_log_;                        // the writer thread's
  std::vector<journal::IdentityRecord> unsaved_identities_;  // the writer thread's
  journal::CounterFiles counter_files_;                      // the writer thread's, as the next
  journal::CounterBases counter_bases_{counter_files_};

  Mutex batch_mutex_;  // before mutex_
  BatchLog batch_log_ GUARDED_BY(batch_mutex_);

  mutable Mutex mutex_;
  CondVar for_writer_;
  CondVar for_consumers_;
  bool open_ GUARDED_BY(mutex_) = false;
  std::map<std::uint64_t, Entry> entries_ GUARDED_BY(mutex_);  // live, by number
  std::deque<Lane> lanes_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, BatchRecord> batches_ GUARDED_BY(mutex_);  // under way, by id
  std::deque<QueuedBatch> returned_ GUARDED_BY(mutex_);              // their boundaries are on disk
  std::map<std::uint64_t, SegmentUse> segments_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::uint64_t> finished_ GUARDED_BY(mutex_);  // number -> its segment
  std::unordered_map<std::uint64_t, Pending> told_later_ GUARDED_BY(mutex_);  // wait_for_result
  journal::Identities identities_ GUARDED_BY(mutex_);
  journal::IdentityClock clock_ GUARDED_BY(mutex_);
  std::deque<Pending> pending_ GUARDED_BY(mutex_);
  std::deque<Pending> overflow_ GUARDED_BY(mutex_);  // block_on_overflow
  std::uint64_t overflow_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t size_ GUARDED_BY(mutex_) = 0;  // entries and pending ones, by the sizer
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t next_number_ GUARDED_BY(mutex_) = 1;
  std::uint64_t next_batch_ GUARDED_BY(mutex_) = 1;
  std::uint64_t damaged_ GUARDED_BY(mutex_) = 0;
  std::string write_error_ GUARDED_BY(mutex_);
  bool check_segments_ GUARDED_BY(mutex_) = false;
  std::thread writer_;
};

}  // namespace wherefore::gateway
