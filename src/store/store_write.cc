// Group commit: whatever arrived while the last group was synced is interned, logged with one sync,
// and answered.
#include <unordered_map>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/segment_frame.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

constexpr std::size_t kMaxGroupBytes = 64u << 20;
constexpr std::uint64_t kMaxWaitingBytes = std::uint64_t{1} << 30;
constexpr std::size_t kDictionaryBytes = 128u << 20;

std::size_t ApproximateBytes(const profile::WriteRequest& request) {
  return std::visit([](const auto& batch) { return batch.ApproximateBytes(); }, request.data) +
         request.body_bytes;
}

// The service a request is of; 0 when it is of several.
std::uint64_t OnlyService(const profile::WriteRequest& request) {
  return std::visit(
      [](const auto& batch) {
        std::uint64_t only = 0;
        for (std::size_t i = 1; i < batch.resources.size(); ++i) {
          const std::uint64_t service = Hash64(profile::ServiceName(batch, batch.resources[i]));
          if (only != 0 && only != service) return std::uint64_t{0};
          only = service;
        }
        return only;
      },
      request.data);
}

}  // namespace

void StoreImpl::Write(profile::WriteRequest request,
                      std::function<void(Result<profile::WriteAnswer>)> done) {
  const std::size_t bytes = ApproximateBytes(request);
  ContentHashes hashes;
  if (const auto* batch = std::get_if<profile::Batch>(&request.data)) hashes.Compute(*batch);
  std::string refusal;
  Code code = Code::kLimit;
  {
    MutexLock lock(state_mutex_);
    if (stopping_) {
      code = Code::kUnavailable;
      refusal = "the store is shutting down";
    } else if (queued_bytes_ > 0 && queued_bytes_ + bytes > options_.max_queued_bytes) {
      // A single request over the limit still gets in when nothing else waits.
      refusal = fmt::format("queue full: {} bytes wait to be stored", queued_bytes_);
    } else {
      queued_bytes_ += bytes;
      metrics_.queue_bytes.Set(static_cast<std::int64_t>(queued_bytes_));
      queue_.push_back({std::move(request), std::move(hashes), std::move(done), bytes});
      queue_changed_.NotifyOne();
      return;
    }
  }
  done(Error(code, refusal));
}

void StoreImpl::RunWriter() {
  while (true) {
    std::vector<Pending> group = TakeGroup();
    if (group.empty()) return;
    const std::int64_t begin = MonotonicNs();
    Answers answers = CommitGroup(group);
    metrics_.commit_seconds.ObserveNs(MonotonicNs() - begin);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      group[i].done(std::move(answers[i]));
      bytes += group[i].bytes;
    }
    MutexLock lock(state_mutex_);
    queued_bytes_ -= bytes;
    metrics_.queue_bytes.Set(static_cast<std::int64_t>(queued_bytes_));
  }
}

