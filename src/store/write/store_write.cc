// Group commit: whatever arrived while the last group was synced is interned, logged with one sync,
// and answered.
#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/store_impl.h"
#include "store/write/encode_alert_events.h"
#include "store/write/encode_regression_events.h"
#include "store/write/segment_frame.h"

namespace wherefore::store {
namespace {

constexpr std::size_t kMaxGroupBytes = 64u << 20;
constexpr std::uint64_t kMaxWaitingBytes = std::uint64_t{1} << 30;

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

// Without memory for the answer the caller gives one of its own.
void Answer(const std::function<void(Result<profile::WriteAnswer>)>& done,
            Result<profile::WriteAnswer> answer) {
  try {
    done(std::move(answer));
  } catch (const std::exception& e) {
    Log(LogLevel::kError, "an answer could not be given", {{"error", e.what()}});
  }
}

}  // namespace

void StoreImpl::Write(profile::WriteRequest request,
                      std::function<void(Result<profile::WriteAnswer>)> done) {
  const std::size_t bytes = ApproximateBytes(request);
  ContentHashes hashes;
  profile::CounterReadings counters;
  try {
    if (const auto* batch = std::get_if<profile::Batch>(&request.data)) {
      hashes.Compute(*batch);
      if (request.counters) counters = profile::CounterReadings(*batch, request.tenant);
    }
  } catch (const std::bad_alloc&) {
    return done(ShortOfMemory());
  }
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
      queue_.push_back(
          {std::move(request), std::move(hashes), std::move(counters), std::move(done), bytes});
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
    Answers answers = CommitOrRefuse(group);
    metrics_.commit_seconds.ObserveNs(MonotonicNs() - begin);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      bytes += group[i].bytes;
      Answer(group[i].done, std::move(answers[i]));
    }
    group.clear();  // before others are told that there is room
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
  if (!replayed_ && !new_names_)
    return "what was logged before the restart is not in the engine yet: " + insert_error_;
  return {};
}

StoreImpl::Answers StoreImpl::CommitOrRefuse(std::vector<Pending>& group) {
  try {
    return CommitGroup(group);
  } catch (const std::bad_alloc&) {
    Log(LogLevel::kWarn, "requests were refused: there was no memory to store them");
  }
  MutexLock lock(intern_mutex_);
  ForgetUnloggedNames();
  return Answers(group.size(), ShortOfMemory());
}

void StoreImpl::ForgetUnloggedNames() {
  rows_ = RowSet();
  counter_bases_.PutBack(0);
  retire_writer_ = true;
}

std::string StoreImpl::MakeReady() {
  if (std::string refusal = RefusalReason(); !refusal.empty()) return refusal;
  if (retire_writer_) {
    if (auto retired = RetireWriter(); !retired) return retired.error().message();
  }
  if (auto logged = LogCarriedRows(); !logged) return logged.error().message();
  SwitchWriter(next_writer_.load());
  rows_.Clear();
  dictionaries_->NextRound();
  return {};
}

StoreImpl::Answers StoreImpl::EncodeGroup(std::vector<Pending>& group, FirstRequests& first,
                                          Additions& additions) {
  Answers answers;
  answers.reserve(group.size());
  const std::int64_t now = identity_clock_.Now();
  for (std::size_t i = 0; i < group.size(); ++i) {
    const profile::WriteRequest& request = group[i].request;
    // Before repeats are looked for: a repeat is one of the same tenant.
    if (auto claimed = tenant_names_.Claim({request.tenant, request.tenant_name}); !claimed) {
      answers.emplace_back(claimed.error());
      continue;
    }
    if (auto stored = identities_.Find(request.identity, now)) {
      metrics_.repeated.Add();
      answers.emplace_back(*std::move(stored));
      continue;
    }
    if (const auto found = first.find(request.identity); found != first.end()) {
      metrics_.repeated.Add();
      answers.push_back(answers[found->second]);
      if (answers.back()) answers.back()->repeated = true;
      continue;
    }
    first[request.identity] = i;
    answers.push_back(CommitOne(group[i], additions));
  }
  return answers;
}

void StoreImpl::CarryNames() {
  rows_.ClearMeasurements();
  carry_.Append(rows_);
  counter_bases_.PutBack(0);
}

StoreImpl::Answers StoreImpl::CommitGroup(std::vector<Pending>& group) {
  MutexLock lock(intern_mutex_);
  if (const std::string refusal = MakeReady(); !refusal.empty())
    return Answers(group.size(), Error(Code::kUnavailable, refusal));
  FirstRequests first;
  Additions additions;
  Answers answers = EncodeGroup(group, first, additions);
  if (additions.identities.empty()) return answers;
  if (const auto logged = LogRows(rows_, additions); !logged) {
    CarryNames();
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (first.contains(group[i].request.identity))
        answers[i] = Error(Code::kUnavailable, logged.error().message());
    }
    return answers;
  }
  counter_bases_.Keep();
  try {
    for (journal::IdentityRecord& record : additions.identities) identities_.Add(std::move(record));
  } catch (const std::bad_alloc&) {
    // It is logged, and that is the answer; only a repeat would not be known.
    Log(LogLevel::kWarn, "requests were stored, but there was no memory to remember them");
  }
  rows_.Clear();
  std::size_t bytes = 0;
  for (const Pending& pending : group) bytes += pending.bytes;
  TrimMemory(bytes);
  return answers;
}

