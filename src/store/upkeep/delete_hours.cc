// Delete, part 4: sums by hour. Where their samples are there, hours that are touched are forgotten
// and made again later. Where samples are gone, sums are all there is: they go by whole hours, and
// by version if that is what tells apart what is to go.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "store/engine/query_rows.h"
#include "store/engine/schema.h"
#include "store/hours/hours.h"
#include "store/store_impl.h"

namespace wherefore::store {
namespace {

// Versions of the series that go; nothing: some other series has one of them, too.
std::optional<std::set<std::string>> VersionsOf(const std::vector<SeriesRow>& all,
                                                const std::vector<std::uint32_t>& going) {
  const std::set<std::uint32_t> chosen(going.begin(), going.end());
  std::set<std::string> versions;
  std::set<std::string> others;
  for (const SeriesRow& row : all) {
    (chosen.contains(row.series) ? versions : others).insert(VersionText(row.labels));
  }
  const bool apart = std::ranges::none_of(
      versions, [&](const std::string& version) { return others.contains(version); });
  return apart ? std::optional(std::move(versions)) : std::nullopt;
}

std::string InHours(const DictionaryKey& key, const HourRange& hours) {
  return fmt::format("{} AND hour >= {} AND hour <= {}", KeyCondition(key), hours.first,
                     hours.last);
}

}  // namespace

Result<std::vector<StoreImpl::DeletePart>> StoreImpl::SplitByTier(const DeleteRequest& request) {
  std::vector<DeletePart> parts(1);
  parts[0].request = request;
  auto& kept = parts[0].request.selections;
  std::vector<SeriesSelection> gone;
  const auto is_gone = [&](const SeriesSelection& s) {
    return tiers_.SamplesGone(s.dictionary.tenant, s.dictionary.bucket);
  };
  std::ranges::copy_if(kept, std::back_inserter(gone), is_gone);
  std::erase_if(kept, is_gone);
  if (gone.empty()) return parts;
  DeletePart& hours = parts.emplace_back();
  hours.request.tenant = request.tenant;
  hours.request.range = request.range;
  if (request.whole_hours) {
    const auto [first, last] = HoursOf(request.range);
    hours.request.range = {StartOfHour(first), StartOfHour(last + 1)};
  }
  for (SeriesSelection& selection : gone)
    WHEREFORE_RETURN_IF_ERROR(MakeItOfHours(request, std::move(selection), hours));
  return parts;
}

Result<> StoreImpl::MakeItOfHours(const DeleteRequest& request, SeriesSelection selection,
                                  DeletePart& part) {
  const DictionaryKey& key = selection.dictionary;
  const std::string where = InHours(key, HoursOf(request.range));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto there,
      QueryColumn<std::uint32_t>(*transport_, fmt::format("SELECT DISTINCT hour FROM {} WHERE {}",
                                                          PhysicalName(Table::kHourRolls), where)));
  const bool cut = std::ranges::any_of(there, [&](std::uint32_t hour) {
    return StartOfHour(hour) < request.range.from_ns ||
           StartOfHour(std::int64_t{hour} + 1) > request.range.to_ns;
  });
  std::optional<std::set<std::string>> versions = std::set<std::string>();
  if (!selection.series.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto series, reader_->Series(key, 1, CancelToken()));
    versions = VersionsOf(series, selection.series);
  }
  if (request.whole_hours) {
    selection.series.clear();
  } else if (!there.empty() && (cut || !versions)) {
    return Error(
        Code::kInvalid,
        fmt::format("the samples of {} are gone, and sums by hour {}; --whole-hours deletes every "
                    "hour that is touched, whatever its labels",
                    BucketName(key.bucket),
                    cut ? "cannot be cut" : "have no label but the version"));
  } else if (!selection.series.empty() && versions) {
    struct Row {
      std::string version;
      std::uint64_t hash = 0;
    };
    // The engine keeps the text of a mutation: hashes, not what people may want to be gone.
    std::vector<std::uint64_t>& hashes = part.versions[key];
    WHEREFORE_RETURN_IF_ERROR(QueryRows(
        *transport_,
        Columns<Row>(Col("version", &Row::version), Col("cityHash64(version)", &Row::hash)),
        fmt::format("FROM {} WHERE {} GROUP BY version", PhysicalName(Table::kStackHours), where),
        [&](const Row& row) {
          if (versions->contains(row.version)) hashes.push_back(row.hash);
        }));
  }
  part.request.selections.push_back(std::move(selection));
  return {};
}

Result<> StoreImpl::ForgetHours(const DeletePart& part, std::set<DictionaryKey>& touched) {
  const HourRange hours = HoursOf(part.request.range);
  if (hours.first > hours.last) return {};
  const Tiers::Removal removal(tiers_);
  ByBucket notes;
  std::set<DictionaryKey> keys;
  for (const SeriesSelection& selection : part.request.selections) {
    const DictionaryKey& key = selection.dictionary;
    if (!keys.insert(key).second) continue;
    const auto versions = part.versions.find(key);
    if (versions == part.versions.end()) {
      notes[key.bucket].push_back(InHours(key, hours));
    } else if (!versions->second.empty()) {
      touched.insert(key);
      for (const Table table : {Table::kStackHours, Table::kFunctionHours}) {
        WHEREFORE_RETURN_IF_ERROR(
            Queue({table, "DELETE", key.bucket,
                   fmt::format("{} AND cityHash64(version) IN ({})", InHours(key, hours),
                               fmt::join(versions->second, ","))}));
      }
    }
  }
  WHEREFORE_RETURN_IF_ERROR(DeleteRows(Table::kHourRolls, notes, touched));
  WHEREFORE_RETURN_IF_ERROR(RunPending());
  return DropForgottenHours(keys);
}

Result<> StoreImpl::DropForgottenHours(const std::set<DictionaryKey>& dictionaries) {
  std::map<std::uint32_t, std::set<DictionaryKey>> buckets;
  for (const DictionaryKey& key : dictionaries) buckets[key.bucket].insert(key);
  for (const auto& [bucket, keys] : buckets) {
    constexpr std::string_view kHour = "tenant, service, writer, hour, revision";
    for (const Table table : {Table::kStackHours, Table::kFunctionHours}) {
      WHEREFORE_RETURN_IF_ERROR(
          Queue({table, "DELETE", bucket,
                 fmt::format("{0} AND ({1}) NOT IN (SELECT {1} FROM {2} WHERE {0})", InKeys(keys),
                             kHour, PhysicalName(Table::kHourRolls))}));
    }
  }
  WHEREFORE_RETURN_IF_ERROR(RunPending());
  named_functions_.Forget();
  for (const auto& [bucket, keys] : buckets) {
    std::set<std::string> services;
    for (const DictionaryKey& k : keys)
      services.insert(fmt::format("({},{})", k.tenant, k.service));
    const std::string theirs =
        fmt::format("bucket = {} AND (tenant, service) IN ({})", bucket, fmt::join(services, ","));
    WHEREFORE_RETURN_IF_ERROR(Queue(
        {Table::kFunctionNames, "DELETE", bucket,
         fmt::format("{0} AND (tenant, service, function) NOT IN (SELECT tenant, service, function "
                     "FROM {1} WHERE {0})",
                     theirs, PhysicalName(Table::kFunctionHours))}));
  }
  return RunPending();
}

}  // namespace wherefore::store
