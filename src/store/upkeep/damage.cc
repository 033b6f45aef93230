// Damage: rows that the ledger counts and the engine no longer has. Reported in the log and the
// status, by day and service, and on answers that lack them.
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "base/text.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

std::string RowsOf(std::uint64_t rows, Table table) {
  return fmt::format("{} rows of {}", FormatCount(static_cast<std::int64_t>(rows)),
                     Definition(table).name);
}

// What is known of damage before it is counted, and all that a tenant may know.
DamagedData WithoutNumbers(std::uint32_t bucket, const std::set<std::string_view>& tables) {
  const BucketSpan span = SpanOf(bucket);
  const std::string what = fmt::format("data of {} is incomplete: rows of {} cannot be read",
                                       BucketName(bucket), fmt::join(tables, ", "));
  return {.range = {span.from_ns, span.to_ns}, .what = what, .uncounted = what, .lacking = {}};
}

}  // namespace

Result<> StoreImpl::SetWrongRangesAside() {
  WHEREFORE_ASSIGN_OR_RETURN(const auto tables, TablesWithWrongRanges(*transport_));
  for (const std::string& table : tables) transport_->CheckParts(table);
  return {};
}

Result<BucketRows> StoreImpl::CountParts() {
  struct Row {
    std::string table;
    std::string_view partition;
    std::uint64_t rows = 0;
  };
  constexpr auto kColumns =
      Columns<Row>(Col("table", &Row::table), Col("partition", &Row::partition),
                   Col("toUInt64(sum(rows))", &Row::rows));
  std::map<std::string, Table> tables;
  for (const TableDef& table : Tables()) tables[PhysicalName(table.id)] = table.id;
  BucketRows there;
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      *transport_, kColumns,
      "FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table, partition",
      [&](const Row& row) {
        const auto table = tables.find(row.table);
        const auto bucket = ParseUint(row.partition);
        if (table != tables.end() && bucket && row.rows > 0)
          there[{table->second, static_cast<std::uint32_t>(*bucket)}] = row.rows;
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
          {{"day", BucketName(where.second)},
           {"table", Definition(where.first).name},
           {"rows", rows}});
    }
    if (names) WHEREFORE_RETURN_IF_ERROR(DistrustNames());
    WHEREFORE_RETURN_IF_ERROR(ledger_.Save());
    generation_.fetch_add(1);
  }
  ReportDamage({});
  return {};
}

std::string DamagedData::For(std::uint32_t tenant) const {
  const auto own = lacking.find(tenant);
  const std::string& said = tenant == profile::Tenant().number ? what : uncounted;
  return own == lacking.end() ? said : fmt::format("{} ({})", said, own->second);
}

