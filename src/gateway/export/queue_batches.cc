// Batches: which entries are sent together, and what becomes of them.
#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "formats/otlp/merge.h"
#include "gateway/export/queue.h"

namespace wherefore::gateway {
namespace {

// What is merged in one piece, whatever the configuration says: memory is a few times this.
constexpr std::uint64_t kMaxBatchBytes = 16u << 20;
constexpr std::size_t kMaxBatchEntries = 4096;

using Kind = BatchLogRecord::Kind;

std::chrono::steady_clock::time_point At(std::int64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(monotonic_ns));
}

}  // namespace

Queue::Ready Queue::FindReady() const {
  Ready ready;
  std::uint64_t oldest = UINT64_MAX;
  const std::int64_t now = MonotonicNs();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Lane& lane = lanes_[i];
    if (lane.waiting.empty()) continue;
    const std::uint64_t head = lane.waiting.front();
    if (options_.batch && lane.size < options_.batch->min_size &&
        lane.waiting.size() < kMaxBatchEntries) {
      const std::int64_t queued = entries_.at(head).queued_ns;
      const std::int64_t due = queued == 0 ? 0 : queued + options_.batch->timeout_ns;
      if (due > now) {
        ready.next_ns = std::min(ready.next_ns, due);
        continue;
      }
    }
    if (head >= oldest) continue;
    oldest = head;
    ready.lane = i;
  }
  return ready;
}

bool Queue::IsFull(std::uint64_t size, std::uint64_t next, std::uint64_t bytes,
                   std::size_t count) const {
  if (count == 0) return false;
  if (!options_.batch || count >= kMaxBatchEntries || bytes >= kMaxBatchBytes) return true;
  const BatchOptions& batch = *options_.batch;
  if (batch.max_size > 0 && size + next > batch.max_size) return true;
  return batch.timeout_ns > 0 && batch.min_size > 0 && size >= batch.min_size;
}

QueuedBatch Queue::FormBatch(std::size_t lane_number, std::size_t most) {
  Lane& lane = lanes_[lane_number];
  const Sizer sizer = options_.batch ? options_.batch->sizer : Sizer::kRequests;
  QueuedBatch batch;
  batch.record.id = next_batch_++;
  std::uint64_t size = 0;
  std::uint64_t bytes = 0;
  const std::int64_t now = MonotonicNs();
  while (!lane.waiting.empty() && batch.record.entries.size() < most) {
    Entry& entry = entries_.at(lane.waiting.front());
    const std::uint64_t next = SizeOf(entry, sizer);
    const bool due = entry.queued_ns + (options_.batch ? options_.batch->timeout_ns : 0) <= now;
    if (options_.batch && options_.batch->only_due && !due && !batch.record.entries.empty()) break;
    if (IsFull(size, next, bytes, batch.record.entries.size())) break;
    size += next;
    bytes += entry.bytes;
    ++entry.batches;
    batch.record.entries.push_back(lane.waiting.front());
    lane.waiting.pop_front();
  }
  if (options_.batch) lane.size -= size;
  batches_[batch.record.id] = batch.record;
  Describe(batch);
  return batch;
}

void Queue::Describe(QueuedBatch& batch) const {
  for (const std::uint64_t number : batch.record.entries) {
    const Entry& entry = entries_.at(number);
    const Lane& lane = lanes_[entry.lane];
    batch.signal = lane.signal;
    batch.tenant = lane.tenant;
    batch.items += entry.items >> std::min<std::size_t>(batch.record.path.size(), 31);
    if (batch.oldest_ns == 0) batch.oldest_ns = entry.arrival_ns;
    batch.senders_wait |= told_later_.contains(number);
  }
}

void Queue::Undo(const QueuedBatch& batch) {
  batches_.erase(batch.record.id);
  for (const std::uint64_t number : std::views::reverse(batch.record.entries)) {
    Entry& entry = entries_.at(number);
    --entry.batches;
    lanes_[entry.lane].waiting.push_front(number);
    if (options_.batch) lanes_[entry.lane].size += SizeOf(entry, options_.batch->sizer);
  }
}

std::optional<QueuedBatch> Queue::Take() {
  QueuedBatch batch;
  std::size_t lane = 0;
  {
    MutexLock lock(mutex_);
    for (Ready ready; !ready.lane;) {
      if (!open_) return std::nullopt;
      if (!returned_.empty()) {
        batch = std::move(returned_.front());
        returned_.pop_front();
        return batch;
      }
      ready = FindReady();
      if (ready.lane) {
        lane = *ready.lane;
        batch = FormBatch(lane, kMaxBatchEntries);
      } else if (ready.next_ns == INT64_MAX) {
        for_consumers_.Wait(mutex_);
      } else {
        for_consumers_.WaitUntil(mutex_, At(ready.next_ns));
      }
    }
  }
  MutexLock batch_lock(batch_mutex_);
  const auto noted = batch_log_.Append({{Kind::kBegun, batch.record}});
  if (noted) {
    RenewBatchLog();
    return batch;
  }
  // Not even the reserve is left. A single request can be sent without a note, and makes room: its
  // bytes are its own. If this process is killed before that, it may be sent again with others.
  MutexLock lock(mutex_);
  write_error_ = noted.error().message();
  Undo(batch);
  return FormBatch(lane, 1);
}

