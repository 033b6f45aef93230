// Appending and the writer thread. Opening is in queue_open.cc, batches in queue_batches.cc.
#include "gateway/export/queue.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

namespace wherefore::gateway {
namespace {

constexpr std::uint64_t kSegmentBytes = 8u << 20;
constexpr std::uint64_t kIdleSegmentBytes = 1u << 20;  // closed when all of it is sent
constexpr std::uint64_t kGroupBytes = 16u << 20;
constexpr std::uint64_t kMaxOverflowBytes = 64u << 20;
constexpr std::size_t kMaxEntries = 1'000'000;

Error Stopping() {
  return {Code::kUnavailable, "the exporter is stopping"};
}

// One request that came twice within a group is written once; both senders get the answer.
void JoinTwins(std::vector<Queue::Done>& dones, const std::vector<Hash128>& identities,
               std::vector<bool>& twin) {
  std::map<Hash128, std::size_t> first;
  for (std::size_t i = 0; i < identities.size(); ++i) {
    const auto [known, fresh] = first.try_emplace(identities[i], i);
    if (fresh || identities[i] == Hash128{}) continue;
    twin[i] = true;
    dones[known->second] = [one = std::move(dones[known->second]),
                            two = std::move(dones[i])](const Result<profile::WriteAnswer>& answer) {
      one(answer);
      Result<profile::WriteAnswer> again = answer;
      if (again) again->repeated = true;
      two(std::move(again));
    };
  }
}

}  // namespace

Queue::Queue(QueueOptions options) : options_(std::move(options)) {}

Queue::~Queue() {
  Close();
}

void Queue::Close() {
  std::deque<Pending> unanswered;
  {
    MutexLock lock(mutex_);
    open_ = false;
    for (auto& [number, pending] : told_later_) unanswered.push_back(std::move(pending));
    told_later_.clear();
    for (Pending& pending : overflow_) unanswered.push_back(std::move(pending));
    overflow_.clear();
    for_writer_.NotifyAll();
    for_consumers_.NotifyAll();
  }
  if (writer_.joinable()) writer_.join();
  {
    MutexLock lock(mutex_);
    for (Pending& pending : pending_) unanswered.push_back(std::move(pending));
    pending_.clear();
  }
  for (const Pending& pending : unanswered) pending.done(Stopping());
}

std::uint64_t Queue::SizeOf(const Entry& entry, Sizer sizer) const {
  return sizer == Sizer::kRequests ? 1 : sizer == Sizer::kItems ? entry.items : entry.bytes;
}

std::uint64_t Queue::SizeOf(const QueueEntry& entry, Sizer sizer) {
  return sizer == Sizer::kRequests ? 1
         : sizer == Sizer::kItems  ? entry.items
                                   : entry.payload->size();
}

void Queue::Append(QueueEntry entry, Done done) {
  const std::uint64_t size = SizeOf(entry, options_.sizer);
  std::optional<Result<profile::WriteAnswer>> answer;
  {
    MutexLock lock(mutex_);
    const bool full =
        size_ + size > options_.size || entries_.size() + pending_.size() > kMaxEntries;
    if (!open_) {
      answer = Stopping();
    } else if (auto known = identities_.Find(entry.request.identity, clock_.Now())) {
      answer = *std::move(known);
    } else if (size > options_.size) {
      answer = Error(Code::kInvalid, fmt::format("a request larger than the whole queue ({} of {})",
                                                 size, options_.size));
    } else if (!full) {
      size_ += size;
      pending_.push_back({std::move(entry), std::move(done)});
      for_writer_.NotifyOne();
    } else if (options_.block_on_overflow &&
               overflow_bytes_ + entry.payload->size() <= kMaxOverflowBytes) {
      overflow_bytes_ += entry.payload->size();
      overflow_.push_back({std::move(entry), std::move(done)});
    } else {
      answer = Error(Code::kLimit, fmt::format("the queue is full ({} requests, {})",
                                               entries_.size() + pending_.size(),
                                               FormatBytes(static_cast<std::int64_t>(bytes_))));
    }
  }
  if (answer) done(*std::move(answer));
}

void Queue::AdmitWaiting() {
  while (!overflow_.empty()) {
    const std::uint64_t size = SizeOf(overflow_.front().entry, options_.sizer);
    if (size_ + size > options_.size) return;
    size_ += size;
    overflow_bytes_ -= overflow_.front().entry.payload->size();
    pending_.push_back(std::move(overflow_.front()));
    overflow_.pop_front();
    for_writer_.NotifyOne();
  }
}

void Queue::RunWriter() {
  while (true) {
    std::vector<Pending> group;
    bool check_segments = false;
    {
      MutexLock lock(mutex_);
      while (open_ && pending_.empty() && !check_segments_) for_writer_.Wait(mutex_);
      if (!open_ && pending_.empty()) return;
      check_segments = std::exchange(check_segments_, false);
      group = NextGroup();
    }
    if (!group.empty()) WriteGroup(std::move(group));
    if (check_segments) RemoveSegments();
  }
}

std::vector<Queue::Pending> Queue::NextGroup() {
  std::vector<Pending> group;
  std::uint64_t bytes = 0;
  while (!pending_.empty() && (group.empty() || bytes < kGroupBytes)) {
    bytes += pending_.front().entry.payload->size();
    group.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  return group;
}

void Queue::WriteGroup(std::vector<Pending> group) {
  std::vector<Done> dones;
  std::vector<Hash128> identities;
  for (Pending& pending : group) {
    dones.push_back(std::move(pending.done));
    identities.push_back(pending.entry.request.identity);
  }
  std::vector<bool> twin(group.size(), false);
  JoinTwins(dones, identities, twin);
  std::vector<Pending> fresh;
  std::uint64_t first = 0;
  {
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (twin[i]) {
        size_ -= SizeOf(group[i].entry, options_.sizer);
        continue;
      }
      group[i].done = std::move(dones[i]);
      group[i].entry.request.time_ns = clock_.Now();
      fresh.push_back(std::move(group[i]));
    }
    first = next_number_;
    next_number_ += fresh.size();
  }
  std::string frame;
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    QueueEntry entry = fresh[i].entry;
    // A sender that waits may be told to come again; then it must not be taken for a repeat.
    if (options_.wait_for_result) entry.request.identity = {};
    offsets.push_back(AppendEntry(frame, first + i, entry));
  }
  const auto place = wal_.AppendPlaced(frame);
  {
    MutexLock lock(mutex_);
    write_error_ = place ? std::string() : place.error().message();
    if (place) {
      AddEntries(fresh, offsets, first, *place);
    } else {
      for (const Pending& pending : fresh) size_ -= SizeOf(pending.entry, options_.sizer);
    }
  }
  if (place && options_.wait_for_result) return;
  for (const Pending& pending : fresh) {
    if (place) {
      pending.done(profile::WriteAnswer{pending.entry.request.rejected,
                                        pending.entry.request.message, false});
    } else {
      pending.done(Error(Code::kUnavailable, place.error().message()));
    }
  }
  if (place && wal_.current_bytes() > kSegmentBytes) {
    if (const auto rotated = wal_.Rotate(); !rotated)
      Log(LogLevel::kWarn, "queue: no new segment", {{"error", rotated.error().message()}});
  }
}

