// Delete, part 1: rows of selected series in a time range. The names nobody uses any more (a leaked
// secret may be a function name or a label) follow in delete_names.cc.
//
// Senders, inserts and queries go on meanwhile. What is deleted has an exact end: the profiles
// there were when it began, by their numbers; what comes later is not touched, whatever its time.
#include <map>
#include <ranges>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "profile/type_id.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/read/key_columns.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

// Conditions for the rows of a delete, by bucket. What came after it began is left alone: each
// selection ends with the last profile that was there.
class Conditions {
 public:
  // `last` has the number of each dictionary's last profile; where there is none, nothing goes.
  Conditions(const DeleteRequest& request, const std::map<DictionaryKey, std::uint64_t>& last)
      : in_time_(
            fmt::format("time >= {} AND time < {}", request.range.from_ns, request.range.to_ns)) {
    for (const SeriesSelection& s : request.selections) {
      if (const auto found = last.find(s.dictionary); found != last.end())
        cuts_.push_back({&s, found->second});
    }
  }

  // `number` is what a table calls the number of a row's profile.
  [[nodiscard]] ByBucket OfTimed(std::string_view number) const {
    return Each([&](const Cut& cut) { return Timed(cut, number); });
  }
  // Links and payloads have no time of their own: they go with their profiles, so before them.
  [[nodiscard]] ByBucket OfLinks() const {
    return Each([&](const Cut& cut) {
      return fmt::format("{} AND profile IN (SELECT number FROM {} WHERE {} AND {})",
                         Matching(cut, "profile"), PhysicalName(Table::kProfiles),
                         KeyCondition(cut.selection->dictionary), in_time_);
    });
  }
  // A payload holds all of its profile: it goes with any sample of it.
  [[nodiscard]] ByBucket OfPayloads() const {
    return Each([&](const Cut& cut) {
      return fmt::format(
          "{} AND (number IN (SELECT number FROM {} WHERE {}) OR number IN (SELECT profile FROM "
          "{} WHERE {}))",
          KeyCondition(cut.selection->dictionary), PhysicalName(Table::kProfiles),
          Timed(cut, "number"), PhysicalName(Table::kSamples), Timed(cut, "profile"));
    });
  }

 private:
  struct Cut {
    const SeriesSelection* selection;
    std::uint64_t last;  // the number of its last profile
  };

  template <typename Condition>
  [[nodiscard]] ByBucket Each(const Condition& condition) const {
    ByBucket where;
    for (const Cut& cut : cuts_) where[cut.selection->dictionary.bucket].push_back(condition(cut));
    return where;
  }
  static std::string Matching(const Cut& cut, std::string_view number) {
    const SeriesSelection& s = *cut.selection;
    std::string where =
        fmt::format("{} AND {} <= {}", KeyCondition(s.dictionary), number, cut.last);
    if (!s.series.empty()) where += fmt::format(" AND series IN ({})", fmt::join(s.series, ","));
    if (!s.types.empty()) where += fmt::format(" AND type IN ({})", fmt::join(s.types, ","));
    return where;
  }
  [[nodiscard]] std::string Timed(const Cut& cut, std::string_view number) const {
    return fmt::format("{} AND {}", Matching(cut, number), in_time_);
  }

  std::string in_time_;
  std::vector<Cut> cuts_;
};

}  // namespace

std::string InKeys(const std::set<DictionaryKey>& keys) {
  std::vector<std::string> tuples;
  std::set<std::uint32_t> buckets;
  for (const DictionaryKey& k : keys) {
    tuples.push_back(fmt::format("({},{},{},{})", k.tenant, k.service, k.bucket, k.writer));
    buckets.insert(k.bucket);
  }
  return fmt::format("bucket IN ({}) AND (tenant, service, bucket, writer) IN ({})",
                     fmt::join(buckets, ","), fmt::join(tuples, ","));
}

Result<std::map<DictionaryKey, std::uint64_t>> StoreImpl::ByDictionary(const std::string& what,
                                                                       Table table,
                                                                       const std::string& where) {
  using Row = std::pair<DictionaryKey, std::uint64_t>;
  std::map<DictionaryKey, std::uint64_t> found;
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(*transport_,
                Columns<Row>(In(&Row::first, kKeyColumns),
                             Col(fmt::format("toUInt64({})", what), &Row::second)),
                fmt::format("FROM {} WHERE {} GROUP BY tenant, service, bucket, writer",
                            PhysicalName(table), where),
                [&](const Row& row) { found.insert(row); }));
  return found;
}

Result<> StoreImpl::Mutate(std::span<const Mutation> mutations) {
  return store::Mutate(*transport_, mutations, StillDeleting());
}

StillWaiting StoreImpl::StillDeleting() {
  return [this](std::uint64_t parts_left) {
    SetDeleteProgress(std::nullopt, parts_left);
    MutexLock lock(state_mutex_);
    return !stopping_;
  };
}

void StoreImpl::SetDeleteProgress(std::optional<std::string> step, std::uint64_t parts_left) {
  MutexLock lock(state_mutex_);
  if (step) deleting_step_ = *std::move(step);
  deleting_parts_ = parts_left;
}

