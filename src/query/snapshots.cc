#include "query/snapshots.h"

#include <cmath>
#include <set>

#include "base/clock.h"
#include "base/hash.h"

namespace wherefore::query {
namespace {

std::uint64_t LabelsHash(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += name;
    text += '\0';
    text += value;
    text += '\0';
  }
  return Hash64(text);
}

// Identity of a series over buckets and writers: service, labels and type.
class SeriesIdentities {
 public:
  explicit SeriesIdentities(const Resolved& resolved) : resolved_(resolved) {
    for (const auto& [type, use] : resolved.types) types_[type] = Hash64(use.details.Id());
  }
  std::uint64_t Of(const store::ProfileSum& p) {
    const auto [known, fresh] = labels_.try_emplace(std::uint64_t{p.dictionary} << 32U | p.series);
    if (fresh) {
      const store::SeriesRow* row = ProfileLevel(resolved_.series[p.dictionary], p.series);
      known->second = resolved_.query.selections[p.dictionary].dictionary.service ^
                      (row != nullptr ? LabelsHash(row->labels) : 0);
    }
    return known->second ^ types_[p.type];
  }

 private:
  const Resolved& resolved_;
  std::unordered_map<std::uint64_t, std::uint64_t> types_;
  std::unordered_map<std::uint64_t, std::uint64_t> labels_;  // by dictionary and series
};

}  // namespace

store::SampleQuery ProfilesOf(const Resolved& r) {
  store::SampleQuery query = r.query;
  for (std::size_t i = 0; i < query.selections.size(); ++i) {
    std::vector<std::uint32_t>& series = query.selections[i].series;
    if (!r.needs_samples || series.empty()) continue;
    std::set<std::uint32_t> owners;
    for (const std::uint32_t id : series) {
      const store::SeriesRow* owner = ProfileLevel(r.series[i], id);
      owners.insert(owner != nullptr ? owner->series : id);
    }
    series.assign(owners.begin(), owners.end());
  }
  return query;
}

profile::ObservedTime UnionOf(const std::vector<store::SeenRow>& rows) {
  profile::ObservedTime observed;
  std::vector<profile::SeenProfile> silent;  // about how long they took
  for (const store::SeenRow& row : rows) {
    if (row.length_ns > 0) {
      observed.Add(row.begin_ns, row.length_ns);
      continue;
    }
    const std::uint64_t series = std::uint64_t{row.dictionary} << 32U | row.series;
    silent.push_back({.series = series ^ row.type, .time_ns = row.begin_ns});
  }
  profile::FillLengths(silent);
  for (const profile::SeenProfile& p : silent) observed.Add(p.time_ns, p.length_ns);
  return observed;
}

Result<Snapshots> ReadSnapshots(QueryContext& context, const Resolved& r,
                                const CancelToken& cancel) {
  // Beside the range, to know the distances of a series that has one snapshot in it.
  constexpr std::int64_t kBeside = 300 * kNsPerSecond;
  const store::TimeRange range = r.query.range;
  store::SampleQuery query = ProfilesOf(r);
  query.range.from_ns = std::max<std::int64_t>(range.from_ns - kBeside, 0);
  query.range.to_ns = std::min(range.to_ns, INT64_MAX - kBeside) + kBeside;
  WHEREFORE_ASSIGN_OR_RETURN(std::vector<store::ProfileSum> profiles,
                             context.reader.ProfileTotals(query, cancel));
  SeriesIdentities identities(r);
  std::vector<profile::SeenProfile> seen;
  seen.reserve(profiles.size());
  for (const store::ProfileSum& p : profiles) {
    seen.push_back(
        {.series = identities.Of(p), .time_ns = p.time_ns, .duration_ns = p.duration_ns});
  }
  profile::FillLengths(seen, profile::kMomentNs);
  Snapshots out;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (profiles[i].time_ns < range.from_ns || profiles[i].time_ns >= range.to_ns) continue;
    out.all.push_back({profiles[i], seen[i]});
    out.observed.Add(seen[i].time_ns, seen[i].length_ns);
  }
  return out;
}

Result<ValuesBySelection> Average(QueryContext& context, const Resolved& r,
                                  const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(Snapshots snapshots, ReadSnapshots(context, r, cancel));
  const std::int64_t observed_ns = snapshots.observed.total_ns();
  std::vector<store::ProfileWeight> weights;
  weights.reserve(snapshots.all.size());
  for (const Snapshot& s : snapshots.all) {
    weights.push_back({s.profile.dictionary, s.profile.number, s.profile.time_ns,
                       std::max<std::int64_t>(std::llround(s.seen.Weight()), 1)});
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto sums,
                             context.reader.WeighStacks(r.query, std::move(weights), cancel));
  ValuesBySelection by_selection(r.query.selections.size());
  for (const store::WeighedStack& s : sums) {
    const TypeUse& use = r.types.at(s.type);
    by_selection[s.dictionary].push_back(
        {.stack = s.stack,
         .value = AverageOf(s.weighed * static_cast<double>(use.multiplier), observed_ns),
         .count = use.Count(s.value, s.count)});
  }
  return by_selection;
}

Result<std::int64_t> ObservedNs(QueryContext& context, const Selection& selection,
                                const CancelToken& cancel) {
  if (!selection.selector.narrowing().empty()) return 0;
  WHEREFORE_ASSIGN_OR_RETURN(const Resolved r, context.catalog.Resolve(selection, {}, cancel));
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto rows,
      context.reader.Seen(ProfilesOf(r), store::Reader::SeenAs::kTogether, cancel));
  return UnionOf(rows).total_ns();
}

}  // namespace wherefore::query