// Counters become differences here, in the order of commits.
profile::CounterDifferences StoreImpl::TakeCounters(Pending& pending, std::uint64_t segment) {
  if (pending.counters.readings.empty()) return {};
  profile::WriteRequest& request = pending.request;
  journal::CounterBases* const bases =
      &counter_bases_;  // the lock is held while the function below is used
  auto differences =
      TakeDifferences(std::get<profile::Batch>(request.data), pending.counters, *request.counters,
                      [&](const Hash128& series) -> profile::CounterBase& {
                        return bases->Change(series, segment);
                      });
  profile::WriteAnswer& decoded = request.decoded;
  decoded.rejected += differences.rejected;
  if (!decoded.message.empty() && !differences.message.empty()) decoded.message += "; ";
  decoded.message += differences.message;
  // Profiles and samples were removed, and hashes are by index: compute them again.
  pending.hashes = ContentHashes();
  pending.hashes.Compute(std::get<profile::Batch>(request.data));
  return differences;
}

Result<profile::WriteAnswer> StoreImpl::CommitOne(Pending& pending, Additions& additions) {
  const profile::WriteRequest& request = pending.request;
  const std::uint64_t segment = wal_.current_number() + 1;  // or the one before: a safe upper bound
  const std::size_t mark = counter_bases_.Mark();
  profile::CounterDifferences counters = TakeCounters(pending, segment);
  const auto encode = [&]() REQUIRES(intern_mutex_) {
    return encoder_->Encode(request, pending.hashes, NowUnixNs(), segment, rows_);
  };
  auto answer = encode();
  if (!answer && answer.error().code() == Code::kCorrupt) {
    // Names cannot be read back: new ones are given ids of their own.
    Log(LogLevel::kError, "names were lost; going on under the next writer number",
        {{"error", answer.error().message()}});
    if (next_writer_.load() > dictionaries_->writer()) {
      SwitchWriter(next_writer_.load());
    } else if (auto retired = RetireWriter(); !retired) {
      return retired.error();
    }
    answer = encode();
  }
  if (!answer) {
    counter_bases_.PutBack(mark);
    return answer;
  }
  // What was refused counts again with the next profile of its series.
  std::set<Hash128> refused;
  for (const profile::CounterMove& move : counters.moves) {
    if (encoder_->refused().contains(move.profile)) refused.insert(move.series);
  }
  counter_bases_.PutBack(mark, refused);
  std::erase_if(counters.moves, [&](const auto& move) { return refused.contains(move.series); });
  std::ranges::move(counters.moves, std::back_inserter(additions.moves));
  additions.identities.push_back({.identity = request.identity,
                                  .time_ns = identity_clock_.Now(),
                                  .rejected = answer->rejected,
                                  .message = answer->message,
                                  .service = OnlyService(request),
                                  .tenant = request.tenant});
  return answer;
}

Result<std::uint32_t> StoreImpl::ClaimWriter() {
  MutexLock lock(writer_mutex_);
  const std::uint32_t number = claimed_writer_ + 1;
  WHEREFORE_RETURN_IF_ERROR(journal::ReplaceFile(paths_.writer, fmt::format("{}\n", number)));
  claimed_writer_ = number;
  return number;
}

Result<> StoreImpl::DistrustNames() {
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t number, ClaimWriter());
  next_writer_.store(number);
  names_lost_.store(true);
  return {};
}

Result<> StoreImpl::RetireWriter() {
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint32_t number, ClaimWriter());
  SwitchWriter(number);
  retire_writer_ = false;
  return {};
}

void StoreImpl::SwitchWriter(std::uint32_t writer) {
  if (writer <= dictionaries_->writer()) return;
  dictionaries_->Restart(writer);
  wal_.set_writer(writer);
}

void StoreImpl::TrimMemory(std::size_t bytes) {
  committed_bytes_ += bytes;
  // Adding up their sizes is not free.
  if (++commits_ % 256 != 0 && committed_bytes_ < options_.dictionary_bytes / 4) return;
  committed_bytes_ = 0;
  std::uint64_t inserted = 0;
  {
    MutexLock lock(state_mutex_);
    inserted = inserted_through_;
  }
  const std::size_t names = dictionaries_->Trim(inserted, options_.dictionary_bytes);
  counter_bases_.Trim(inserted, options_.dictionary_bytes / 2);
  names_memory_.Set(names);
  if (names <= options_.dictionary_bytes) return;
  // All are in use. Under another writer number names are stored a second time, but memory is
  // bounded.
  Log(LogLevel::kInfo, "names in use take more memory than they may; they begin anew",
      {{"bytes", names}, {"most", options_.dictionary_bytes}});
  retire_writer_ = true;
}

Result<> StoreImpl::LogRows(const RowSet& rows, const Additions& additions) {
  const auto appended = wal_.Append(EncodeFrame(additions.identities, additions.moves, rows));
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

Result<> StoreImpl::WriteAlertEvents(std::span<const AlertEvent> events) {
  RowSet rows;
  EncodeAlertEvents(events, NowUnixNs(), rows[Table::kAlertEvents]);
  return LogEvents(rows);
}

Result<> StoreImpl::WriteRegressionEvents(std::span<const RegressionEvent> events) {
  RowSet rows;
  EncodeRegressionEvents(events, NowUnixNs(), rows[Table::kRegressionEvents]);
  return LogEvents(rows);
}

Result<> StoreImpl::LogEvents(const RowSet& rows) {
  MutexLock lock(intern_mutex_);
  if (const std::string refusal = RefusalReason(); !refusal.empty())
    return Error(Code::kUnavailable, refusal);
  return LogRows(rows, {});
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