Result<std::uint64_t> StoreImpl::DeleteRows(Table table, const ByBucket& where,
                                            std::set<DictionaryKey>& touched) {
  std::uint64_t rows = 0;
  std::vector<Mutation> mutations;
  for (const auto& [bucket, conditions] : where) {
    const std::string matches = fmt::format("({})", fmt::join(conditions, ") OR ("));
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto found,
        ByDictionary("count()", table, fmt::format("bucket = {} AND ({})", bucket, matches)));
    if (found.empty()) continue;
    std::uint64_t here = 0;
    for (const auto& [key, count] : found) {
      here += count;
      touched.insert(key);
    }
    rows += here;
    WHEREFORE_ASSIGN_OR_RETURN(const bool dropped, DropWholeBucket(table, bucket, here));
    if (!dropped) mutations.push_back({table, "DELETE", bucket, matches});
  }
  pending_.insert(pending_.end(), mutations.begin(), mutations.end());
  return rows;
}

Result<> StoreImpl::RunPending() {
  const std::vector<Mutation> mutations = std::exchange(pending_, {});
  return Mutate(mutations);
}

// Needs no disk space, so it also works on a full disk.
Result<bool> StoreImpl::DropWholeBucket(Table table, std::uint32_t bucket, std::uint64_t rows) {
  MutexLock insert(insert_mutex_);  // nothing comes in between
  const std::string name = PhysicalName(table);
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::uint64_t there,
      CountRows(
          fmt::format("SELECT toUInt64(sum(rows)) FROM system.parts WHERE active AND database "
                      "= currentDatabase() AND table = '{}' AND partition = '{}'",
                      name, bucket)));
  if (there != rows) return false;
  WHEREFORE_RETURN_IF_ERROR(
      transport_->Execute(fmt::format("ALTER TABLE {} DROP PARTITION {}", name, bucket)));
  return true;
}

Result<std::uint64_t> StoreImpl::CountRows(const std::string& sql) {
  return QueryValue<std::uint64_t>(*transport_, sql);
}

Result<DeleteResult> StoreImpl::Delete(const DeleteRequest& request) {
  MutexLock upkeep(upkeep_mutex_);
  DeleteResult result;
  UseReserve();
  // On a full disk what is in the log may not get into the engine; the rest can be deleted anyway.
  const bool flushed = static_cast<bool>(Flush());
  WHEREFORE_ASSIGN_OR_RETURN(std::set<DictionaryKey> touched, ReadDeleteJournal());
  std::set<DictionaryKey> named = touched;
  for (const SeriesSelection& s : request.selections) named.insert(s.dictionary);
  named.insert(request.spans_of.begin(), request.spans_of.end());
  if (named.empty()) return result;
  {
    MutexLock insert(insert_mutex_);
    WHEREFORE_RETURN_IF_ERROR(CompareWithLedger());  // what is missing now is not of this delete
  }
  WHEREFORE_ASSIGN_OR_RETURN(const std::vector<DeletePart> parts, SplitByTier(request));
  WHEREFORE_RETURN_IF_ERROR(WriteDeleteJournal(named));
  const auto delete_all = [&]() REQUIRES(upkeep_mutex_) -> Result<> {
    for (const DeletePart& part : parts)
      WHEREFORE_RETURN_IF_ERROR(DeleteMeasurements(part, result, touched));
    return {};
  };
  Result<> done = delete_all();
  if (done && !flushed) {
    done = Flush();
    if (done) done = delete_all();
  }
  // Sending the same file again after deleting it must store it.
  if (done) done = ForgetRequestsOf(touched);
  if (done) done = FinishDelete(touched);
  SetDeleteProgress("", 0);
  WHEREFORE_RETURN_IF_ERROR(std::move(done));
  Log(LogLevel::kInfo, "deleted on request",
      {{"samples", result.samples}, {"profiles", result.profiles}, {"spans", result.spans}});
  return result;
}

Result<> StoreImpl::ForgetRequestsOf(const std::set<DictionaryKey>& dictionaries) {
  std::set<journal::TenantService> services;
  for (const DictionaryKey& key : dictionaries) services.insert({key.tenant, key.service});
  if (services.empty()) return {};
  MutexLock intern(intern_mutex_);
  identities_.ForgetServices(services);
  MutexLock insert(insert_mutex_);
  return identity_log_.ForgetServices(services);
}

Result<> StoreImpl::DeleteMeasurements(const DeletePart& part, DeleteResult& result,
                                       std::set<DictionaryKey>& touched) {
  const DeleteRequest& request = part.request;
  SetDeleteProgress("rows", 0);
  WHEREFORE_RETURN_IF_ERROR(ForgetHours(part, touched));
  std::set<DictionaryKey> keys;
  for (const SeriesSelection& s : request.selections) keys.insert(s.dictionary);
  std::map<DictionaryKey, std::uint64_t> last;
  if (!keys.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(last, ByDictionary("max(number)", Table::kProfiles, InKeys(keys)));
  }
  const Conditions where(request, last);
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(Table::kLinks, where.OfLinks(), touched));
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(Table::kPayloads, where.OfPayloads(), touched));
  WHEREFORE_RETURN_IF_ERROR(RunPending());
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(Table::kDetails, where.OfTimed("profile"), touched));
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t samples,
                             DeleteRows(Table::kSamples, where.OfTimed("profile"), touched));
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t profiles,
                             DeleteRows(Table::kProfiles, where.OfTimed("number"), touched));
  WHEREFORE_RETURN_IF_ERROR(RunPending());
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t spans, DeleteSpans(request, touched));
  result.samples += samples;
  result.profiles += profiles;
  result.spans += spans;
  return {};
}

