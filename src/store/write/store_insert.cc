// From the log into the engine: closed segments only, oldest first, each chunk under its own token.
//
// A segment's chunks are cut from its bytes alone, so inserting it again, after an error or a crash
// at any moment, sends the same bytes under the same tokens, and the engine counts them once.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"
#include "store/write/segment_frame.h"

namespace wherefore::store {
namespace {

constexpr auto kRetry = std::chrono::seconds(1);
constexpr auto kIdle = std::chrono::seconds(60);
// After an insert that only queries asked for, the next such one waits this many times as long as
// it took.
constexpr std::int64_t kRestAfterCatchUp = 2;
constexpr std::int64_t kLongestRestNs = 200'000'000;

}  // namespace

Result<> StoreImpl::LoadRequests() {
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<journal::IdentityRecord> records,
                             identity_log_.Open(paths_.identities));
  for (const journal::Wal::Segment& segment : wal_.Closed()) {
    WHEREFORE_ASSIGN_OR_RETURN(const std::string bytes, journal::ReadWholeFile(segment.path));
    const auto content = journal::ParseSegment(bytes);
    if (!content) continue;  // reported when it is to be inserted
    std::vector<profile::CounterMove> moves;
    for (std::string_view frame : content->frames) {
      if (!ParseRequests(frame, content->header.version, records, moves)) break;
    }
    // Their files have them once the segment is inserted.
    for (const profile::CounterMove& move : moves)
      Apply(move, counter_bases_.Change(move.series, segment.number));
    counter_bases_.Keep();
  }
  std::int64_t newest = 0;
  for (journal::IdentityRecord& record : records) {
    newest = std::max(newest, record.time_ns);
    identities_.Add(std::move(record));
  }
  identity_clock_.ResumeFrom(newest);
  return {};
}

void StoreImpl::RunInserter() {
  std::int64_t next_retention_ns = 0;
  while (true) {
    const bool more = WaitForWork();
    ProbeLog();
    {
      MutexLock lock(state_mutex_);
      first_unflushed_ns_ = 0;
      flush_asked_ = false;
      catch_up_asked_ = false;
      if (retention_confirmed_) next_retention_ns = 0;
    }
    if (auto rotated = wal_.Rotate(); !rotated) SetLogError(rotated);
    const std::int64_t begin = MonotonicNs();
    try {
      InsertClosedSegments();
      const std::int64_t end = MonotonicNs();
      MutexLock lock(state_mutex_);
      next_catch_up_ns_ = end + std::min(kRestAfterCatchUp * (end - begin), kLongestRestNs);
    } catch (const std::bad_alloc&) {
      MutexLock lock(state_mutex_);
      SetInsertError(ShortOfMemory().message());
      ++rounds_;
      flush_changed_.NotifyAll();
    }
    const bool pins_found = FindPins();  // before anything that is pinned could go
    if (pins_found && !options_.retention.KeepsAll() && MonotonicNs() >= next_retention_ns) {
      next_retention_ns = MonotonicNs() + options_.retention_every_ns;
      if (auto dropped = DropOldBuckets(options_.now()); !dropped) {
        Log(LogLevel::kError, "cannot drop old data", {{"error", dropped.error().message()}});
      }
    }
    if (!more) return;
  }
}

// False when the store closes and everything was answered: one more round, then the end.
bool StoreImpl::WaitForWork() {
  using Clock = std::chrono::steady_clock;
  const auto idle_until = Clock::now() + kIdle;
  const auto retry_at = Clock::now() + kRetry;
  MutexLock lock(state_mutex_);
  while (true) {
    if (writer_done_) return false;
    const bool failing = !insert_error_.empty() || !log_error_.empty();
    if (flush_asked_ && !stopping_) return true;
    if (!failing && (wal_.current_bytes() >= options_.flush_bytes || wal_.closed_bytes() > 0)) {
      return true;
    }
    auto wake = failing ? retry_at : idle_until;
    if (catch_up_asked_ && !failing && !stopping_) {
      const std::int64_t rest = next_catch_up_ns_ - MonotonicNs();
      if (rest <= 0) return true;
      wake = std::min(wake, Clock::now() + std::chrono::nanoseconds(rest));
    }
    if (first_unflushed_ns_ != 0) {
      const std::int64_t left = first_unflushed_ns_ + options_.flush_interval_ns - MonotonicNs();
      if (left <= 0 && !failing) return true;
      wake = std::min(wake, std::max(Clock::now() + std::chrono::nanoseconds(left),
                                     failing ? retry_at : Clock::now()));
    }
    if (!work_changed_.WaitUntil(state_mutex_, wake) &&
        Clock::now() >= (failing ? retry_at : idle_until)) {
      return true;
    }
  }
}