std::vector<StoreImpl::Pending> StoreImpl::TakeGroup() {
  std::vector<Pending> group;
  MutexLock lock(state_mutex_);
  while (queue_.empty() && !stopping_) queue_changed_.Wait(state_mutex_);
  std::size_t bytes = 0;
  while (!queue_.empty() && (group.empty() || bytes + queue_.front().bytes <= kMaxGroupBytes)) {
    bytes += queue_.front().bytes;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group;
}

std::string StoreImpl::RefusalReason() const {
  if (wal_.closed_bytes() > kMaxWaitingBytes) {
    MutexLock lock(state_mutex_);
    return insert_error_.empty() ? "too much waits to be inserted" : insert_error_;
  }
  MutexLock lock(state_mutex_);
  if (!replayed_)
    return "what was logged before the restart is not in the engine yet: " + insert_error_;
  return {};
}

StoreImpl::Answers StoreImpl::CommitGroup(std::vector<Pending>& group) {
  Answers answers;
  answers.reserve(group.size());
  MutexLock lock(intern_mutex_);
  std::string refusal = RefusalReason();
  if (refusal.empty()) {
    if (auto logged = LogCarriedRows(); !logged) refusal = logged.error().message();
  }
  if (!refusal.empty()) {
    for (std::size_t i = 0; i < group.size(); ++i)
      answers.emplace_back(Error(Code::kUnavailable, refusal));
    return answers;
  }
  rows_.Clear();
  dictionaries_->NextRound();
  const std::int64_t now = NowUnixNs();
  const std::uint64_t segment = wal_.current_number() + 1;  // or the one before: a safe upper bound
  std::vector<IdentityRecord> identities;
  std::unordered_map<Hash128, std::size_t> in_group;  // identity -> index of its first request
  for (std::size_t i = 0; i < group.size(); ++i) {
    const profile::WriteRequest& request = group[i].request;
    if (auto first = identities_.Find(request.identity, now)) {
      metrics_.repeated.Add();
      answers.emplace_back(*std::move(first));
      continue;
    }
    if (const auto found = in_group.find(request.identity); found != in_group.end()) {
      metrics_.repeated.Add();
      answers.push_back(answers[found->second]);
      if (answers.back()) answers.back()->repeated = true;
      continue;
    }
    in_group[request.identity] = i;
    answers.push_back(encoder_->Encode(request, group[i].hashes, now, segment, rows_));
    if (answers.back()) {
      identities.push_back({request.identity, now, answers.back()->rejected,
                            answers.back()->message, OnlyService(request)});
    }
  }
  if (identities.empty()) return answers;
  const auto logged = LogRows(rows_, identities);
  if (!logged) {
    // Ids given to new names are in use from now on: their rows go first into the next frame.
    rows_.ClearMeasurements();
    carry_.Append(rows_);
    for (const auto& [identity, index] : in_group) {
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (group[i].request.identity == identity) {
          answers[i] = Error(Code::kUnavailable, logged.error().message());
        }
      }
    }
    return answers;
  }
  for (IdentityRecord& record : identities) identities_.Add(std::move(record));
  TrimDictionaries();
  return answers;
}

void StoreImpl::TrimDictionaries() {
  if (++commits_ % 256 != 0) return;  // adding up their sizes is not free
  std::uint64_t inserted = 0;
  {
    MutexLock lock(state_mutex_);
    inserted = inserted_through_;
  }
  dictionaries_->Trim(inserted, kDictionaryBytes);
}

Result<> StoreImpl::LogRows(const RowSet& rows, const std::vector<IdentityRecord>& identities) {
  const auto appended = wal_.Append(EncodeFrame(identities, rows));
  Result<> result;
  if (!appended) result = appended.error();
  SetLogError(result);
  if (!result) return result;
  // A segment is read whole to be inserted: while the inserter is busy it must not grow on.
  if (wal_.current_bytes() >= 2 * options_.flush_bytes) {
    if (const auto rotated = wal_.Rotate(); !rotated) {
      Log(LogLevel::kWarn, "the log's segment cannot be closed",
          {{"error", rotated.error().message()}});
    }
  }
  MutexLock lock(state_mutex_);
  if (first_unflushed_ns_ == 0) {
    first_unflushed_ns_ = MonotonicNs();
    work_changed_.NotifyAll();
  } else if (wal_.current_bytes() >= options_.flush_bytes) {
    work_changed_.NotifyAll();
  }
  return {};
}

Result<> StoreImpl::LogCarriedRows() {
  if (carry_.empty()) return {};
  WHEREFORE_RETURN_IF_ERROR(LogRows(carry_, {}));
  carry_.Clear();
  return {};
}

void StoreImpl::SetLogError(const Result<>& result) {
  const std::string message = result ? "" : result.error().message();
  MutexLock lock(state_mutex_);
  if (message.empty() != log_error_.empty()) {
    if (message.empty()) {
      Log(LogLevel::kInfo, "requests can be logged again");
    } else {
      Log(LogLevel::kError, "requests cannot be logged", {{"error", message}});
    }
  }
  log_error_ = message;
  if (!message.empty()) work_changed_.NotifyAll();
}

}  // namespace wherefore::store
