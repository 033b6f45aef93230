// Engine: which label sets have profiles of which types, and flame graphs of some of a selection's
// samples only.
#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "query/engine.h"

namespace wherefore::query {
namespace {

// Which selection of a resolved query a stored sample belongs to, if any.
class Membership {
 public:
  explicit Membership(const Resolved& resolved) : resolved_(resolved) {
    for (std::uint32_t i = 0; i < resolved.query.selections.size(); ++i) {
      index_[resolved.query.selections[i].dictionary] = i;
    }
  }
  // -1: it does not.
  [[nodiscard]] int Find(const store::DictionaryKey& key, std::uint64_t type,
                         std::uint32_t series) const {
    const auto it = index_.find(key);
    if (it == index_.end() || !resolved_.types.contains(type)) return -1;
    const store::SeriesSelection& s = resolved_.query.selections[it->second];
    const auto among = [](const auto& list, auto id) {
      return list.empty() || std::find(list.begin(), list.end(), id) != list.end();
    };
    return among(s.types, type) && among(s.series, series) ? static_cast<int>(it->second) : -1;
  }

 private:
  const Resolved& resolved_;
  std::map<store::DictionaryKey, std::uint32_t> index_;
};

using ValuesBySelection = std::vector<std::vector<StackValue>>;

void AddRow(const Resolved& r, ValuesBySelection& values, int selection, std::uint64_t type,
            std::uint32_t stack, std::int64_t value, std::int64_t count) {
  const TypeUse& use = r.types.at(type);
  values[static_cast<std::size_t>(selection)].push_back(
      {.stack = stack, .value = use.Value(value), .count = use.Count(value, count)});
}

Result<> AddProfiles(store::Reader& reader, const Resolved& r, const Narrowing& narrowing,
                     ValuesBySelection& values, const CancelToken& cancel) {
  const Membership member(r);
  const std::set<profile::ProfileId> ids(narrowing.profiles.begin(), narrowing.profiles.end());
  for (const profile::ProfileId& id : ids) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto rows, reader.ProfileById(r.query.tenant, id, cancel));
    for (const store::ProfileRow& row : rows) {
      if (row.time_ns < r.query.range.from_ns || row.time_ns >= r.query.range.to_ns ||
          !r.types.contains(row.type)) {
        continue;
      }
      WHEREFORE_ASSIGN_OR_RETURN(const auto samples, reader.ProfileSamples(row, cancel));
      for (const store::SampleRow& s : samples) {
        const bool linked =
            (narrowing.spans.empty() || std::find(narrowing.spans.begin(), narrowing.spans.end(),
                                                  s.span) != narrowing.spans.end()) &&
            (narrowing.traces.empty() || std::find(narrowing.traces.begin(), narrowing.traces.end(),
                                                   s.trace) != narrowing.traces.end());
        const int at = linked ? member.Find(row.dictionary, row.type, s.series) : -1;
        if (at >= 0) AddRow(r, values, at, row.type, s.stack, s.value, s.count);
      }
    }
  }
  return {};
}

}  // namespace

Result<> Engine::EachSeries(const Selection& selection,
                            const std::function<void(const StoredSeries&)>& visit,
                            const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto services,
                             catalog_.Services(selection.tenant, selection.range, cancel));
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
  WHEREFORE_ASSIGN_OR_RETURN(const auto types, catalog_.Types(keys, cancel));
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
      reader_.Timeline(query, {whole, selection.range.from_ns % whole}, false, cancel));
  // By dictionary and profile-level series.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::set<std::uint64_t>> present;
  for (const store::SeriesPoint& p : points) present[{p.dictionary, p.series}].insert(p.type);

  WHEREFORE_ASSIGN_OR_RETURN(const auto lists, catalog_.Series(keys, cancel));
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

