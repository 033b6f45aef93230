// Appending and the writer thread. Opening is in queue_open.cc, batches in queue_batches.cc, the
// end of segments in queue_segments.cc.
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

Queue::Queue(QueueOptions options)
    : options_(std::move(options)), counter_files_(options_.directory + "/cumulative") {}

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
    } else if (auto known = FirstAnswer(entry.request)) {
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

// A request without an identity is never a repeat.
std::optional<profile::WriteAnswer> Queue::FirstAnswer(
    const journal::IdentityRecord& request) const {
  if (request.identity == Hash128{}) return std::nullopt;
  return identities_.Find(request.identity, clock_.Now());
}

std::optional<profile::WriteAnswer> Queue::Known(const Hash128& identity) const {
  MutexLock lock(mutex_);
  return FirstAnswer({.identity = identity});
}

void Queue::Remember(const journal::IdentityRecord& request) {
  if (request.identity != Hash128{}) identities_.Add(request);
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
  // Of requests that were being written when these came.
  std::vector<std::pair<Done, profile::WriteAnswer>> repeats;
  std::uint64_t first = 0;
  {
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < group.size(); ++i) {
      auto known = twin[i] ? std::nullopt : FirstAnswer(group[i].entry.request);
      if (known) repeats.emplace_back(std::move(dones[i]), *std::move(known));
      if (known || twin[i]) {
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
  for (auto& [done, answer] : repeats) done(std::move(answer));
  if (fresh.empty()) return;
  std::size_t bytes = 0;
  for (const Pending& pending : fresh) bytes += pending.entry.payload->size() + 256;
  std::string frame;
  frame.reserve(bytes);
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (fresh[i].entry.cumulative) TakeDifferences(fresh[i].entry);
    QueueEntry entry = fresh[i].entry;
    // A sender that waits may be told to come again; then it must not be taken for a repeat.
    if (Waits(entry)) entry.request.identity = {};
    offsets.push_back(AppendEntry(frame, first + i, entry));
  }
  const auto place = wal_.AppendPlaced(frame);
  {
    MutexLock lock(mutex_);
    write_error_ = place ? std::string() : place.error().message();
    if (place) {
      counter_bases_.Keep();
      AddEntries(fresh, offsets, first, *place);
    } else {
      counter_bases_.PutBack(0);
      for (const Pending& pending : fresh) size_ -= SizeOf(pending.entry, options_.sizer);
    }
  }
  Tell(fresh, place);
  if (place && wal_.current_bytes() > kSegmentBytes) {
    if (const auto rotated = wal_.Rotate(); !rotated)
      Log(LogLevel::kWarn, "queue: no new segment", {{"error", rotated.error().message()}});
  }
}

// What came of counters moves bases, so it is not given back: its sender does not wait. Nor does
// one for whom nothing is sent.
bool Queue::Waits(const QueueEntry& entry) const {
  return options_.wait_for_result && !entry.cumulative && !entry.payload->empty();
}

void Queue::TakeDifferences(QueueEntry& entry) {
  profile::Batch& batch = entry.cumulative->batch;
  const profile::CounterReadings readings(batch, entry.request.tenant);
  // A failed sync may open the next segment.
  const std::uint64_t segment = wal_.current_number() + 1;
  profile::CounterDifferences differences =
      profile::TakeDifferences(batch, readings, entry.cumulative->first,
                               [&](const Hash128& series) -> profile::CounterBase& {
                                 return counter_bases_.Change(series, segment);
                               });
  entry.request.rejected += differences.rejected;
  if (entry.request.message.empty()) entry.request.message = std::move(differences.message);
  entry.moves = std::move(differences.moves);
  MutexLock lock(mutex_);
  size_ -= SizeOf(entry, options_.sizer);
  entry.items = static_cast<std::uint32_t>(batch.samples.size());
  entry.payload = std::make_shared<const std::string>(
      entry.items == 0 ? std::string() : formats::EncodeOtlpProfiles(batch));
  size_ += SizeOf(entry, options_.sizer);
}

void Queue::Tell(const std::vector<Pending>& group,
                 const Result<journal::Wal::Place>& place) const {
  for (const Pending& pending : group) {
    if (!place) {
      pending.done(Error(Code::kUnavailable, place.error().message()));
    } else if (!Waits(pending.entry)) {
      const journal::IdentityRecord& request = pending.entry.request;
      pending.done(profile::WriteAnswer{request.rejected, request.message, false});
    }
  }
}

void Queue::AddEntries(const std::vector<Pending>& group, const std::vector<std::size_t>& offsets,
                       std::uint64_t first, journal::Wal::Place frame) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    const QueueEntry& entry = group[i].entry;
    const std::uint64_t number = first + i;
    if (!Waits(entry)) Remember(entry.request);
    SegmentUse& segment = segments_[frame.segment];
    if (entry.payload->empty()) {  // counters that did not move
      finished_[number] = frame.segment;
      size_ -= SizeOf(entry, options_.sizer);
      continue;
    }
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
    ++segment.live;
    if (!Waits(entry)) continue;
    const auto [later, is_new] = told_later_.emplace(number, group[i]);
    later->second.entry.payload.reset();
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
