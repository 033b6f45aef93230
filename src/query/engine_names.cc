// Engine: what there is to ask for: services, types, labels and their values. However many there
// are, an answer takes a few questions to the store, and lists no more than it was asked for.
#include <algorithm>
#include <map>
#include <set>

#include "query/engine.h"

namespace wherefore::query {

Result<StoredServices> Engine::ServicesOf(const Selection& selection, const CancelToken& cancel) {
  StoredServices out;
  WHEREFORE_ASSIGN_OR_RETURN(auto rows,
                             catalog_.Services(selection.tenant, selection.range, cancel));
  std::erase_if(
      rows, [&](const store::ServiceRow& s) { return !selection.selector.MatchesService(s.name); });
  if (rows.empty()) return out;
  store::SampleQuery query{.tenant = selection.tenant, .range = selection.range};
  std::vector<store::DictionaryKey> keys;
  for (const store::ServiceRow& row : rows) {
    keys.push_back(row.dictionary);
    query.selections.push_back({.dictionary = row.dictionary});
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, catalog_.Types(keys, cancel));
  for (const store::TypeRow& t : types) out.types.try_emplace(t.type, t.details);
  // Buckets are coarse; this says what really lies in the range.
  WHEREFORE_ASSIGN_OR_RETURN(const auto present, reader_.Coverage(query, cancel));
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

Result<ServiceList> Engine::Services(const Selection& selection, const ListOf& wanted,
                                     const CancelToken& cancel) {
  if (!selection.selector.label_matchers().empty() || !selection.selector.narrowing().empty()) {
    return Error(Code::kInvalid, "a list of services can be narrowed by their names only");
  }
  WHEREFORE_ASSIGN_OR_RETURN(const StoredServices stored, ServicesOf(selection, cancel));
  ServiceList list;
  for (const auto& [name, service] : stored.by_name) {
    if (!wanted.search.Matches(name)) continue;
    if (list.total++ < wanted.limit) list.services.push_back(stored.Info(name));
  }
  return list;
}

Result<std::vector<store::TypeRow>> Engine::Types(const Selection& selection,
                                                  const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto rows,
                             catalog_.Services(selection.tenant, selection.range, cancel));
  std::vector<store::DictionaryKey> keys;
  for (const store::ServiceRow& row : rows) {
    if (selection.selector.MatchesService(row.name)) keys.push_back(row.dictionary);
  }
  return catalog_.Types(keys, cancel);
}

Result<> Engine::EachLabelSet(const Selection& selection, const LabelSetFunction& visit,
                              const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto rows,
                             catalog_.Services(selection.tenant, selection.range, cancel));
  std::erase_if(rows, [&](const store::ServiceRow& row) {
    return !selection.selector.MatchesService(row.name);
  });
  std::vector<store::DictionaryKey> keys;
  for (const store::ServiceRow& row : rows) keys.push_back(row.dictionary);
  WHEREFORE_ASSIGN_OR_RETURN(const auto lists, catalog_.Series(keys, cancel));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const store::SeriesRow& series : *lists[i]) {
      if (!selection.selector.MatchesLabels(series.labels)) continue;
      WHEREFORE_RETURN_IF_ERROR(visit(rows[i].name, series.labels));
    }
  }
  return {};
}

Result<NameList> Engine::LabelNames(const Selection& selection, const ListOf& wanted,
                                    const CancelToken& cancel) {
  NameSet names(wanted, cancel);
  const auto add = [&](const std::string&, const Labels& labels) -> Result<> {
    for (const auto& [name, value] : labels) WHEREFORE_RETURN_IF_ERROR(names.Add(name));
    return {};
  };
  WHEREFORE_RETURN_IF_ERROR(EachLabelSet(selection, add, cancel));
  return names.Take();
}

Result<NameList> Engine::LabelValues(const Selection& selection, const std::string& label,
                                     const ListOf& wanted, const CancelToken& cancel) {
  NameSet values(wanted, cancel);
  const bool of_service = IsServiceLabel(label);
  if (of_service && selection.selector.label_matchers().empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto rows,
                               catalog_.Services(selection.tenant, selection.range, cancel));
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
  WHEREFORE_RETURN_IF_ERROR(EachLabelSet(selection, add, cancel));
  return values.Take();
}

}  // namespace wherefore::query