namespace {

// What is left of a profile that lost samples.
struct Recount {
  std::uint64_t number = 0;
  std::int64_t total = 0;
  std::int64_t observations = 0;
  std::uint64_t samples = 0;
};

struct CountedType {
  std::uint64_t type = 0;
  profile::CountRule rule{};
  std::int64_t period = 0;
};

// How many observations a sample is.
std::string CountExpression(const CountedType& type) {
  switch (type.rule) {
    case profile::CountRule::kStored:
      break;
    case profile::CountRule::kValue:
      return "value";
    case profile::CountRule::kValuePerPeriod:
      return type.period > 0 ? fmt::format("intDiv(value, {})", type.period) : "toInt64(n)";
  }
  return "toInt64(n)";
}

Result<std::vector<Recount>> RecountType(Transport& transport, const std::string& of_type,
                                         const CountedType& type) {
  const auto columns =
      Columns<Recount>(Col("number", &Recount::number), Sum("v", &Recount::total),
                       Sum("c", &Recount::observations), Col("sum(there)", &Recount::samples));
  std::vector<Recount> found;
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      transport, columns,
      fmt::format("FROM (SELECT number, toInt64(0) AS v, "
                  "toInt64(0) AS c, toInt64(0) AS there, toInt64(samples) AS said, 1 AS known "
                  "FROM {0} WHERE {1} UNION ALL SELECT profile AS number, value AS v, {2} AS c, "
                  "toInt64(1) AS there, toInt64(0) AS said, 0 AS known FROM {3} WHERE {1}) "
                  "GROUP BY number HAVING sum(known) > 0 AND sum(there) != sum(said)",
                  PhysicalName(Table::kProfiles), of_type, CountExpression(type),
                  PhysicalName(Table::kSamples)),
      [&](const Recount& recount) { found.push_back(recount); }));
  return found;
}

// Writes what was counted into the profiles.
Mutation SetCounts(const std::vector<Recount>& found, std::uint32_t bucket,
                   const std::string& of_type) {
  const auto list = [&](auto field) {
    return fmt::format("{}", fmt::join(found | std::views::transform(field), ","));
  };
  const std::string numbers = list(&Recount::number);
  const auto set = [&](std::string_view column, const std::string& values) {
    return fmt::format("{0} = transform(number, [{1}], CAST([{2}], 'Array(Int64)'), toInt64({0}))",
                       column, numbers, values);
  };
  return {.table = Table::kProfiles,
          .change = fmt::format("UPDATE {}, {}, {}", set("total", list(&Recount::total)),
                                set("n", list(&Recount::observations)),
                                set("samples", list(&Recount::samples))),
          .bucket = bucket,
          .where = fmt::format("{} AND number IN ({})", of_type, numbers)};
}

}  // namespace

// A delete by a label of samples leaves the profile, with fewer samples than it says.
Result<> StoreImpl::RecountProfiles(const std::set<DictionaryKey>& keys) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto said,
                             ByDictionary("sum(samples)", Table::kProfiles, InKeys(keys)));
  WHEREFORE_ASSIGN_OR_RETURN(const auto there,
                             ByDictionary("count()", Table::kSamples, InKeys(keys)));
  std::vector<Mutation> mutations;
  for (const auto& [key, samples] : said) {
    if (tiers_.SamplesGone(key.tenant, key.bucket)) continue;  // they were not deleted
    const auto found = there.find(key);
    if (samples == (found == there.end() ? 0 : found->second)) continue;
    WHEREFORE_RETURN_IF_ERROR(RecountProfiles(key, mutations));
  }
  return Mutate(mutations);
}

Result<> StoreImpl::RecountProfiles(const DictionaryKey& key, std::vector<Mutation>& mutations) {
  constexpr auto kColumns =
      Columns<CountedType>(Col("type", &CountedType::type), Col("count_rule", &CountedType::rule),
                           Col("period", &CountedType::period));
  std::vector<CountedType> types;
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(*transport_, kColumns,
                fmt::format("FROM {} WHERE {}", PhysicalName(Table::kTypes), KeyCondition(key)),
                [&](const CountedType& type) { types.push_back(type); }));
  for (const CountedType& type : types) {
    const std::string of_type = fmt::format("{} AND type = {}", KeyCondition(key), type.type);
    WHEREFORE_ASSIGN_OR_RETURN(const std::vector<Recount> found,
                               RecountType(*transport_, of_type, type));
    if (!found.empty()) mutations.push_back(SetCounts(found, key.bucket, of_type));
  }
  return {};
}

}  // namespace wherefore::store
