// Delete, part 1: rows of selected series in a time range. The names nobody uses any more (a leaked
// secret may be a function name or a label) follow in delete_names.cc.
//
// Senders, inserts and questions go on meanwhile. What is deleted has an exact end: the profiles
// there were when it began, by their numbers; what comes later is not touched, whatever its time.
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "profile/type_id.h"
#include "store/query_rows.h"
#include "store/reader.h"
#include "store/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

// A selection, and the number of its last profile.
struct Cut {
  const SeriesSelection* selection;
  std::uint64_t last;
};

// `number` is what the table calls the number of a row's profile.
std::string Matching(const Cut& cut, std::string_view number) {
  const SeriesSelection& s = *cut.selection;
  std::string where =
      fmt::format("{} AND {} <= {}", KeyCondition(s.dictionary), number, cut.last);
  if (!s.series.empty()) where += fmt::format(" AND series IN ({})", fmt::join(s.series, ","));
  if (!s.types.empty()) where += fmt::format(" AND type IN ({})", fmt::join(s.types, ","));
  return where;
}

std::string TimeIn(TimeRange range, std::string_view column) {
  return fmt::format("{0} >= {1} AND {0} < {2}", column, range.from_ns, range.to_ns);
}

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
  std::map<DictionaryKey, std::uint64_t> found;
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      *transport_,
      fmt::format("SELECT tenant, service, bucket, writer, toUInt64({}) FROM {} WHERE {} GROUP BY "
                  "tenant, service, bucket, writer",
                  what, PhysicalName(table), where),
      5, {}, CancelToken(), [&](const std::vector<NativeColumn>& c, std::size_t row) -> Result<> {
        found[{c[0].U32(row), c[1].Uint(row), c[2].U32(row), c[3].U32(row)}] = c[4].Uint(row);
        return {};
      }));
  return found;
}

Result<> StoreImpl::Mutate(std::span<const Mutation> mutations) {
  return store::Mutate(*transport_, mutations, StillDeleting());
}

StillWaiting StoreImpl::StillDeleting() {
  return [this](std::uint64_t parts_left) {
    SayDeleting(std::nullopt, parts_left);
    MutexLock lock(state_mutex_);
    return !stopping_;
  };
}

void StoreImpl::SayDeleting(std::optional<std::string> step, std::uint64_t parts_left) {
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

// Needs no room, which may be what there is none of.
Result<bool> StoreImpl::DropWholeBucket(Table table, std::uint32_t bucket, std::uint64_t rows) {
  MutexLock insert(insert_mutex_);  // nothing comes in between
  const std::string name = PhysicalName(table);
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::uint64_t there,
      CountRows(fmt::format("SELECT toUInt64(sum(rows)) FROM system.parts WHERE active AND database "
                            "= currentDatabase() AND table = '{}' AND partition = '{}'",
                            name, bucket)));
  if (there != rows) return false;
  WHEREFORE_RETURN_IF_ERROR(
      transport_->Execute(fmt::format("ALTER TABLE {} DROP PARTITION {}", name, bucket)));
  return true;
}

Result<std::uint64_t> StoreImpl::CountRows(const std::string& sql) {
  std::uint64_t count = 0;
  WHEREFORE_RETURN_IF_ERROR(
      QueryRows(*transport_, sql, 1, {}, CancelToken(),
                [&](const std::vector<NativeColumn>& c, std::size_t row) -> Result<> {
                  count = c[0].Uint(row);
                  return {};
                }));
  return count;
}

Result<DeleteResult> StoreImpl::Delete(const DeleteRequest& request) {
  MutexLock upkeep(upkeep_mutex_);
  DeleteResult result;
  UseReserve();
  // A disk that is full may not take what is in the log; what is in the engine can go all the same.
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
  WHEREFORE_RETURN_IF_ERROR(WriteDeleteJournal(named));
  Result<> done = DeleteMeasurements(request, result, touched);
  if (done && !flushed) {
    done = Flush();
    if (done) done = DeleteMeasurements(request, result, touched);
  }
  // Sending the same file again after deleting it must store it.
  if (done) done = ForgetRequestsOf(touched);
  if (done) done = FinishDelete(touched);
  SayDeleting("", 0);
  WHEREFORE_RETURN_IF_ERROR(std::move(done));
  Log(LogLevel::kInfo, "deleted on request",
      {{"samples", result.samples}, {"profiles", result.profiles}, {"spans", result.spans}});
  return result;
}

Result<> StoreImpl::ForgetRequestsOf(const std::set<DictionaryKey>& dictionaries) {
  std::set<TenantService> services;
  for (const DictionaryKey& key : dictionaries) services.insert({key.tenant, key.service});
  if (services.empty()) return {};
  MutexLock intern(intern_mutex_);
  identities_.ForgetServices(services);
  MutexLock insert(insert_mutex_);
  return identity_log_.ForgetServices(services);
}

