// Rolling hours (hours/hours.h) as they become due; a delete forgets them first (delete_hours.cc).
//
// All of it holds the upkeep mutex: no delete and no backup runs meanwhile, and nobody else gives a
// revision. What was rolled before is inserted before anything is rolled, so that the newest
// revision is known. The samples of an hour are read under the insert mutex, where nothing comes or
// goes in between; rows and note are logged after that, as one frame. What comes until then is not
// in the note, so the hour counts as changed until it is rolled again.
//
// A crash before the frame is synced leaves nothing; after it, the log inserts it, once. A delete
// forgets the hours it touches before the first sample goes, and first what makes them count: the
// note. Sums without a note are never read, and a delete that was interrupted is finished, which
// drops them, before anything is rolled again.
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/hours/hours.h"
#include "store/store_impl.h"

namespace wherefore::store {

Result<> StoreImpl::RollHours() {
  while (true) {
    WHEREFORE_ASSIGN_OR_RETURN(const bool more, RollHours(kNsPerSecond));
    if (!more) return {};
  }
}

Result<bool> StoreImpl::RollHours(std::int64_t for_ns) {
  MutexLock upkeep(upkeep_mutex_);
  if (std::filesystem::exists(paths_.deleting)) return false;
  const std::int64_t end_ns = MonotonicNs() + for_ns;
  const std::int64_t now_ns = options_.now();
  bool flushed = false;
  for (const std::uint32_t bucket : BucketsToRoll(now_ns)) {
    WHEREFORE_ASSIGN_OR_RETURN(std::vector<HourRow> due, DueHours(bucket, now_ns));
    if (!due.empty() && !flushed) {  // what was rolled last may only be in the log
      WHEREFORE_RETURN_IF_ERROR(Flush());
      flushed = true;
      WHEREFORE_ASSIGN_OR_RETURN(due, DueHours(bucket, now_ns));
    }
    for (const HourRow& hour : due) {
      {
        MutexLock lock(state_mutex_);
        if (stopping_) return false;
      }
      if (MonotonicNs() >= end_ns) {
        looked_for_hours_.erase(bucket);
        return true;
      }
      WHEREFORE_RETURN_IF_ERROR(Roll(hour));
    }
  }
  return false;
}

std::vector<std::uint32_t> StoreImpl::BucketsToRoll(std::int64_t now_ns) {
  MutexLock insert(insert_mutex_);
  std::vector<std::uint32_t> buckets;
  std::map<std::uint32_t, LookedForHours> still_there;
  for (const auto& [where, rows] : ledger_.rows()) {
    if (where.first != Table::kProfiles) continue;
    const auto looked = looked_for_hours_.find(where.second);
    if (looked != looked_for_hours_.end()) still_there.insert(*looked);
    if (looked == looked_for_hours_.end() || looked->second.profiles != rows ||
        looked->second.next_ns <= now_ns)
      buckets.push_back(where.second);
  }
  looked_for_hours_ = std::move(still_there);
  return buckets;
}

Result<std::vector<HourRow>> StoreImpl::DueHours(std::uint32_t bucket, std::int64_t now_ns) {
  LookedForHours looked{.next_ns = INT64_MAX};
  {
    MutexLock insert(insert_mutex_);
    const auto rows = ledger_.rows().find({Table::kProfiles, bucket});
    looked.profiles = rows == ledger_.rows().end() ? 0 : rows->second;
  }
  const std::string in_bucket = fmt::format("bucket = {}", bucket);
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<HourRow> hours,
                             ReadHours(*transport_, {in_bucket, in_bucket}, {}, CancelToken()));
  std::erase_if(hours, [&](const HourRow& hour) {
    if (IsSettled(hour)) return true;
    const Retention& retention = options_.retention.Of(hour.dictionary.tenant);
    if (retention.IsTooOld(Table::kStackHours, bucket, now_ns)) return true;
    const std::int64_t due_ns = DueAt(hour, options_.roll_waits);
    if (due_ns <= now_ns) return false;
    looked.next_ns = std::min(looked.next_ns, due_ns);
    return true;
  });
  looked_for_hours_[bucket] = looked;
  return hours;
}

bool StoreImpl::IsSettled(const HourRow& hour) const {
  if (hour.IsCurrent() || tiers_.SamplesGone(hour.dictionary.tenant, hour.dictionary.bucket))
    return true;
  MutexLock lock(state_mutex_);
  const auto known = unrolled_.find({hour.dictionary, hour.hour});
  return known != unrolled_.end() && known->second == hour.now;
}

Result<> StoreImpl::Roll(const HourRow& hour) {
  const std::int64_t begin = MonotonicNs();
  HourSamples samples;
  {
    MutexLock insert(insert_mutex_);
    WHEREFORE_ASSIGN_OR_RETURN(samples,
                               ReadHour(*reader_, hour.dictionary, hour.hour, CancelToken()));
  }
  RowSet rows;
  bool rolled = false;
  if (samples.whole) {
    WHEREFORE_ASSIGN_OR_RETURN(rolled, EncodeHour(*reader_, samples, options_.now(),
                                                  named_functions_, rows, CancelToken()));
  }
  {
    MutexLock lock(state_mutex_);
    if (!rolled) unrolled_[{hour.dictionary, hour.hour}] = samples.hour.now;
    if (rolled) unrolled_.erase({hour.dictionary, hour.hour});
  }
  if (!rolled) return {};
  MutexLock lock(intern_mutex_);
  Result<> logged;
  if (const std::string refusal = RefusalReason(); !refusal.empty())
    logged = Error(Code::kUnavailable, refusal);
  if (logged) logged = LogRows(rows, {});
  if (!logged) named_functions_.Forget();  // names that were new are not there
  WHEREFORE_RETURN_IF_ERROR(std::move(logged));
  metrics_.rolled_hours.Add();
  metrics_.roll_seconds.ObserveNs(MonotonicNs() - begin);
  return {};
}

}  // namespace wherefore::store