void StoreImpl::ProbeLog() {
  {
    MutexLock lock(state_mutex_);
    if (log_error_.empty()) return;
  }
  // A frame without rows: does the disk take bytes again? Then say so before the next sender asks.
  MutexLock lock(intern_mutex_);
  const auto logged = carry_.empty() ? LogRows(RowSet(), {}) : LogCarriedRows();
  if (!logged) SetLogError(logged);
}

void StoreImpl::InsertClosedSegments() {
  MutexLock insert(insert_mutex_);
  std::string problem;
  const std::uint64_t current = wal_.current_number();
  // Also where nothing is to be inserted: a merge may have failed.
  if (auto mended = transport_->Mend(); !mended) problem = mended.error().message();
  for (const journal::Wal::Segment& segment : wal_.Closed()) {
    if (!problem.empty()) break;
    const std::int64_t begin = MonotonicNs();
    if (auto inserted = InsertSegment(segment); !inserted) {
      problem = inserted.error().message();
      break;
    }
    metrics_.insert_seconds.ObserveNs(MonotonicNs() - begin);
    MutexLock lock(state_mutex_);
    SetInsertError("");  // before whoever waits for this segment goes on
    inserted_through_ = segment.number;
    flush_changed_.NotifyAll();
  }
  metrics_.segments.Set(static_cast<std::int64_t>(wal_.Closed().size()));
  if (problem.empty() && !compared_) {
    // Once, before anything is written under ids that may have been lost.
    Result<> compared = SetWrongRangesAside();
    if (compared) compared = CompareWithLedger();
    if (compared && names_lost_.load()) compared = RestoreLostNames();
    compared_ = static_cast<bool>(compared);
    if (!compared) problem = compared.error().message();
  }
  const bool damaged = !ledger_.lost().empty();
  MutexLock lock(state_mutex_);
  SetInsertError(problem);
  if (problem.empty()) {
    if (!replayed_ && damaged) look_for_damage_ = true;  // whose is it?
    replayed_ = true;
    inserted_through_ = std::max(inserted_through_, current - 1);
  }
  ++rounds_;
  flush_changed_.NotifyAll();
  if (names_lost_.load()) upkeep_changed_.NotifyAll();  // what came may name them
}

void StoreImpl::SetInsertError(const std::string& problem) {
  if (problem.empty() != insert_error_.empty()) {
    if (problem.empty()) {
      Log(LogLevel::kInfo, "logged rows can be inserted again");
    } else {
      Log(LogLevel::kError, "logged rows cannot be inserted", {{"error", problem}});
    }
  }
  insert_error_ = problem;
}

namespace {

// What of a segment can be used, and what is wrong with it (empty: nothing).
struct SegmentToInsert {
  journal::SegmentHeader header;
  FrameContent content;
  std::string damage;
};

Result<SegmentToInsert> ReadSegment(const journal::Wal::Segment& segment) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string bytes, journal::ReadWholeFile(segment.path));
  SegmentToInsert out;
  const auto parsed = journal::ParseSegment(bytes);
  if (!parsed) {
    out.damage = parsed.error().message();
    return out;
  }
  out.header = parsed->header;
  out.header.number = segment.number;  // the file's name says it too, and was not damaged
  if (parsed->torn_bytes > 0) {
    Log(LogLevel::kInfo, "the log ends in a request that was not acknowledged; it is ignored",
        {{"segment", segment.path}, {"bytes", parsed->torn_bytes}});
  }
  std::vector<std::string> problems;
  if (parsed->header_is_damaged) problems.emplace_back("its header does not fit its checksum");
  for (const auto& [from, to] : parsed->damaged) {
    problems.push_back(fmt::format("no good frame in bytes {} to {}", from, to));
  }
  for (const std::string_view frame : parsed->frames) {
    if (auto added = ParseFrame(frame, parsed->header.version, out.content); !added) {
      problems.push_back(added.error().message());
    }
  }
  out.damage = fmt::format("{}", fmt::join(problems, "; "));
  return out;
}

