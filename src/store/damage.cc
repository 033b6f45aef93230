// Damage: what should be stored and is not there any more, by the ledger. Said in the log and the
// status, by day and service, and on answers that lack it.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/text.h"
#include "store/query_rows.h"
#include "store/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

std::string DayOf(std::uint32_t bucket) {
  const std::string day = FormatTime(SpanOf(bucket).from_ns).substr(0, 10);
  return bucket > 1'000'000 ? day : day.substr(0, 7);
}

std::string RowsOf(std::uint64_t rows, Table table) {
  return fmt::format("{} rows of {}", FormatCount(static_cast<std::int64_t>(rows)),
                     Definition(table).name);
}

}  // namespace

Result<BucketRows> StoreImpl::CountParts() {
  std::map<std::string, Table> tables;
  for (const TableDef& table : Tables()) tables[PhysicalName(table.id)] = table.id;
  BucketRows there;
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      *transport_,
      "SELECT table, partition, toUInt64(sum(rows)) FROM system.parts WHERE active AND database = "
      "currentDatabase() GROUP BY table, partition",
      3, {}, CancelToken(), [&](const std::vector<NativeColumn>& c, std::size_t row) -> Result<> {
        const auto table = tables.find(std::string(c[0].Text(row)));
        const auto bucket = ParseUint(c[1].Text(row));
        if (table != tables.end() && bucket && c[2].Uint(row) > 0) {
          there[{table->second, static_cast<std::uint32_t>(*bucket)}] = c[2].Uint(row);
        }
        return {};
      }));
  return there;
}

Result<> StoreImpl::CompareWithLedger() {
  WHEREFORE_ASSIGN_OR_RETURN(const BucketRows there, CountParts());
  std::set<std::uint32_t> deleted_from;
  WHEREFORE_ASSIGN_OR_RETURN(const std::set<DictionaryKey> deleting, ReadDeleteJournal());
  for (const DictionaryKey& key : deleting) deleted_from.insert(key.bucket);
  const BucketRows before = ledger_.lost();
  if (ledger_.Compare(there, deleted_from)) {
    bool names = false;
    for (const auto& [where, rows] : ledger_.lost()) {
      const auto known = before.find(where);
      if (known != before.end() && known->second >= rows) continue;
      names |= Definition(where.first).is_dictionary;
      Log(LogLevel::kError, "stored rows are missing",
          {{"day", DayOf(where.second)}, {"table", Definition(where.first).name}, {"rows", rows}});
    }
    if (names) WHEREFORE_RETURN_IF_ERROR(DistrustNames());
    WHEREFORE_RETURN_IF_ERROR(ledger_.Save());
    generation_.fetch_add(1);
  }
  SayDamaged({});
  return {};
}

std::string DamagedData::For(std::uint32_t tenant) const {
  const auto own = lacking.find(tenant);
  return own == lacking.end() ? what : fmt::format("{} ({})", what, own->second);
}

void StoreImpl::SayDamaged(const std::map<std::uint32_t, LackingByTenant>& details) {
  std::map<std::uint32_t, std::vector<std::string>> lost;
  for (const auto& [where, rows] : ledger_.lost()) {
    lost[where.second].push_back(RowsOf(rows, where.first));
  }
  std::map<std::uint32_t, DamagedData> damaged;
  for (const auto& [bucket, tables] : lost) {
    const BucketSpan span = SpanOf(bucket);
    DamagedData& data = damaged[bucket];
    data.range = {span.from_ns, span.to_ns};
    data.what = fmt::format("data of {} is incomplete: {} cannot be read", DayOf(bucket),
                            fmt::join(tables, ", "));
    if (const auto more = details.find(bucket); more != details.end()) data.lacking = more->second;
  }
  MutexLock lock(state_mutex_);
  if (details.empty()) {  // what is known of a day stays until it is known better
    for (auto& [bucket, data] : damaged) {
      const auto known = damaged_.find(bucket);
      if (known != damaged_.end() && known->second.what == data.what)
        data.lacking = known->second.lacking;
    }
  }
  damaged_ = std::move(damaged);
}

std::vector<DamagedData> StoreImpl::Damaged() const {
  std::vector<DamagedData> all;
  MutexLock lock(state_mutex_);
  for (const auto& [bucket, data] : damaged_) all.push_back(data);
  return all;
}

