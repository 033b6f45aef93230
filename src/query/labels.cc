#include "query/labels.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"

namespace wherefore::query {

Result<StoredServices> ServicesOf(QueryContext& context, const Selection& selection,
                                  const CancelToken& cancel) {
  StoredServices out;
  WHEREFORE_ASSIGN_OR_RETURN(auto rows,
                             context.catalog.Services(selection.tenant, selection.range, cancel));
  std::erase_if(
      rows, [&](const store::ServiceRow& s) { return !selection.selector.MatchesService(s.name); });
  if (rows.empty()) return out;
  store::SampleQuery query{.tenant = selection.tenant, .range = selection.range};
  std::vector<store::DictionaryKey> keys;
  for (const store::ServiceRow& row : rows) {
    keys.push_back(row.dictionary);
    query.selections.push_back({.dictionary = row.dictionary});
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, context.catalog.Types(keys, cancel));
  for (const store::TypeRow& t : types) out.types.try_emplace(t.type, t.details);
  // Buckets are coarse; this says what really lies in the range.
  WHEREFORE_ASSIGN_OR_RETURN(const auto present,
                             context.reader.Coverage(query, store::Reader::CoverBy::kType, cancel));
  for (const store::CoverRow& row : present) {
    StoredService& service = out.by_name[rows[row.dictionary].name];
    service.profiles += row.profiles;
    service.last_ns = std::max(service.last_ns, row.last_ns);
    service.types.insert(row.type);
    const auto type = out.types.find(row.type);
    if (type != out.types.end()) {
      if (const auto cpu = profile::MatchType(type->second, "cpu"))
        service.cpu += static_cast<double>(row.value) * static_cast<double>(cpu->multiplier);
    }
    const bool first = out.covered.to_ns == 0;
    out.covered.from_ns = first ? row.first_ns : std::min(out.covered.from_ns, row.first_ns);
    out.covered.to_ns = std::max(out.covered.to_ns, row.end_ns);
  }
  return out;
}

ServiceInfo StoredServices::Info(const std::string& name) const {
  ServiceInfo info{.name = name};
  const auto found = by_name.find(name);
  if (found == by_name.end()) return info;
  info.profiles = found->second.profiles;
  info.last_ns = found->second.last_ns;
  std::map<std::string, std::string> ids;  // by short name
  for (const std::uint64_t hash : found->second.types) {
    const auto type = types.find(hash);
    if (type == types.end()) continue;
    ids.try_emplace(profile::ShortName(type->second), type->second.Id());
    if (type->second.stands_for_cpu) ids.try_emplace("cpu", type->second.Id());
  }
  for (const auto& [short_name, id] : ids) {
    info.types.push_back(short_name);
    info.type_ids.push_back(id);
  }
  return info;
}

std::string StoredServices::DefaultTypeOf(const std::string& name) const {
  std::vector<store::TypeRow> seen;
  const auto found = by_name.find(name);
  if (found == by_name.end()) return {};
  for (const std::uint64_t hash : found->second.types) {
    const auto type = types.find(hash);
    if (type != types.end()) seen.push_back({.type = hash, .details = type->second});
  }
  return DefaultType(seen);
}

Result<ServiceList> Services(QueryContext& context, const Selection& selection,
                             const ListOf& wanted, const CancelToken& cancel) {
  if (!selection.selector.label_matchers().empty() || !selection.selector.narrowing().empty()) {
    return Error(Code::kInvalid, "a list of services can be narrowed by their names only");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const StoredServices stored, ServicesOf(context, selection, cancel));
  ServiceList list;
  for (const auto& [name, service] : stored.by_name) {
    if (!wanted.search.Matches(name)) continue;
    if (list.total++ < wanted.limit) list.services.push_back(stored.Info(name));
  }
  return list;
}

namespace {

using LabelSetFunction = std::function<Result<>(const std::string& service, const Labels& labels)>;

Result<> EachLabelSet(QueryContext& context, const Selection& selection,
                      const LabelSetFunction& visit, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto rows,
                             context.catalog.Services(selection.tenant, selection.range, cancel));
  std::erase_if(rows, [&](const store::ServiceRow& row) {
    return !selection.selector.MatchesService(row.name);
  });
  std::vector<store::DictionaryKey> keys;
  for (const store::ServiceRow& row : rows) keys.push_back(row.dictionary);
  WHEREFORE_ASSIGN_OR_RETURN(const auto lists, context.catalog.Series(keys, cancel));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const store::SeriesRow& series : *lists[i]) {
      if (!selection.selector.MatchesLabels(series.labels)) continue;
      WHEREFORE_RETURN_IF_ERROR(visit(rows[i].name, series.labels));
    }
  }
  return {};
}

}  // namespace

Result<NameList> LabelNames(QueryContext& context, const Selection& selection, const ListOf& wanted,
                            const CancelToken& cancel) {
  NameSet names(wanted, cancel);
  const auto add = [&](const std::string&, const Labels& labels) -> Result<> {
    for (const auto& [name, value] : labels) WHEREFORE_RETURN_IF_ERROR(names.Add(name));
    return {};
  };
  WHEREFORE_RETURN_IF_ERROR(EachLabelSet(context, selection, add, cancel));
  return names.Take();
}

