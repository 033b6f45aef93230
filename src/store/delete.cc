// Delete, part 1: rows of selected series in a time range. The names nobody uses any more (a leaked
// secret may be a function name or a label) follow in delete_names.cc.
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/log.h"
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
  std::set<std::uint64_t> services;
  for (const SeriesSelection& selection : request.selections) {
    dictionaries.insert(selection.dictionary);
    services.insert(selection.dictionary.service);
  }
  if (dictionaries.empty()) return result;
  WHEREFORE_RETURN_IF_ERROR(WriteDeleteJournal(dictionaries));
  WHEREFORE_RETURN_IF_ERROR(DeleteMeasurements(request, result));
  // Sending the same file again after deleting it must store it.
  identities_.ForgetServices(services);
  WHEREFORE_RETURN_IF_ERROR(identity_log_.ForgetServices(services));
  WHEREFORE_RETURN_IF_ERROR(FinishDelete(dictionaries));
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
  // Spans have no series: they go only with all of a service's data.
  const auto spans = [&](const SeriesSelection& s, std::string_view time) {
    return s.series.empty() && s.types.empty()
               ? fmt::format("tenant = {} AND service = {} AND bucket = {} AND {}",
                             s.dictionary.tenant, s.dictionary.service, s.dictionary.bucket, time)
               : std::string();
  };
  const std::string span_time = TimeIn(request.range, "start");
  WHEREFORE_ASSIGN_OR_RETURN(result.spans,
                             DeleteRows(Table::kSpans, AnyOf(selections, [&](const auto& s) {
                                          return spans(s, span_time);
                                        })));
  const std::string index_time = fmt::format("{} AND last < {}", span_time, request.range.to_ns);
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(
      Table::kTraceIndex, AnyOf(selections, [&](const auto& s) { return spans(s, index_time); })));
  return {};
}

}  // namespace wherefore::store