Result<bool> Engine::EachProfile(const Selection& selection,
                                 const std::vector<std::string>& group_by,
                                 const std::function<void(const ProfilePoint&)>& visit,
                                 const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r,
                             catalog_.Resolve(selection, {.group_by = group_by}, cancel));
  if (r.needs_samples) return false;
  if (r.query.selections.empty()) return true;
  std::map<store::DictionaryKey, std::size_t> index;
  for (std::size_t i = 0; i < r.query.selections.size(); ++i) {
    index[r.query.selections[i].dictionary] = i;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto rows, reader_.Profiles(r.query, 0, cancel));
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

Result<store::TimeRange> Engine::Extent(std::uint32_t tenant, const CancelToken& cancel) {
  store::SampleQuery query{.tenant = tenant, .range = {0, NowUnixNs() + kNsPerDay}};
  WHEREFORE_ASSIGN_OR_RETURN(const auto services, catalog_.Services(tenant, query.range, cancel));
  for (const store::ServiceRow& s : services) {
    query.selections.push_back({.dictionary = s.dictionary});
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto points,
                             reader_.Timeline(query, {kNsPerDay}, false, cancel));
  store::TimeRange extent;
  if (points.empty()) return extent;
  for (const store::SeriesPoint& p : points) extent.to_ns = std::max(extent.to_ns, p.last_ns);
  query.range = {points.front().step_start_ns, points.front().step_start_ns + kNsPerDay};
  WHEREFORE_ASSIGN_OR_RETURN(const auto first, reader_.Profiles(query, 1, cancel));
  extent.from_ns = first.empty() ? points.front().step_start_ns : first.front().time_ns;
  return extent;
}

Result<std::vector<std::vector<StackValue>>> Engine::LinkedValues(const Resolved& resolved,
                                                                  const Narrowing& narrowing,
                                                                  const CancelToken& cancel) {
  ValuesBySelection values(resolved.query.selections.size());
  const Membership member(resolved);
  const std::uint32_t tenant = resolved.query.tenant;
  std::vector<profile::TraceId> traces = narrowing.traces;
  if (traces.empty()) traces.emplace_back();  // spans by their id alone
  for (const profile::TraceId& trace : traces) {
    WHEREFORE_ASSIGN_OR_RETURN(auto links,
                               reader_.LinkedSamples(tenant, trace, narrowing.spans, cancel));
    const auto at = [&](const store::LinkRow& link) {
      return member.Find(link.dictionary, link.type, link.series);
    };
    std::erase_if(links, [&](const store::LinkRow& link) { return at(link) < 0; });
    std::vector<std::int64_t> counts;  // follow from values as they are
    for (const store::LinkRow& link : links)
      counts.push_back(resolved.types.at(link.type).Count(link.value, link.count));
    WHEREFORE_RETURN_IF_ERROR(ClipLooks(tenant, trace, resolved.types, links, cancel));
    for (std::size_t i = 0; i < links.size(); ++i) {
      const store::LinkRow& link = links[i];
      values[static_cast<std::size_t>(at(link))].push_back(
          {.stack = link.stack,
           .value = resolved.types.at(link.type).Value(link.value),
           .count = counts[i]});
    }
  }
  return values;
}

Result<profile::FlameTree> Engine::NarrowedFlame(const Selection& selection,
                                                 const Narrowing& narrowing,
                                                 const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r,
                             catalog_.Resolve(selection, {.narrowed = true}, cancel));
  ValuesBySelection values(r.query.selections.size());
  if (!narrowing.profiles.empty()) {
    WHEREFORE_RETURN_IF_ERROR(AddProfiles(reader_, r, narrowing, values, cancel));
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(values, LinkedValues(r, narrowing, cancel));
  }
  profile::TreeBuilder builder;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    WHEREFORE_RETURN_IF_ERROR(
        tries_.AddTo(builder, r.query.selections[i].dictionary, values[i], cancel));
  }
  WHEREFORE_ASSIGN_OR_RETURN(profile::FlameTree tree, BuildTree(builder, cancel));
  tree.type = r.type;
  tree.unit = r.unit;
  return tree;
}

}  // namespace wherefore::query
