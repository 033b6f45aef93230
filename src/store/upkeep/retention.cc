// Retention: whole buckets go, from every table of a kind, as soon as their last nanosecond is too
// old; where a tenant has a time of its own, its rows of a bucket.
//
// A bucket that a pin touches stays, whole. Samples whose hours stay go once those are made.
//
// Runs on the inserter's thread, and inserts wait for it: dropping a bucket takes milliseconds,
// taking a tenant's rows out of one may take seconds.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

bool IsTooOld(const Retention& retention, TableBucket where, std::int64_t now_ns) {
  return retention.IsTooOld(where.first, where.second, now_ns);
}

}  // namespace

Result<> StoreImpl::DropOldBuckets(std::int64_t now_ns) {
  std::uint64_t logged = 0;  // whatever is encoded after this is refused where it is too old
  {
    MutexLock intern(intern_mutex_);
    logged = LastLogged();
  }
  MutexLock insert(insert_mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(const BucketRows there, CountParts());
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<Outdated> outdated, FindOutdated(there, now_ns));
  KeepIfInDoubt(there, now_ns, outdated);
  WHEREFORE_RETURN_IF_ERROR(WaitForHours(logged, now_ns, outdated));
  // Notes of hours before their sums, and names last, so that whatever is still there can be read.
  std::ranges::stable_sort(outdated, {}, [](const Outdated& one) {
    if (one.where.first == Table::kHourRolls) return 0;
    return Definition(one.where.first).is_dictionary ? 2 : 1;
  });
  for (const Outdated& one : outdated) WHEREFORE_RETURN_IF_ERROR(Drop(one));
  MutexLock lock(state_mutex_);
  if (!outdated.empty() && closing_.empty()) retention_confirmed_ = false;
  return {};
}

Result<std::vector<StoreImpl::Outdated>> StoreImpl::FindOutdated(const BucketRows& there,
                                                                 std::int64_t now_ns) {
  std::vector<Outdated> outdated;
  const RetentionRules& rules = options_.retention;
  std::map<std::uint32_t, bool> pinned;
  for (const auto& [where, rows] : there) {
    const auto [known, fresh] = pinned.try_emplace(where.second, false);
    if (fresh) known->second = IsPinned(where.second);
    if (known->second) continue;
    if (rules.of_tenant.empty()) {
      if (IsTooOld(rules.usual, where, now_ns)) outdated.push_back({where, {0}, true});
      continue;
    }
    // Whose rows there are costs a query: only where it matters, and again only after a change.
    std::size_t hold = IsTooOld(rules.usual, where, now_ns) ? 1 : 0;
    for (const auto& [tenant, own] : rules.of_tenant) hold += IsTooOld(own, where, now_ns) ? 1 : 0;
    const std::pair seen(rows, hold);
    const auto looked = looked_into_.find(where);
    if (hold == 0 || (looked != looked_into_.end() && looked->second == seen)) continue;
    WHEREFORE_ASSIGN_OR_RETURN(
        std::vector<std::uint32_t> tenants,
        QueryColumn<std::uint32_t>(*transport_,
                                   fmt::format("SELECT DISTINCT tenant FROM {} WHERE bucket = {}",
                                               PhysicalName(where.first), where.second)));
    const std::size_t kept = std::erase_if(
        tenants, [&](std::uint32_t tenant) { return !IsTooOld(rules.Of(tenant), where, now_ns); });
    if (tenants.empty()) {
      looked_into_[where] = seen;
    } else {
      outdated.push_back({where, std::move(tenants), kept == 0});
    }
  }
  return outdated;
}