Result<> StoreImpl::DeleteMeasurements(const DeleteRequest& request, DeleteResult& result,
                                       std::set<DictionaryKey>& touched) {
  SayDeleting("rows", 0);
  std::set<DictionaryKey> keys;
  for (const SeriesSelection& s : request.selections) keys.insert(s.dictionary);
  std::vector<Cut> cuts;
  if (!keys.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto last,
                               ByDictionary("max(number)", Table::kProfiles, InKeys(keys)));
    for (const SeriesSelection& s : request.selections) {
      if (const auto found = last.find(s.dictionary); found != last.end()) {
        cuts.push_back({&s, found->second});
      }
    }
  }
  const std::string in_time = TimeIn(request.range, "time");
  const auto by_bucket = [&](auto&& condition) {
    ByBucket where;
    for (const Cut& cut : cuts)
      where[cut.selection->dictionary.bucket].push_back(condition(cut));
    return where;
  };
  const auto timed = [&](std::string_view number) {
    return [&, number](const Cut& cut) {
      return fmt::format("{} AND {}", Matching(cut, number), in_time);
    };
  };
  // Links and payloads have no time of their own: they go with their profiles, so before them.
  const auto profiles_in_time = [&](const Cut& cut) {
    return fmt::format("SELECT number FROM {} WHERE {} AND {}", PhysicalName(Table::kProfiles),
                       KeyCondition(cut.selection->dictionary), in_time);
  };
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(Table::kLinks, by_bucket([&](const Cut& cut) {
                                         return fmt::format("{} AND profile IN ({})",
                                                            Matching(cut, "profile"),
                                                            profiles_in_time(cut));
                                       }),
                                       touched));
  // A payload holds all of its profile: it goes with any sample of it.
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(
      Table::kPayloads, by_bucket([&](const Cut& cut) {
        return fmt::format(
            "{} AND (number IN (SELECT number FROM {} WHERE {}) OR number IN (SELECT profile FROM "
            "{} WHERE {}))",
            KeyCondition(cut.selection->dictionary), PhysicalName(Table::kProfiles),
            timed("number")(cut), PhysicalName(Table::kSamples), timed("profile")(cut));
      }),
      touched));
  WHEREFORE_RETURN_IF_ERROR(RunPending());
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(Table::kDetails, by_bucket(timed("profile")), touched));
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t samples,
                             DeleteRows(Table::kSamples, by_bucket(timed("profile")), touched));
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t profiles,
                             DeleteRows(Table::kProfiles, by_bucket(timed("number")), touched));
  WHEREFORE_RETURN_IF_ERROR(RunPending());
  WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t spans, DeleteSpans(request, touched));
  result.samples += samples;
  result.profiles += profiles;
  result.spans += spans;
  return {};
}

namespace {

// What is left of profiles that lost samples.
struct Recount {
  std::vector<std::uint64_t> numbers;
  std::vector<std::int64_t> totals;
  std::vector<std::int64_t> observations;
  std::vector<std::uint64_t> samples;
};

std::string CountExpression(std::uint32_t rule, std::int64_t period) {
  switch (static_cast<profile::CountRule>(rule)) {
    case profile::CountRule::kStored:
      break;
    case profile::CountRule::kValue:
      return "value";
    case profile::CountRule::kValuePerPeriod:
      return period > 0 ? fmt::format("intDiv(value, {})", period) : "toInt64(n)";
  }
  return "toInt64(n)";
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
    const auto found = there.find(key);
    if (samples == (found == there.end() ? 0 : found->second)) continue;
    WHEREFORE_RETURN_IF_ERROR(RecountProfiles(key, mutations));
  }
  return Mutate(mutations);
}

Result<> StoreImpl::RecountProfiles(const DictionaryKey& key, std::vector<Mutation>& mutations) {
  std::vector<std::pair<std::uint64_t, std::string>> types;  // and how to count observations
  WHEREFORE_RETURN_IF_ERROR(QueryRows(
      *transport_,
      fmt::format("SELECT type, count_rule, period FROM {} WHERE {}", PhysicalName(Table::kTypes),
                  KeyCondition(key)),
      3, {}, CancelToken(), [&](const std::vector<NativeColumn>& c, std::size_t row) -> Result<> {
        types.emplace_back(c[0].Uint(row), CountExpression(c[1].U32(row), c[2].Int(row)));
        return {};
      }));
  for (const auto& [type, count] : types) {
    const std::string of_type = fmt::format("{} AND type = {}", KeyCondition(key), type);
    Recount found;
    WHEREFORE_RETURN_IF_ERROR(QueryRows(
        *transport_,
        fmt::format(
            "SELECT number, {4}, {5}, sum(there) FROM (SELECT number, toInt64(0) AS v, "
            "toInt64(0) AS c, toInt64(0) AS there, toInt64(samples) AS said, 1 AS known "
            "FROM {0} WHERE {1} UNION ALL SELECT profile AS number, value AS v, {2} AS c, "
            "toInt64(1) AS there, toInt64(0) AS said, 0 AS known FROM {3} WHERE {1}) "
            "GROUP BY number HAVING sum(known) > 0 AND sum(there) != sum(said)",
            PhysicalName(Table::kProfiles), of_type, count, PhysicalName(Table::kSamples),
            SumColumns("v"), SumColumns("c")),
        6, {}, CancelToken(), [&](const std::vector<NativeColumn>& c, std::size_t row) -> Result<> {
          found.numbers.push_back(c[0].Uint(row));
          found.totals.push_back(ReadSum(c, 1, row));
          found.observations.push_back(ReadSum(c, 3, row));
          found.samples.push_back(c[5].Uint(row));
          return {};
        }));
    if (found.numbers.empty()) continue;
    const auto set = [&](std::string_view column, const auto& values) {
      return fmt::format(
          "{0} = transform(number, [{1}], CAST([{2}], 'Array(Int64)'), toInt64({0}))", column,
          fmt::join(found.numbers, ","), fmt::join(values, ","));
    };
    mutations.push_back(
        {Table::kProfiles,
         fmt::format("UPDATE {}, {}, {}", set("total", found.totals),
                     set("n", found.observations), set("samples", found.samples)),
         key.bucket,
         fmt::format("{} AND number IN ({})", of_type, fmt::join(found.numbers, ","))});
  }
  return {};
}

}  // namespace wherefore::store
