// PyroscopeApi: which types, labels and series there are.
#include <algorithm>
#include <set>

#include "api/pyroscope.h"
#include "base/clock.h"
#include "query/catalog.h"
#include "query/labels.h"
#include "query/selector.h"

namespace wherefore::api {
namespace {

using formats::QuerierRequest;

// Matchers in several strings hold together.
Result<query::Selection> AllMatchers(std::uint32_t tenant, const QuerierRequest& request) {
  query::Selection selection{.tenant = tenant};
  WHEREFORE_ASSIGN_OR_RETURN(selection.range, ReadRange(request.start_ms, request.end_ms));
  for (const std::string& text : request.matchers) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto selector, query::Selector::ParseSeries(text));
    selection.selector.Add(selector);
  }
  return selection;
}

std::vector<std::string> AsList(const std::set<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

Result<std::string> PyroscopeApi::ProfileTypes(const Caller& caller,
                                               const QuerierRequest& request) {
  query::Selection selection{.tenant = caller.tenant};
  if (request.start_ms == 0 && request.end_ms == 0) {
    // Older clients do not say: the last hour, and a little of the future for clocks that differ.
    const std::int64_t now = NowUnixNs();
    selection.range = {now - 3600 * kNsPerSecond, now + 600 * kNsPerSecond};
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(selection.range, ReadRange(request.start_ms, request.end_ms));
  }
  std::set<std::string> ids;
  WHEREFORE_RETURN_IF_ERROR(query::EachSeries(
      context_, selection, [&](const query::StoredSeries& s) { ids.emplace(s.type_id); },
      caller.cancel));
  return formats::EncodeProfileTypes(AsList(ids));
}

Result<std::string> PyroscopeApi::LabelNames(const Caller& caller, const QuerierRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, AllMatchers(caller.tenant, request));
  std::set<std::string> names;
  WHEREFORE_RETURN_IF_ERROR(query::EachSeries(
      context_, selection,
      [&](const query::StoredSeries& s) {
        for (auto& [name, value] : PyroscopeLabels(s, !caller.client.utf8_label_names)) {
          names.insert(name);
        }
      },
      caller.cancel));
  return formats::EncodeNames(AsList(names));
}

Result<std::string> PyroscopeApi::LabelValues(const Caller& caller, const QuerierRequest& request) {
  if (request.name.empty()) return Error(Code::kInvalid, "name is required");
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, AllMatchers(caller.tenant, request));
  std::set<std::string> values;
  WHEREFORE_RETURN_IF_ERROR(query::EachSeries(
      context_, selection,
      [&](const query::StoredSeries& s) {
        const auto value = PyroscopeLabel(s, request.name);
        if (!value.empty()) values.emplace(value);
      },
      caller.cancel));
  return formats::EncodeNames(AsList(values));
}

Result<std::string> PyroscopeApi::Series(const Caller& caller, const QuerierRequest& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto selection, AllMatchers(caller.tenant, request));
  const std::set<std::string, std::less<>> wanted(request.label_names.begin(),
                                                  request.label_names.end());
  std::set<formats::LabelPairs> sets;
  WHEREFORE_RETURN_IF_ERROR(query::EachSeries(
      context_, selection,
      [&](const query::StoredSeries& s) {
        formats::LabelPairs labels = PyroscopeLabels(s, !caller.client.utf8_label_names);
        if (!wanted.empty()) {
          std::erase_if(labels, [&](const auto& label) { return !wanted.contains(label.first); });
        }
        if (!labels.empty()) sets.insert(std::move(labels));
      },
      caller.cancel));
  return formats::EncodeLabelSets({sets.begin(), sets.end()});
}

Result<std::string> PyroscopeApi::ProfileStats(const Caller& caller,
                                               const QuerierRequest& /*request*/) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto extent,
                             query::Extent(context_, caller.tenant, caller.cancel));
  return formats::EncodeProfileStats({.data_ingested = extent.to_ns > 0,
                                      .oldest_ms = extent.from_ns / 1'000'000,
                                      .newest_ms = extent.to_ns / 1'000'000});
}

}  // namespace wherefore::api
