// What there is to ask for: services, types, labels and their values, and who has profiles when.
//
// However many there are, an answer takes a few reads of the store and lists no more than it
// was asked for. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "query/name_list.h"

namespace wherefore::query {

struct ServiceInfo {
  std::string name;
  std::vector<std::string> types;     // short names
  std::vector<std::string> type_ids;  // five-part ids, same order
  std::int64_t profiles = 0;
  std::int64_t last_ns = 0;  // start of the newest profile in range; 0 when only spans are known
};

struct ServiceList {
  std::vector<ServiceInfo> services;  // by name
  std::size_t total = 0;              // that match, listed or not
};

// Services that have profiles in the range; the selector may name services only.
Result<ServiceList> Services(QueryContext& context, const Selection& selection,
                             const ListOf& wanted, const CancelToken& cancel);
// Label names, or the values of one label, over series that match (type is not looked at).
Result<NameList> LabelNames(QueryContext& context, const Selection& selection, const ListOf& wanted,
                            const CancelToken& cancel);
Result<NameList> LabelValues(QueryContext& context, const Selection& selection,
                             const std::string& label, const ListOf& wanted,
                             const CancelToken& cancel);

// What is stored of services in a range, before any of them is told of: there may be many.
struct StoredService {
  std::int64_t profiles = 0;
  std::int64_t last_ns = 0;
  std::set<std::uint64_t> types;
  double cpu = 0;  // nanoseconds
};
struct StoredServices {
  std::map<std::string, StoredService> by_name;
  std::unordered_map<std::uint64_t, profile::ProfileType> types;
  // From the first profile to the end of the last one, of all of them; zeros when there is none.
  store::TimeRange covered;

  [[nodiscard]] ServiceInfo Info(const std::string& name) const;
  // What is shown of a service when nobody said; empty: it has no profiles.
  [[nodiscard]] std::string DefaultTypeOf(const std::string& name) const;
};
// All that match, whatever their number.
Result<StoredServices> ServicesOf(QueryContext& context, const Selection& selection,
                                  const CancelToken& cancel);

// One label set that has profiles of one type.
struct StoredSeries {
  std::string_view service;
  std::string_view type_id;  // five parts; counts that stand for CPU time come under both their ids
  const Labels* labels = nullptr;
};
// Every label set with profiles in the selection's range that its selector lets through, once per
// type. Sets of samples count as present when their profile's set is.
Result<> EachSeries(QueryContext& context, const Selection& selection,
                    const std::function<void(const StoredSeries&)>& visit,
                    const CancelToken& cancel);

struct ProfilePoint {
  Labels labels;
  store::DictionaryKey dictionary;
  std::uint32_t number = 0;
  std::int64_t time_ns = 0;
  profile::ProfileId id{};
  std::int64_t value = 0;
};
// Every profile of the selection with its group-by labels. False when labels of samples are asked
// for: then a profile is not of one group, and nothing is visited.
Result<bool> EachProfile(QueryContext& context, const Selection& selection,
                         const std::vector<std::string>& group_by,
                         const std::function<void(const ProfilePoint&)>& visit,
                         const CancelToken& cancel);

// What the engine holds and uses.
Result<EngineStatistics> Statistics(QueryContext& context, const CancelToken& cancel);

// From the start of the oldest stored profile to that of the newest; zeros when there is none.
Result<store::TimeRange> Extent(QueryContext& context, std::uint32_t tenant,
                                const CancelToken& cancel);

}  // namespace wherefore::query