void Queue::AddEntries(const std::vector<Pending>& group, const std::vector<std::size_t>& offsets,
                       std::uint64_t first, journal::Wal::Place frame) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    const QueueEntry& entry = group[i].entry;
    const std::uint64_t number = first + i;
    const std::uint16_t lane = LaneOf(entry.signal, entry.tenant);
    const Entry& added =
        entries_[number] = {.place = {frame.segment, frame.offset + offsets[i]},
                            .bytes = static_cast<std::uint32_t>(entry.payload->size()),
                            .items = entry.items,
                            .checksum = Hash64(*entry.payload),
                            .arrival_ns = entry.arrival_ns,
                            .queued_ns = MonotonicNs(),
                            .lane = lane};
    lanes_[lane].waiting.push_back(number);
    if (options_.batch) lanes_[lane].size += SizeOf(added, options_.batch->sizer);
    bytes_ += added.bytes;
    ++segments_[frame.segment].live;
    if (options_.wait_for_result) {
      const auto [later, is_new] = told_later_.emplace(number, group[i]);
      later->second.entry.payload.reset();
    } else {
      identities_.Add(entry.request);
    }
  }
  for_consumers_.NotifyAll();
}

std::uint16_t Queue::LaneOf(formats::Signal signal, std::string_view tenant) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].signal == signal && lanes_[i].tenant == tenant)
      return static_cast<std::uint16_t>(i);
  }
  // A sender chooses its tenant's name. Beyond a bound, a lane that is empty takes the new one.
  constexpr std::size_t kManyLanes = 10'000;
  if (lanes_.size() >= kManyLanes) {
    std::set<std::uint16_t> used;
    for (const auto& [number, entry] : entries_) used.insert(entry.lane);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (used.contains(static_cast<std::uint16_t>(i))) continue;
      lanes_[i] = {.signal = signal, .tenant = std::string(tenant)};
      return static_cast<std::uint16_t>(i);
    }
  }
  lanes_.push_back({.signal = signal, .tenant = std::string(tenant)});
  return static_cast<std::uint16_t>(lanes_.size() - 1);
}