Result<NameList> LabelValues(QueryContext& context, const Selection& selection,
                             const std::string& label, const ListOf& wanted,
                             const CancelToken& cancel) {
  NameSet values(wanted, cancel);
  const bool of_service = IsServiceLabel(label);
  if (of_service && selection.selector.label_matchers().empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto rows,
                               context.catalog.Services(selection.tenant, selection.range, cancel));
    for (const store::ServiceRow& row : rows) {
      if (selection.selector.MatchesService(row.name))
        WHEREFORE_RETURN_IF_ERROR(values.Add(row.name));
    }
    return values.Take();
  }
  const auto add = [&](const std::string& service, const Labels& labels) -> Result<> {
    const std::string_view value =
        of_service ? std::string_view(service) : FindLabel(labels, label);
    return value.empty() ? Result<>() : values.Add(value);
  };
  WHEREFORE_RETURN_IF_ERROR(EachLabelSet(context, selection, add, cancel));
  return values.Take();
}

Result<> EachSeries(QueryContext& context, const Selection& selection,
                    const std::function<void(const StoredSeries&)>& visit,
                    const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto services,
                             context.catalog.Services(selection.tenant, selection.range, cancel));
  std::erase_if(services, [&](const store::ServiceRow& s) {
    return !selection.selector.MatchesService(s.name);
  });
  if (services.empty()) return {};
  store::SampleQuery query{.tenant = selection.tenant, .range = selection.range};
  std::vector<store::DictionaryKey> keys;
  for (const store::ServiceRow& s : services) {
    query.selections.push_back({.dictionary = s.dictionary});
    keys.push_back(s.dictionary);
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, context.catalog.Types(keys, cancel));
  std::map<std::uint64_t, std::vector<std::string>> ids;  // that the selector lets through
  for (const store::TypeRow& t : types) {
    auto& list = ids[t.type];
    list = profile::IdsOf(t.details);
    std::erase_if(list, [&](const std::string& id) { return !selection.selector.MatchesType(id); });
  }
  // Buckets are coarse; one step over the whole range says what really lies in it.
  const std::int64_t whole = selection.range.to_ns - selection.range.from_ns + 1;
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto points,
      context.reader.Timeline(query, {whole, selection.range.from_ns % whole}, false, cancel));
  // By dictionary and profile-level series.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint64_t>> present;
  for (const store::SeriesPoint& p : points) present[{p.dictionary, p.series}].insert(p.type);

  WHEREFORE_ASSIGN_OR_RETURN(const auto lists, context.catalog.Series(keys, cancel));
  for (std::uint32_t i = 0; i < services.size(); ++i) {
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    for (const store::SeriesRow& row : *lists[i]) {
      const auto found = present.find({i, row.parent != 0 ? row.parent : row.series});
      if (found == present.end() || !selection.selector.MatchesLabels(row.labels)) continue;
      for (const std::uint64_t type : found->second) {
        for (const std::string& id : ids[type]) {
          visit({.service = services[i].name, .type_id = id, .labels = &row.labels});
        }
      }
    }
  }
  return {};
}

Result<bool> EachProfile(QueryContext& context, const Selection& selection,
                         const std::vector<std::string>& group_by,
                         const std::function<void(const ProfilePoint&)>& visit,
                         const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r,
                             context.catalog.Resolve(selection, {.group_by = group_by}, cancel));
  if (r.needs_samples) return false;
  if (r.query.selections.empty()) return true;
  std::map<store::DictionaryKey, std::size_t> index;
  for (std::size_t i = 0; i < r.query.selections.size(); ++i) {
    index[r.query.selections[i].dictionary] = i;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows, context.reader.Profiles(r.query, 0, cancel));
  for (const store::ProfileRow& row : rows) {
    const auto at = index.find(row.dictionary);
    const auto use = r.types.find(row.type);
    if (at == index.end() || use == r.types.end()) continue;
    ProfilePoint point{.dictionary = row.dictionary,
                       .number = row.number,
                       .time_ns = row.time_ns,
                       .id = row.id,
                       .value = use->second.Value(row.total)};
    for (const std::string& name : group_by) {
      point.labels.emplace_back(
          name, GroupLabel(r.services[at->second], r.series[at->second], row.series, name));
    }
    visit(point);
  }
  return true;
}

Result<store::TimeRange> Extent(QueryContext& context, std::uint32_t tenant,
                                const CancelToken& cancel) {
  store::SampleQuery query{.tenant = tenant, .range = {0, NowUnixNs() + kNsPerDay}};
  WHEREFORE_ASSIGN_OR_RETURN(const auto services,
                             context.catalog.Services(tenant, query.range, cancel));
  for (const store::ServiceRow& s : services) {
    query.selections.push_back({.dictionary = s.dictionary});
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto points,
                             context.reader.Timeline(query, {kNsPerDay}, false, cancel));
  store::TimeRange extent;
  if (points.empty()) return extent;
  for (const store::SeriesPoint& p : points) extent.to_ns = std::max(extent.to_ns, p.last_ns);
  query.range = {points.front().step_start_ns, points.front().step_start_ns + kNsPerDay};
  WHEREFORE_ASSIGN_OR_RETURN(const auto first, context.reader.Profiles(query, 1, cancel));
  extent.from_ns = first.empty() ? points.front().step_start_ns : first.front().time_ns;
  return extent;
}

Result<EngineStatistics> Statistics(QueryContext& context, const CancelToken& cancel) {
  return context.reader.Statistics(cancel);
}

}  // namespace wherefore::query
