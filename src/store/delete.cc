// Delete: rows of selected series in a time range, and the names nobody uses any more (a leaked
// secret may be a function name or a label).
//
// Ids are never given twice: when names were removed, this store goes on under the next writer
// number, so whoever cached the old dictionary cannot mistake a new name for it.
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

Result<std::uint64_t> StoreImpl::DeleteRows(Table table, const std::string& where) {
  if (where.empty()) return std::uint64_t{0};
  const std::string name = PhysicalName(table);
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::uint64_t count,
      CountRows(fmt::format("SELECT count() FROM {} WHERE {}", name, where)));
  if (count == 0) return count;
  Settings settings;
  if (transport_->version() >= kHasInsertTokens) settings.emplace_back("mutations_sync", "1");
  WHEREFORE_RETURN_IF_ERROR(
      transport_->Execute(fmt::format("ALTER TABLE {} DELETE WHERE {}", name, where), settings));
  return count;
}

Result<DeleteResult> StoreImpl::Delete(const DeleteRequest& request) {
  DeleteResult result;
  if (request.selections.empty()) return result;
  MutexLock intern(intern_mutex_);
  WHEREFORE_RETURN_IF_ERROR(FlushHere());
  MutexLock insert(insert_mutex_);
  WHEREFORE_RETURN_IF_ERROR(DeleteMeasurements(request, result));
  auto dropped = DropUnusedNames(request);
  generation_.fetch_add(1);
  WHEREFORE_ASSIGN_OR_RETURN(const bool names_gone, std::move(dropped));
  if (names_gone) {
    const std::uint32_t writer = dictionaries_->writer() + 1;
    WHEREFORE_RETURN_IF_ERROR(ReplaceFile(paths_.writer, fmt::format("{}\n", writer)));
    dictionaries_->Restart(writer);
    wal_.set_writer(writer);
  }
  // Sending the same file again after deleting it must store it.
  std::set<std::uint64_t> services;
  for (const SeriesSelection& selection : request.selections) {
    services.insert(selection.dictionary.service);
  }
  identities_.ForgetServices(services);
  WHEREFORE_RETURN_IF_ERROR(identity_log_.ForgetServices(services));
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
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(Table::kPayloads, AnyOf(selections, [&](const auto& s) {
                                         return of_profiles(s, "number", true);
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

Result<bool> StoreImpl::DropUnusedNames(const DeleteRequest& request) {
  std::uint64_t gone = 0;
  for (const SeriesSelection& selection : request.selections) {
    const DictionaryKey& key = selection.dictionary;
    const std::string service = fmt::format("tenant = {} AND service = {} AND bucket = {}",
                                            key.tenant, key.service, key.bucket);
    WHEREFORE_ASSIGN_OR_RETURN(
        const std::uint64_t profiles,
        CountRows(fmt::format("SELECT count() FROM {} WHERE {}", PhysicalName(Table::kProfiles),
                              KeyCondition(key))));
    WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t spans,
                               CountRows(fmt::format("SELECT count() FROM {} WHERE {}",
                                                     PhysicalName(Table::kSpans), service)));
    if (profiles == 0) {
      for (const TableDef& table : Tables()) {
        if (!table.is_dictionary) continue;
        std::string where = KeyCondition(key);
        if (table.id == Table::kServices) where += " AND signal = 1";
        WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t count, DeleteRows(table.id, where));
        gone += count;
      }
    }
    if (spans == 0) {
      WHEREFORE_ASSIGN_OR_RETURN(const std::uint64_t count,
                                 DeleteRows(Table::kServices, service + " AND signal = 2"));
      gone += count;
    }
  }
  return gone > 0;
}

}  // namespace wherefore::store
