#include "store/memory/memory_store.h"

#include <utility>
#include <variant>

#include "base/clock.h"
#include "store/hours/hours.h"
#include "store/write/content_hash.h"
#include "store/write/encode_alert_events.h"
#include "store/write/encode_regression_events.h"

namespace wherefore::store::memory {

Result<std::string> NothingStored::Query(std::string_view /*sql*/, const QueryLimits& /*limits*/,
                                         const CancelToken& cancel) {
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  return std::string();  // no block, so no row
}
Result<> NothingStored::Execute(std::string_view /*sql*/, const Settings& /*settings*/) {
  return Error(Code::kUnsupported, "there is no engine");
}
Result<> NothingStored::Insert(std::string_view /*table*/, std::string_view /*native_block*/,
                               std::string_view /*token*/) {
  return Error(Code::kUnsupported, "there is no engine");
}

MemoryStore::MemoryStore(EncodeOptions options)
    : dictionaries_(nothing_, writer_.load(), writer_),
      encoder_(dictionaries_, options),
      named_functions_([](const DictionaryKey&) { return std::vector<std::uint64_t>(); }) {}

void MemoryStore::Write(profile::WriteRequest request,
                        std::function<void(Result<profile::WriteAnswer>)> done) {
  if (request.counters) {
    return done(Error(Code::kUnsupported, "a store in memory keeps no bases of counters"));
  }
  ContentHashes hashes;
  if (const auto* batch = std::get_if<profile::Batch>(&request.data)) hashes.Compute(*batch);
  done(Store(request, hashes));
}

Result<> MemoryStore::WriteAlertEvents(std::span<const AlertEvent> events) {
  RowSet rows;
  EncodeAlertEvents(events, NowUnixNs(), rows[Table::kAlertEvents]);
  return reader_.Add(rows);
}

Result<> MemoryStore::RollHours(std::int64_t now_ns) {
  MutexLock lock(mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<HourRow> hours, reader_.EveryHour());
  for (const HourRow& hour : hours) {
    if (hour.IsCurrent() || DueAt(hour, {.after_ns = 0, .again_ns = 0, .every_ns = 0}) > now_ns)
      continue;
    WHEREFORE_ASSIGN_OR_RETURN(const HourSamples samples,
                               ReadHour(reader_, hour.dictionary, hour.hour, {}));
    RowSet rows;
    WHEREFORE_ASSIGN_OR_RETURN(const bool fits,
                               EncodeHour(reader_, samples, now_ns, named_functions_, rows, {}));
    if (fits) WHEREFORE_RETURN_IF_ERROR(reader_.Add(rows));
  }
  return {};
}

Result<> MemoryStore::WriteRegressionEvents(std::span<const RegressionEvent> events) {
  RowSet rows;
  EncodeRegressionEvents(events, NowUnixNs(), rows[Table::kRegressionEvents]);
  return reader_.Add(rows);
}

Result<profile::WriteAnswer> MemoryStore::Store(const profile::WriteRequest& request,
                                                ContentHashes& hashes) {
  MutexLock lock(mutex_);
  if (auto first = identities_.Find(request.identity, clock_.Now())) return *std::move(first);
  rows_.Clear();
  dictionaries_.NextRound();
  WHEREFORE_ASSIGN_OR_RETURN(profile::WriteAnswer answer,
                             encoder_.Encode(request, hashes, NowUnixNs(), 1, rows_));
  WHEREFORE_RETURN_IF_ERROR(reader_.Add(rows_));
  identities_.Add({.identity = request.identity,
                   .time_ns = clock_.Now(),
                   .rejected = answer.rejected,
                   .message = answer.message,
                   .tenant = request.tenant});
  return answer;
}

}  // namespace wherefore::store::memory