Result<std::string> Queue::Read(const QueuedBatch& batch) const {
  std::vector<Entry> entries;
  {
    MutexLock lock(mutex_);
    for (const std::uint64_t number : batch.record.entries) entries.push_back(entries_.at(number));
  }
  std::vector<std::string> payloads;
  for (const Entry& entry : entries) {
    WHEREFORE_ASSIGN_OR_RETURN(payloads.emplace_back(), wal_.Read(entry.place, entry.bytes));
    if (payloads.back().size() != entry.bytes || Hash64(payloads.back()) != entry.checksum) {
      return Error(Code::kCorrupt, fmt::format("queue: segment {} is damaged at {}",
                                               entry.place.segment, entry.place.offset));
    }
  }
  const std::vector<std::string_view> views(payloads.begin(), payloads.end());
  WHEREFORE_ASSIGN_OR_RETURN(std::string bytes, formats::MergeOtlp(batch.signal, views));
  for (const char half : batch.record.path) {
    WHEREFORE_ASSIGN_OR_RETURN(auto halves, formats::HalveOtlp(batch.signal, bytes));
    bytes = std::move(halves[half == '0' ? 0 : 1]);
  }
  return bytes;
}

Result<> Queue::Halve(const QueuedBatch& batch) {
  QueuedBatch halves[2];
  const auto& entries = batch.record.entries;
  const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(entries.size() / 2);
  MutexLock batch_lock(batch_mutex_);
  {
    MutexLock lock(mutex_);
    for (QueuedBatch& half : halves) half.record.id = next_batch_++;
  }
  for (int i = 0; i < 2; ++i) {
    BatchRecord& record = halves[i].record;
    record.path = batch.record.path;
    if (entries.size() > 1) {
      record.entries.assign(i == 0 ? entries.begin() : middle, i == 0 ? middle : entries.end());
    } else {
      record.entries = entries;
      record.path += static_cast<char>('0' + i);
    }
  }
  WHEREFORE_RETURN_IF_ERROR(batch_log_.Append({{Kind::kBegun, halves[0].record},
                                               {Kind::kBegun, halves[1].record},
                                               {Kind::kReplaced, {.id = batch.record.id}}}));
  MutexLock lock(mutex_);
  for (const std::uint64_t number : entries) --entries_.at(number).batches;
  batches_.erase(batch.record.id);
  for (int i = 1; i >= 0; --i) {
    for (const std::uint64_t number : halves[i].record.entries) ++entries_.at(number).batches;
    batches_[halves[i].record.id] = halves[i].record;
    Describe(halves[i]);
    returned_.push_front(std::move(halves[i]));
  }
  for_consumers_.NotifyAll();
  return {};
}

void Queue::Finish(const QueuedBatch& batch, const Result<profile::WriteAnswer>& outcome) {
  std::vector<Done> told;
  {
    MutexLock batch_lock(batch_mutex_);
    if (const auto noted = batch_log_.Append({{Kind::kEnded, {.id = batch.record.id}}}); !noted) {
      static LogLimiter limiter(10);
      if (limiter.Allow()) {
        Log(LogLevel::kWarn, "queue: what was sent may be sent again after a crash",
            {{"error", noted.error().message()}});
      }
    }
    MutexLock lock(mutex_);
    batches_.erase(batch.record.id);
    for (const std::uint64_t number : batch.record.entries) {
      if (--entries_.at(number).batches == 0) Leave(number, told, outcome.has_value());
    }
    AdmitWaiting();
  }
  for (const Done& done : told) done(outcome);
  MutexLock batch_lock(batch_mutex_);
  RenewBatchLog();
}

void Queue::Leave(std::uint64_t number, std::vector<Done>& told, bool accepted) {
  const auto entry = entries_.find(number);
  const std::uint64_t segment = entry->second.place.segment;
  size_ -= SizeOf(entry->second, options_.sizer);
  bytes_ -= entry->second.bytes;
  finished_[number] = segment;
  if (--segments_[segment].live == 0) {
    check_segments_ = true;
    for_writer_.NotifyOne();
  }
  entries_.erase(entry);
  const auto waits = told_later_.find(number);
  if (waits == told_later_.end()) return;
  if (accepted) Remember(waits->second.entry.request);
  told.push_back(std::move(waits->second.done));
  told_later_.erase(waits);
}

void Queue::PutBack(const QueuedBatch& batch) {
  MutexLock lock(mutex_);
  returned_.push_front(batch);
  for_consumers_.NotifyOne();
}

std::vector<BatchLogRecord> Queue::Everything() const {
  std::vector<BatchLogRecord> records;
  BatchLogRecord fresh{Kind::kFresh, {.id = next_batch_}};
  for (const auto& [number, segment] : finished_) fresh.batch.entries.push_back(number);
  records.push_back(std::move(fresh));
  for (const auto& [id, batch] : batches_) records.push_back({Kind::kBegun, batch});
  return records;
}

void Queue::RenewBatchLog() {
  if (!batch_log_.IsLong()) return;
  std::vector<BatchLogRecord> everything;
  {
    MutexLock lock(mutex_);
    everything = Everything();
  }
  if (const auto renewed = batch_log_.Renew(everything); !renewed)
    Log(LogLevel::kWarn, "queue: the log of batches stays long",
        {{"error", renewed.error().message()}});
}

}  // namespace wherefore::gateway