// A clock that is wrong at one start must not cost everything. Age is measured from the newest
// data, and where most of a kind would go at once, somebody is asked first.
void StoreImpl::KeepIfInDoubt(const BucketRows& there, std::int64_t now_ns,
                              std::vector<Outdated>& outdated) {
  constexpr std::size_t kUsual = 2;
  std::map<std::string_view, std::set<std::uint32_t>> all;  // buckets, by kind
  std::int64_t newest_ns = 0;
  for (const auto& [where, rows] : there) {
    all[KindName(where.first)].insert(where.second);
    // Not data that anybody sent: they are written by this machine's clock, right or wrong.
    if (where.first == Table::kAlertEvents || where.first == Table::kRegressionEvents ||
        where.first == Table::kPins)
      continue;
    newest_ns = std::max(newest_ns, std::min(SpanOf(where.second).to_ns, now_ns));
  }
  std::vector<Outdated> by_data;
  std::map<std::string_view, std::set<std::uint32_t>> going;
  for (const Outdated& one : outdated) {
    Outdated older = one;
    const std::size_t kept = std::erase_if(older.tenants, [&](std::uint32_t tenant) {
      return !IsTooOld(options_.retention.Of(tenant), one.where, newest_ns);
    });
    if (older.tenants.empty()) continue;
    older.whole &= kept == 0;
    going[KindName(one.where.first)].insert(one.where.second);
    by_data.push_back(std::move(older));
  }
  MutexLock lock(state_mutex_);
  const std::string before = std::exchange(retention_held_, "");
  if (retention_confirmed_) return;
  for (const auto& [kind, buckets] : going) {
    if (buckets.size() <= kUsual || buckets.size() * 2 <= all[kind].size()) continue;
    retention_held_ = fmt::format("{} of {} days or months of {} would go at once", buckets.size(),
                                  all[kind].size(), kind);
    by_data.clear();
  }
  if (retention_held_.empty() && by_data.size() < outdated.size()) {
    retention_held_ = fmt::format("the newest data is from {}, and this machine's clock says {}",
                                  FormatTime(newest_ns), FormatTime(now_ns));
  }
  if (!retention_held_.empty() && before.empty()) {
    Log(LogLevel::kWarn, "old data is kept although it is older than the retention",
        {{"why", retention_held_}});
  }
  outdated = std::move(by_data);
}

Result<> StoreImpl::WaitForHours(std::uint64_t logged, std::int64_t now_ns,
                                 std::vector<Outdated>& outdated) {
  std::uint64_t inserted = 0;
  {
    MutexLock lock(state_mutex_);
    inserted = inserted_through_;
  }
  std::map<TableBucket, std::uint64_t> closing;
  for (auto one = outdated.begin(); one != outdated.end();) {
    const bool stay = one->where.first == Table::kSamples &&
                      std::ranges::any_of(one->tenants, [&](std::uint32_t tenant) {
                        return !IsTooOld(options_.retention.Of(tenant),
                                         {Table::kStackHours, one->where.second}, now_ns);
                      });
    bool ready = true;
    if (stay) {
      const auto known = closing_.find(one->where);
      const std::uint64_t through = known == closing_.end() ? logged : known->second;
      closing[one->where] = through;
      ready = inserted >= through;
      if (ready) {
        WHEREFORE_ASSIGN_OR_RETURN(ready, HoursAreMade(*one));
      }
    }
    one = ready ? std::next(one) : outdated.erase(one);
  }
  closing_ = std::move(closing);
  return {};
}

Result<bool> StoreImpl::HoursAreMade(const Outdated& samples) {
  const std::string where = fmt::format("bucket = {} AND tenant IN ({})", samples.where.second,
                                        fmt::join(samples.tenants, ","));
  const std::string all = fmt::format("bucket = {}", samples.where.second);
  const std::string& of = samples.whole ? all : where;
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<HourRow> hours,
                             ReadHours(*transport_, {of, of}, {}, CancelToken()));
  return std::ranges::all_of(hours, [&](const HourRow& hour) { return IsSettled(hour); });
}