void StoreImpl::ReportDamage(const std::map<std::uint32_t, LackingByTenant>& details) {
  struct Lost {
    std::vector<std::string> counted;
    std::set<std::string_view> tables;
  };
  std::map<std::uint32_t, Lost> lost;
  for (const auto& [where, rows] : ledger_.lost()) {
    lost[where.second].counted.push_back(RowsOf(rows, where.first));
    lost[where.second].tables.insert(Definition(where.first).name);
  }
  std::map<std::uint32_t, DamagedData> damaged;
  for (const auto& [bucket, of] : lost) {
    DamagedData& data = damaged[bucket] = WithoutNumbers(bucket, of.tables);
    data.what = fmt::format("data of {} is incomplete: {} cannot be read", BucketName(bucket),
                            fmt::join(of.counted, ", "));
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

namespace {

// Parts that were just set aside, each table once for each bucket.
std::vector<DamagedData> Uncounted(const std::set<BrokenPart>& parts) {
  std::map<std::uint32_t, std::set<std::string_view>> tables;
  for (const BrokenPart& part : parts) {
    const auto bucket = ParseUint(std::string_view(part.part).substr(0, part.part.find('_')));
    if (bucket) {
      tables[static_cast<std::uint32_t>(*bucket)].insert(
          std::string_view(part.table).substr(0, part.table.rfind("_v")));
    }
  }
  std::vector<DamagedData> all;
  for (const auto& [bucket, names] : tables) all.push_back(WithoutNumbers(bucket, names));
  return all;
}

}  // namespace

std::vector<DamagedData> StoreImpl::LostRows() const {
  std::vector<DamagedData> all = Uncounted(uncounted_);
  all.reserve(all.size() + damaged_.size());
  for (const auto& [bucket, data] : damaged_) all.push_back(data);
  return all;
}

std::vector<DamagedData> StoreImpl::Damaged() const {
  MutexLock lock(state_mutex_);
  std::vector<DamagedData> all = LostRows();
  const std::string& problem = insert_error_.empty() ? log_error_ : insert_error_;
  if (!problem.empty() && LastLogged() > inserted_through_) {
    const std::string said =
        "what came last is safe in the log but cannot be shown yet: " + problem;
    all.push_back({.range = {0, INT64_MAX}, .what = said, .uncounted = said, .lacking = {}});
  }
  return all;
}

namespace {

struct ServiceSamples {
  journal::TenantService service;
  std::string name;
  std::int64_t said = 0;
  std::int64_t there = 0;
};
using SamplesByService = std::map<journal::TenantService, ServiceSamples>;

// One more fact about every service of a bucket.
template <typename T>
Result<> AddFact(Transport& transport, std::string_view sql, T ServiceSamples::* fact, Table table,
                 std::uint32_t bucket, SamplesByService& services) {
  using Row = ServiceSamples;
  const auto columns =
      Columns<Row>(Col("tenant", &Row::service, &journal::TenantService::tenant),
                   Col("service", &Row::service, &journal::TenantService::service), Col(sql, fact));
  return QueryRows(transport, columns,
                   fmt::format("FROM {} WHERE bucket = {} GROUP BY tenant, service",
                               PhysicalName(table), bucket),
                   [&](Row&& row) { services[row.service].*fact = std::move(row.*fact); });
}

// What a service lacks; empty: nothing.
std::string Lacking(const ServiceSamples& s) {
  const std::string name = s.name.empty() ? "a service whose name is lost" : s.name;
  if (s.there < s.said) {
    return fmt::format("{}: {} of {} samples are missing", name, FormatCount(s.said - s.there),
                       FormatCount(s.said));
  }
  if (s.there > s.said) {
    return fmt::format("{}: profiles of {} samples are missing", name,
                       FormatCount(s.there - s.said));
  }
  return {};
}

}  // namespace

// Profiles say how many samples they have: whose are missing?
Result<LackingByTenant> StoreImpl::ServicesLackingSamples(std::uint32_t bucket) {
  SamplesByService services;
  const auto add = [&](std::string_view sql, auto fact, Table table) {
    return AddFact(*transport_, sql, fact, table, bucket, services);
  };
  WHEREFORE_RETURN_IF_ERROR(add("toInt64(sum(samples))", &ServiceSamples::said, Table::kProfiles));
  WHEREFORE_RETURN_IF_ERROR(add("toInt64(count())", &ServiceSamples::there, Table::kSamples));
  WHEREFORE_RETURN_IF_ERROR(add("any(name)", &ServiceSamples::name, Table::kServices));
  std::map<std::uint32_t, std::vector<std::string>> by_tenant;
  for (const auto& [service, samples] : services) {
    if (std::string lacking = Lacking(samples); !lacking.empty())
      by_tenant[service.tenant].push_back(std::move(lacking));
  }
  constexpr std::size_t kMost = 10;
  LackingByTenant texts;
  for (auto& [tenant, lacking] : by_tenant) {
    const std::size_t more = lacking.size() - std::min(lacking.size(), kMost);
    lacking.resize(lacking.size() - more);
    std::string& text = texts[tenant];
    text = fmt::format("{}", fmt::join(lacking, "; "));
    if (more > 0) text += fmt::format("; and {} services more", more);
  }
  return texts;
}

// The caller may hold any lock: names are distrusted at once, counting is left to the upkeep
// thread.
void StoreImpl::NoteSetAside(const BrokenPart& part) {
  for (const TableDef& definition : Tables()) {
    if (!definition.is_dictionary || PhysicalName(definition.id) != part.table) continue;
    if (auto distrusted = DistrustNames(); !distrusted) {
      Log(LogLevel::kError, "the next writer number cannot be written",
          {{"error", distrusted.error().message()}});
    }
  }
  generation_.fetch_add(1);
  MutexLock lock(state_mutex_);
  uncounted_.insert(part);
  look_for_damage_ = true;
  upkeep_changed_.NotifyAll();
}

bool StoreImpl::LookForDamage() {
  std::set<std::uint32_t> buckets;
  {
    MutexLock insert(insert_mutex_);
    std::set<BrokenPart> counted;
    {
      MutexLock lock(state_mutex_);
      counted = uncounted_;
    }
    if (auto compared = CompareWithLedger(); !compared) {
      Log(LogLevel::kWarn, "stored rows cannot be counted",
          {{"error", compared.error().message()}});
      return false;
    }
    {
      MutexLock lock(state_mutex_);
      for (const BrokenPart& part : counted) uncounted_.erase(part);
    }
    for (const auto& [where, rows] : ledger_.lost()) {
      if (where.first == Table::kSamples || where.first == Table::kProfiles)
        buckets.insert(where.second);
    }
  }
  std::map<std::uint32_t, LackingByTenant> details;
  for (const std::uint32_t bucket : buckets) {
    if (auto lacking = ServicesLackingSamples(bucket); lacking && !lacking->empty())
      details[bucket] = *std::move(lacking);
  }
  if (details.empty()) return true;
  MutexLock insert(insert_mutex_);
  ReportDamage(details);
  return true;
}

}  // namespace wherefore::store