void Queue::RemoveSegments() {
  bool close_current = false;
  {
    MutexLock lock(mutex_);
    const auto current = segments_.find(wal_.current_number());
    close_current = current != segments_.end() && current->second.live == 0 &&
                    wal_.current_bytes() > kIdleSegmentBytes;
  }
  if (close_current) (void)wal_.Rotate();
  bool removed_any = false;
  for (const journal::Wal::Segment& segment : wal_.Closed()) {
    SegmentUse use;
    {
      MutexLock lock(mutex_);
      use = segments_[segment.number];
    }
    if (use.live > 0) continue;
    // On a full disk identities cannot be saved; they are, as soon as the segment has gone.
    (void)KeepIdentities(segment);
    const auto removed = use.damaged ? wal_.SetAside(segment.number) : wal_.Remove(segment.number);
    if (!removed) continue;
    removed_any = true;
    MutexLock lock(mutex_);
    segments_.erase(segment.number);
    std::erase_if(finished_, [&](const auto& one) { return one.second == segment.number; });
  }
  if (!removed_any) return;
  (void)SaveIdentities();
  MutexLock lock(batch_mutex_);
  batch_log_.Reserve();
}

Result<> Queue::KeepIdentities(const journal::Wal::Segment& segment) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string bytes, journal::ReadWholeFile(segment.path));
  WHEREFORE_ASSIGN_OR_RETURN(const auto content, journal::ParseSegment(bytes));
  std::int64_t now = 0;
  {
    MutexLock lock(mutex_);
    now = clock_.Now();
  }
  for (const std::string_view frame : content.frames) {
    const auto entries = ParseEntries(frame);
    if (!entries) continue;
    for (const StoredEntry& entry : *entries) {
      const bool counts = entry.request.identity != Hash128{} &&
                          now - entry.request.time_ns < journal::Identities::kLifetimeNs;
      if (counts) unsaved_identities_.push_back(entry.request);
    }
  }
  return SaveIdentities();
}

Result<> Queue::SaveIdentities() {
  if (unsaved_identities_.empty()) return {};
  std::int64_t now = 0;
  {
    MutexLock lock(mutex_);
    now = clock_.Now();
  }
  WHEREFORE_RETURN_IF_ERROR(identity_log_.Append(unsaved_identities_, now));
  unsaved_identities_.clear();
  return {};
}

QueueFigures Queue::figures() const {
  MutexLock lock(mutex_);
  return {.requests = entries_.size(),
          .bytes = bytes_,
          .size = size_,
          .oldest_ns = entries_.empty() ? 0 : entries_.begin()->second.arrival_ns,
          .damaged = damaged_,
          .write_error = write_error_};
}

}  // namespace wherefore::gateway
