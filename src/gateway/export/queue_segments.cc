// Segments whose requests are all sent: what of them must outlive them, and their end.
#include <algorithm>
#include <iterator>
#include <utility>

#include "gateway/export/queue.h"

namespace wherefore::gateway {
namespace {

constexpr std::uint64_t kIdleSegmentBytes = 1u << 20;  // closed when all of it is sent

}  // namespace

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
    if (!KeepFacts(segment)) continue;
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

// On a full disk identities cannot be saved; they are, as soon as the segment has gone. Bases must
// be: without them counters would count again.
Result<> Queue::KeepFacts(const journal::Wal::Segment& segment) {
  const auto bytes = journal::ReadWholeFile(segment.path);
  const auto content =
      bytes ? journal::ParseSegment(*bytes) : Result<journal::SegmentContent>(bytes.error());
  if (!content) return {};  // nothing can be read any more
  std::int64_t now = 0;
  {
    MutexLock lock(mutex_);
    now = clock_.Now();
  }
  std::vector<profile::CounterMove> moves;
  for (const std::string_view frame : content->frames) {
    auto entries = ParseEntries(frame);
    if (!entries) continue;
    for (StoredEntry& entry : *entries) {
      const bool counts = entry.request.identity != Hash128{} &&
                          now - entry.request.time_ns < journal::Identities::kLifetimeNs;
      if (counts) unsaved_identities_.push_back(entry.request);
      std::ranges::move(entry.moves, std::back_inserter(moves));
    }
  }
  WHEREFORE_RETURN_IF_ERROR(KeepMoves(moves));
  (void)SaveIdentities();
  return {};
}

Result<> Queue::KeepMoves(const std::vector<profile::CounterMove>& moves) {
  constexpr std::size_t kBasesBytes = 32u << 20;  // in memory; the others are read again
  if (moves.empty()) return {};
  WHEREFORE_RETURN_IF_ERROR(counter_files_.Write(moves));
  WHEREFORE_RETURN_IF_ERROR(journal::SyncFileSystem(options_.directory));
  WHEREFORE_RETURN_IF_ERROR(counter_files_.Publish());
  const auto closed = wal_.Closed();
  counter_bases_.Trim(closed.empty() ? 0 : closed.front().number, kBasesBytes);
  return {};
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

}  // namespace wherefore::gateway
