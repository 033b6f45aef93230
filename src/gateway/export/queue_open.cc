// Opening a queue: what the last run left.
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "gateway/export/queue.h"

namespace wherefore::gateway {

Result<> Queue::Open() {
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  if (error) return journal::ErrnoError(error.value(), "cannot create", options_.directory);
  WHEREFORE_RETURN_IF_ERROR(journal::MakePrivate(options_.directory));
  WHEREFORE_RETURN_IF_ERROR(LockDirectory());
  WHEREFORE_RETURN_IF_ERROR(wal_.Open(options_.directory + "/entries", 1));
  MutexLock batch_lock(batch_mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const BatchLog::State state, batch_log_.Open(options_.directory));
  WHEREFORE_RETURN_IF_ERROR(ReadIdentities());
  WHEREFORE_RETURN_IF_ERROR(ReadSegments(state));
  std::vector<BatchLogRecord> everything;
  {
    MutexLock lock(mutex_);
    everything = Everything();
    check_segments_ = true;
    open_ = true;
  }
  if (const auto renewed = batch_log_.Renew(everything); !renewed)
    Log(LogLevel::kWarn, "queue: the log of batches stays long",
        {{"error", renewed.error().message()}});
  writer_ = std::thread([this] { RunWriter(); });
  return {};
}

// Two processes that empty one queue would send everything twice.
Result<> Queue::LockDirectory() {
  WHEREFORE_ASSIGN_OR_RETURN(lock_,
                             journal::File::Open(options_.directory + "/lock", O_RDWR | O_CREAT));
  if (flock(lock_.fd(), LOCK_EX | LOCK_NB) == 0) return {};
  return Error(Code::kUnavailable,
               fmt::format("the queue {} is in use by another exporter", options_.directory));
}

Result<> Queue::ReadIdentities() {
  WHEREFORE_ASSIGN_OR_RETURN(auto records,
                             identity_log_.Open(options_.directory + "/identities.log"));
  std::int64_t newest = 0;
  MutexLock lock(mutex_);
  for (journal::IdentityRecord& record : records) {
    newest = std::max(newest, record.time_ns);
    identities_.Add(std::move(record));
  }
  clock_.ResumeFrom(newest);
  return {};
}

Result<> Queue::ReadSegments(const BatchLog::State& state) {
  MutexLock lock(mutex_);
  next_batch_ = state.next_id;
  for (const journal::Wal::Segment& segment : wal_.Closed())
    WHEREFORE_RETURN_IF_ERROR(ReadSegment(segment, state));
  RestoreBatches(state);
  std::uint64_t last = 0;
  if (!entries_.empty()) last = entries_.rbegin()->first;
  if (!finished_.empty()) last = std::max(last, finished_.rbegin()->first);
  if (!state.finished.empty()) last = std::max(last, *state.finished.rbegin());
  // By the clock too, so that a number is never used again if both logs were emptied.
  next_number_ = std::max(last + 1, static_cast<std::uint64_t>(NowUnixNs()));
  return {};
}

Result<> Queue::ReadSegment(const journal::Wal::Segment& segment, const BatchLog::State& state) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string bytes, journal::ReadWholeFile(segment.path));
  const auto content = journal::ParseSegment(bytes);
  if (!content && content.error().code() == Code::kUnsupported) return content.error();
  SegmentUse& use = segments_[segment.number];
  std::uint64_t damaged = content ? content->damaged.size() : 1;
  std::int64_t newest = 0;
  for (const std::string_view frame : content ? content->frames : std::vector<std::string_view>()) {
    const journal::Wal::Place place{segment.number,
                                    static_cast<std::uint64_t>(frame.data() - bytes.data())};
    const auto entries = ParseEntries(frame);
    if (!entries) ++damaged;
    for (const StoredEntry& entry : entries ? *entries : std::vector<StoredEntry>()) {
      newest = std::max(newest, entry.request.time_ns);
      if (entry.request.identity != Hash128{}) identities_.Add(entry.request);
      if (state.finished.contains(entry.number)) {
        finished_[entry.number] = segment.number;
      } else {
        Restore(entry, place, state.batches_of.contains(entry.number));
      }
    }
  }
  if (newest > clock_.Now()) clock_.ResumeFrom(newest);
  if (damaged == 0) return {};
  use.damaged = true;
  damaged_ += damaged;
  Log(LogLevel::kError, "a queue's file is damaged; what can be read is sent, then it is set aside",
      {{"file", segment.path}, {"places", damaged}});
  return {};
}

void Queue::Restore(const StoredEntry& stored, journal::Wal::Place frame, bool in_batch) {
  const std::uint16_t lane = LaneOf(stored.signal, stored.tenant);
  const Entry& entry =
      entries_[stored.number] = {.place = {frame.segment, frame.offset + stored.offset},
                                 .bytes = static_cast<std::uint32_t>(stored.payload.size()),
                                 .items = stored.items,
                                 .checksum = stored.checksum,
                                 .arrival_ns = stored.arrival_ns,
                                 .lane = lane};
  ++segments_[frame.segment].live;
  size_ += SizeOf(entry, options_.sizer);
  bytes_ += entry.bytes;
  if (in_batch) return;
  lanes_[lane].waiting.push_back(stored.number);
  if (options_.batch) lanes_[lane].size += SizeOf(entry, options_.batch->sizer);
}

// Batches that were begun go on as they are. An entry that was lost to damage is left out.
void Queue::RestoreBatches(const BatchLog::State& state) {
  for (const auto& [id, record] : state.open) {
    QueuedBatch batch{.record = {.id = id, .path = record.path, .entries = {}}};
    for (const std::uint64_t number : record.entries) {
      const auto entry = entries_.find(number);
      if (entry == entries_.end()) continue;
      ++entry->second.batches;
      batch.record.entries.push_back(number);
    }
    if (batch.record.entries.empty()) continue;
    Describe(batch);
    batches_[id] = batch.record;
    returned_.push_back(std::move(batch));
  }
}

}  // namespace wherefore::gateway
