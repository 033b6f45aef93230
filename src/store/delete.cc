// Delete, part 1: rows of selected series in a time range. The names nobody uses any more (a leaked
// secret may be a function name or a label) follow in delete_names.cc.
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
#include "profile/type_id.h"
#include "store/query_rows.h"
#include "store/schema.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

std::string OfSelection(const SeriesSelection& selection) {
  std::string where = KeyCondition(selection.dictionary);
  if (!selection.series.empty())
    where += fmt::format(" AND series IN ({})", fmt::join(selection.series, ","));
  if (!selection.types.empty())
    where += fmt::format(" AND type IN ({})", fmt::join(selection.types, ","));
  return where;
}

template <typename F>
std::string AnyOf(const std::vector<SeriesSelection>& selections, F&& condition) {
  std::string where;
  for (const SeriesSelection& selection : selections) {
    const std::string one = condition(selection);
    if (!one.empty()) where += fmt::format("{}({})", where.empty() ? "" : " OR ", one);
  }
  return where;
}

std::string TimeIn(TimeRange range, std::string_view column) {
  return fmt::format("{0} >= {1} AND {0} < {2}", column, range.from_ns, range.to_ns);
}

}  // namespace

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

Result<> StoreImpl::Mutate(const std::string& sql) {
  Settings settings{{"max_query_size", "268435456"}};  // lists of ids may be long
  if (transport_->version() >= kHasInsertTokens) settings.emplace_back("mutations_sync", "1");
  return transport_->Execute(sql, settings);
}

Result<std::uint64_t> StoreImpl::DeleteRows(Table table, const std::string& where) {
  if (where.empty()) return std::uint64_t{0};
  const std::string name = PhysicalName(table);
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::uint64_t count,
      CountRows(fmt::format("SELECT count() FROM {} WHERE {}", name, where)));
  if (count == 0) return count;
  WHEREFORE_RETURN_IF_ERROR(Mutate(fmt::format("ALTER TABLE {} DELETE WHERE {}", name, where)));
  return count;
}

Result<DeleteResult> StoreImpl::Delete(const DeleteRequest& request) {
  DeleteResult result;
  MutexLock intern(intern_mutex_);
  WHEREFORE_RETURN_IF_ERROR(FlushHere());
  MutexLock insert(insert_mutex_);
  WHEREFORE_ASSIGN_OR_RETURN(std::set<DictionaryKey> dictionaries, ReadDeleteJournal());
  for (const SeriesSelection& selection : request.selections) {
    dictionaries.insert(selection.dictionary);
  }
  std::set<DictionaryKey> touched = dictionaries;
  dictionaries.insert(request.spans_of.begin(), request.spans_of.end());
  if (dictionaries.empty()) return result;
  WHEREFORE_RETURN_IF_ERROR(WriteDeleteJournal(dictionaries));
  WHEREFORE_RETURN_IF_ERROR(DeleteMeasurements(request, result));
  // A selector without a service asks about every dictionary there is; few of them have changed.
  if (result.spans > 0) touched = dictionaries;
  // Sending the same file again after deleting it must store it.
  std::set<TenantService> services;
  for (const DictionaryKey& key : touched) services.insert({key.tenant, key.service});
  identities_.ForgetServices(services);
  WHEREFORE_RETURN_IF_ERROR(identity_log_.ForgetServices(services));
  WHEREFORE_RETURN_IF_ERROR(FinishDelete(touched));
  Log(LogLevel::kInfo, "deleted on request",
      {{"samples", result.samples}, {"profiles", result.profiles}, {"spans", result.spans}});
  return result;
}

Result<> StoreImpl::DeleteMeasurements(const DeleteRequest& request, DeleteResult& result) {
  const std::string profile_time = TimeIn(request.range, "time");
  const auto timed = [&](const SeriesSelection& s) {
    return fmt::format("{} AND {}", OfSelection(s), profile_time);
  };
  // Links and payloads have no time of their own: they go with their profiles, so before them.
  const auto of_profiles = [&](const SeriesSelection& s, std::string_view column, bool whole) {
    return fmt::format("{} AND {} IN (SELECT number FROM {} WHERE {} AND {})",
                       whole ? KeyCondition(s.dictionary) : OfSelection(s), column,
                       PhysicalName(Table::kProfiles),
                       whole ? OfSelection(s) : KeyCondition(s.dictionary), profile_time);
  };
  const auto& selections = request.selections;
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(Table::kLinks, AnyOf(selections, [&](const auto& s) {
                                         return of_profiles(s, "profile", false);
                                       })));
  // A payload holds all of its profile: it goes with any sample of it.
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(
      Table::kPayloads, AnyOf(selections, [&](const auto& s) {
        return fmt::format("({}) OR ({} AND number IN (SELECT profile FROM {} WHERE {}))",
                           of_profiles(s, "number", true), KeyCondition(s.dictionary),
                           PhysicalName(Table::kSamples), timed(s));
      })));
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(Table::kDetails, AnyOf(selections, timed)));
  WHEREFORE_ASSIGN_OR_RETURN(result.samples, DeleteRows(Table::kSamples, AnyOf(selections, timed)));
  WHEREFORE_ASSIGN_OR_RETURN(result.profiles,
                             DeleteRows(Table::kProfiles, AnyOf(selections, timed)));
  WHEREFORE_ASSIGN_OR_RETURN(result.spans, DeleteSpans(request));
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
Result<> StoreImpl::RecountProfiles(const DictionaryKey& key) {
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
            "SELECT number, sum(v), sum(c), sum(there) FROM (SELECT number, toInt64(0) AS v, "
            "toInt64(0) AS c, toInt64(0) AS there, toInt64(samples) AS said, 1 AS known "
            "FROM {0} WHERE {1} UNION ALL SELECT profile AS number, value AS v, {2} AS c, "
            "toInt64(1) AS there, toInt64(0) AS said, 0 AS known FROM {3} WHERE {1}) "
            "GROUP BY number HAVING sum(known) > 0 AND sum(there) != sum(said)",
            PhysicalName(Table::kProfiles), of_type, count, PhysicalName(Table::kSamples)),
        4, {}, CancelToken(), [&](const std::vector<NativeColumn>& c, std::size_t row) -> Result<> {
          found.numbers.push_back(c[0].Uint(row));
          found.totals.push_back(c[1].Int(row));
          found.observations.push_back(c[2].Int(row));
          found.samples.push_back(c[3].Uint(row));
          return {};
        }));
    if (found.numbers.empty()) continue;
    const auto set = [&](std::string_view column, const auto& values) {
      return fmt::format(
          "{0} = transform(number, [{1}], CAST([{2}], 'Array(Int64)'), toInt64({0}))", column,
          fmt::join(found.numbers, ","), fmt::join(values, ","));
    };
    WHEREFORE_RETURN_IF_ERROR(Mutate(fmt::format(
        "ALTER TABLE {} UPDATE {}, {}, {} WHERE {} AND number IN ({})",
        PhysicalName(Table::kProfiles), set("total", found.totals), set("n", found.observations),
        set("samples", found.samples), of_type, fmt::join(found.numbers, ","))));
  }
  return {};
}

}  // namespace wherefore::store