// Always the same for the same segment: it may be half inserted.
std::size_t RowsOfABlock(const Rows& rows, const journal::SegmentHeader& header) {
  return header.version == 1 ? 1'000'000 : rows.RowsOfABlock();
}

}  // namespace

Result<> StoreImpl::InsertSegment(const journal::Wal::Segment& segment) {
  MemoryHold memory;
  memory.Set(2 * segment.bytes);  // it must go on: newcomers wait
  const Result<SegmentToInsert> found = ReadSegment(segment);
  if (!found) return found.error();
  const SegmentToInsert& read = *found;
  // Names may be lost with a frame, and their ids are in use.
  if (!read.damage.empty() && distrusted_segment_ != segment.number) {
    WHEREFORE_RETURN_IF_ERROR(DistrustNames());
    distrusted_segment_ = segment.number;
  }
  WHEREFORE_RETURN_IF_ERROR(InsertRows(read.content.rows, read.header));
  WHEREFORE_RETURN_IF_ERROR(counter_files_.Write(read.content.moves));
  // One sync for all parts and for the engine's list of tokens; only then may the log forget.
  WHEREFORE_RETURN_IF_ERROR(journal::SyncFileSystem(paths_.root));
  WHEREFORE_RETURN_IF_ERROR(counter_files_.Publish());
  ledger_.Add(read.content.rows, read.header);
  WHEREFORE_RETURN_IF_ERROR(ledger_.Save());
  WHEREFORE_RETURN_IF_ERROR(identity_log_.Append(read.content.identities, identity_clock_.Now()));
  if (read.damage.empty()) return wal_.Remove(segment.number);
  std::string damage =
      fmt::format("log segment {} is damaged ({}); every frame that is good was kept", segment.path,
                  read.damage);
  Log(LogLevel::kError, damage);
  {
    MutexLock lock(state_mutex_);
    damage_.push_back(std::move(damage));
  }
  return wal_.SetAside(segment.number);
}

Result<> StoreImpl::InsertRows(const RowSet& rows, const journal::SegmentHeader& header) {
  std::string block;
  for (const Rows& table : rows.tables()) {
    NativeCutter cutter(table, RowsOfABlock(table, header));
    std::size_t count = 0;
    while (cutter.Next(block, count)) {
      const std::string writer = header.version == 1 ? fmt::format("{}-", header.writer) : "";
      const std::string token =
          fmt::format("{}{}-{:016x}-{}-{}", writer, header.number, header.nonce,
                      Definition(table.table()).name, cutter.name());
      const auto inserted = transport_->Insert(PhysicalName(table.table()), block, token);
      // Also after an error: part of it may be visible.
      if (Definition(table.table()).is_dictionary) generation_.fetch_add(1);
      if (!inserted) return inserted.error();
      metrics_.inserted_rows[static_cast<std::size_t>(table.table())]->Add(count);
    }
  }
  return {};
}

Result<> StoreImpl::CatchUp(const CancelToken& cancel) {
  const std::uint64_t target = LastLogged();
  MutexLock lock(state_mutex_);
  while (inserted_through_ < target && !stopping_) {
    if (!insert_error_.empty() || !log_error_.empty()) return {};
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    if (!catch_up_asked_) {
      catch_up_asked_ = true;
      work_changed_.NotifyAll();
    }
    constexpr auto kLookForCancel = std::chrono::milliseconds(100);
    flush_changed_.WaitUntil(state_mutex_, std::chrono::steady_clock::now() + kLookForCancel);
  }
  return {};
}

Result<> StoreImpl::Flush() {
  // Rows of a group are in the log before it is answered, so the current segment is the last that
  // matters.
  const std::uint64_t target = LastLogged();
  MutexLock lock(state_mutex_);
  const std::uint64_t round = rounds_;
  flush_asked_ = true;
  work_changed_.NotifyAll();
  while (inserted_through_ < target && !stopping_) {
    // The round that was running when we came may have begun before our rows were closed.
    if (rounds_ >= round + 2 && !insert_error_.empty())
      return Error(Code::kUnavailable, insert_error_);
    if (rounds_ >= round + 2 && !log_error_.empty()) return Error(Code::kUnavailable, log_error_);
    flush_changed_.Wait(state_mutex_);
    if (inserted_through_ < target) {
      flush_asked_ = true;
      work_changed_.NotifyAll();
    }
  }
  if (inserted_through_ < target) return Error(Code::kUnavailable, "the store is shutting down");
  return {};
}

}  // namespace wherefore::store