// The ledger first: what is gone but still counted would be reported as lost.
Result<> StoreImpl::Drop(const Outdated& outdated) {
  const auto [table, bucket] = outdated.where;
  const std::string name = PhysicalName(table);
  generation_.fetch_add(1);
  std::optional<Tiers::Removal> removal;
  if (KindName(table) == KindName(Table::kStackHours)) removal.emplace(tiers_);
  if (table == Table::kSamples) {
    for (const std::uint32_t tenant : outdated.tenants)
      ledger_.gone().emplace(bucket, outdated.whole ? kEverybody : std::int64_t{tenant});
    tiers_.SetSamplesGone(ledger_.gone());
  }
  if (table == Table::kProfiles && outdated.whole) {
    std::erase_if(ledger_.gone(), [&](const auto& gone) { return gone.first == bucket; });
    tiers_.SetSamplesGone(ledger_.gone());
  }
  if (outdated.whole) {
    ledger_.Set(outdated.where, 0);
    WHEREFORE_RETURN_IF_ERROR(ledger_.Save());
    WHEREFORE_RETURN_IF_ERROR(
        transport_->Execute(fmt::format("ALTER TABLE {} DROP PARTITION {}", name, bucket)));
  } else {
    const Mutation mutation{table, "DELETE", bucket,
                            fmt::format("tenant IN ({})", fmt::join(outdated.tenants, ","))};
    WHEREFORE_ASSIGN_OR_RETURN(
        const std::uint64_t going,
        CountRows(fmt::format("SELECT count() FROM {} WHERE bucket = {} AND {}", name, bucket,
                              mutation.where)));
    const auto noted = ledger_.rows().find(outdated.where);
    const std::uint64_t rows = noted == ledger_.rows().end() ? 0 : noted->second;
    ledger_.Set(outdated.where, rows - std::min(rows, going));
    WHEREFORE_RETURN_IF_ERROR(ledger_.Save());
    WHEREFORE_RETURN_IF_ERROR(store::Mutate(*transport_, {&mutation, 1}, [this](std::uint64_t) {
      MutexLock lock(state_mutex_);
      return !stopping_;
    }));
  }
  generation_.fetch_add(1);
  Log(LogLevel::kInfo, "dropped old data",
      {{"table", Definition(table).name}, {"bucket", bucket}, {"all_of_it", outdated.whole}});
  return {};
}

Result<std::vector<KeptBucket>> StoreImpl::Kept(std::uint32_t tenant) const {
  struct Row {
    std::string table;
    std::string_view partition;
    std::int64_t bytes = 0;
    std::int64_t rows = 0;
  };
  constexpr auto kColumns =
      Columns<Row>(Col("table", &Row::table), Col("partition", &Row::partition),
                   Col("sum(bytes_on_disk)", &Row::bytes), Col("sum(rows)", &Row::rows));
  std::map<std::string, Table> tables;
  for (const TableDef& table : Tables()) tables[PhysicalName(table.id)] = table.id;
  std::map<std::pair<std::int64_t, std::string_view>, KeptBucket> kept;  // by end and kind
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      *transport_, kColumns,
      "FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table, partition",
      [&](const Row& row) {
        const auto table = tables.find(row.table);
        const auto bucket = ParseUint(row.partition);
        if (table == tables.end() || table->second == Table::kPins || !bucket) return;
        const auto number = static_cast<std::uint32_t>(*bucket);
        const std::string_view kind = KindName(table->second);
        const std::int64_t end_ns = SpanOf(number).to_ns;
        const auto [at, fresh] = kept.try_emplace({end_ns, kind});
        KeptBucket& of = at->second;
        const std::int64_t kept_ns = options_.retention.Of(tenant).Of(table->second);
        const std::int64_t goes_ns = kept_ns == 0 ? 0 : end_ns + kept_ns;
        of.goes_ns = fresh || (goes_ns != 0 && of.goes_ns != 0) ? std::max(of.goes_ns, goes_ns) : 0;
        of.kind = kind;
        of.bucket = number;
        of.bytes += row.bytes;
        of.rows += row.rows;
      }));
  std::vector<KeptBucket> all;
  for (auto& [key, of] : kept) {
    of.pinned = IsPinned(of.bucket);
    if (of.pinned) of.goes_ns = 0;
    all.push_back(of);
  }
  return all;
}

}  // namespace wherefore::store