// Profiles say how many samples they have and what these add up to: whose are missing?
Result<LackingByTenant> StoreImpl::WhoLacksSamples(std::uint32_t bucket) {
  struct Sums {
    std::string name;
    std::int64_t said = 0;
    std::int64_t there = 0;
  };
  std::map<TenantService, Sums> services;
  const auto read = [&](const std::string& sql, auto&& take) {
    return QueryRows(*transport_, sql, 3, {}, CancelToken(),
                     [&](const std::vector<NativeColumn>& c, std::size_t row) -> Result<> {
                       take(services[{c[0].U32(row), c[1].Uint(row)}], c[2], row);
                       return {};
                     });
  };
  const auto sum = [&](std::string_view what, Table table) {
    return fmt::format("SELECT tenant, service, toInt64({}) FROM {} WHERE bucket = {} GROUP BY "
                       "tenant, service",
                       what, PhysicalName(table), bucket);
  };
  WHEREFORE_RETURN_IF_ERROR(
      read(sum("sum(samples)", Table::kProfiles),
           [](Sums& s, const NativeColumn& c, std::size_t row) { s.said = c.Int(row); }));
  WHEREFORE_RETURN_IF_ERROR(
      read(sum("count()", Table::kSamples),
           [](Sums& s, const NativeColumn& c, std::size_t row) { s.there = c.Int(row); }));
  WHEREFORE_RETURN_IF_ERROR(
      read(fmt::format("SELECT tenant, service, any(name) FROM {} WHERE bucket = {} GROUP BY "
                       "tenant, service",
                       PhysicalName(Table::kServices), bucket),
           [](Sums& s, const NativeColumn& c, std::size_t row) { s.name = c.Text(row); }));
  std::map<std::uint32_t, std::vector<std::string>> by_tenant;
  for (const auto& [service, s] : services) {
    std::vector<std::string>& lacking = by_tenant[service.tenant];
    const std::string name = s.name.empty() ? "a service whose name is lost" : s.name;
    if (s.there < s.said) {
      lacking.push_back(fmt::format("{}: {} of {} samples are missing", name,
                                    FormatCount(s.said - s.there), FormatCount(s.said)));
    } else if (s.there > s.said) {
      lacking.push_back(fmt::format("{}: profiles of {} samples are missing", name,
                                    FormatCount(s.there - s.said)));
    }
  }
  constexpr std::size_t kMost = 10;
  LackingByTenant texts;
  for (auto& [tenant, lacking] : by_tenant) {
    const std::size_t more = lacking.size() - std::min(lacking.size(), kMost);
    lacking.resize(lacking.size() - more);
    if (lacking.empty()) continue;
    std::string& text = texts[tenant];
    text = fmt::format("{}", fmt::join(lacking, "; "));
    if (more > 0) text += fmt::format("; and {} services more", more);
  }
  return texts;
}

// Whoever asked may hold any lock: names are distrusted at once, the rest is found out later.
void StoreImpl::NoteSetAside(const std::string& table) {
  for (const TableDef& definition : Tables()) {
    if (!definition.is_dictionary || PhysicalName(definition.id) != table) continue;
    if (auto distrusted = DistrustNames(); !distrusted) {
      Log(LogLevel::kError, "the next writer number cannot be written",
          {{"error", distrusted.error().message()}});
    }
  }
  generation_.fetch_add(1);
  MutexLock lock(state_mutex_);
  look_for_damage_ = true;
  upkeep_changed_.NotifyAll();
}

void StoreImpl::LookForDamage() {
  std::set<std::uint32_t> buckets;
  {
    MutexLock insert(insert_mutex_);
    if (auto compared = CompareWithLedger(); !compared) {
      Log(LogLevel::kWarn, "stored rows cannot be counted", {{"error", compared.error().message()}});
    }
    for (const auto& [where, rows] : ledger_.lost()) {
      if (where.first == Table::kSamples || where.first == Table::kProfiles)
        buckets.insert(where.second);
    }
  }
  std::map<std::uint32_t, LackingByTenant> details;
  for (const std::uint32_t bucket : buckets) {
    if (auto lacking = WhoLacksSamples(bucket); lacking && !lacking->empty())
      details[bucket] = *std::move(lacking);
  }
  if (details.empty()) return;
  MutexLock insert(insert_mutex_);
  SayDamaged(details);
}

}  // namespace wherefore::store
