#include "query/timeline.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "base/text.h"
#include "query/snapshots.h"
#include "store/read/step_sums.h"

namespace wherefore::query {
namespace {

// The largest first; those beyond the limit added up in one.
void LargestFirst(std::vector<TimelineGroup>& groups, std::size_t most) {
  const auto sum = [](const TimelineGroup& g) {
    std::int64_t total = 0;
    for (const std::int64_t v : g.values) total = SaturatingAdd(total, v);
    return total;
  };
  std::ranges::stable_sort(groups, std::greater(), sum);
  if (most == 0 || groups.size() <= most) return;
  const std::size_t steps = groups[0].values.size();
  TimelineGroup rest{.labels = {{"", "other"}},
                     .values = std::vector<std::int64_t>(steps),
                     .profiles = std::vector<std::int64_t>(steps)};
  for (std::size_t i = most; i < groups.size(); ++i) {
    for (std::size_t k = 0; k < steps; ++k) {
      rest.values[k] = SaturatingAdd(rest.values[k], groups[i].values[k]);
      rest.profiles[k] += groups[i].profiles[k];
    }
  }
  groups.resize(most);
  groups.push_back(std::move(rest));
}

// The groups of an answer while they are filled.
class Timelines {
 public:
  Timelines(const Resolved& resolved, const TimelineOptions& options, const profile::TimeGrid& grid)
      : resolved_(resolved), options_(options), grid_(grid) {
    if (searched()) matched_.Resize(grid.steps, resolved.snapshot);
  }

  [[nodiscard]] bool searched() const { return !options_.wanted.search.empty(); }
  [[nodiscard]] const profile::TimeGrid& grid() const { return grid_; }
  [[nodiscard]] bool empty() const { return groups_.empty(); }

  // A sum, where it begins within the range.
  Result<> Add(const store::SeriesPoint& p) {
    WHEREFORE_ASSIGN_OR_RETURN(Line* const line, LineOf(p.dictionary, p.series));
    newest_ns_ = std::max(newest_ns_, p.last_ns);
    line->Add(*this, p);
    return {};
  }
  void AddMatched(const store::SeriesPoint& p) { matched_.Add(*this, p); }

  // A snapshot, or what is wanted of it: `value` for as long as it stands.
  Result<> Add(const Snapshot& s, std::uint32_t series, std::int64_t value) {
    WHEREFORE_ASSIGN_OR_RETURN(Line* const line, LineOf(s.profile.dictionary, series));
    newest_ns_ = std::max(newest_ns_, s.profile.time_ns);
    line->Weigh(*this, s, value);
    return {};
  }
  void AddMatched(const Snapshot& s, std::int64_t value) { matched_.Weigh(*this, s, value); }

  // Everything, with what averages are divided by.
  void MoveTo(TimelineAnswer& answer, std::vector<std::int64_t> observed_ns) {
    answer.observed_ns = std::move(observed_ns);
    answer.newest_ns = newest_ns_;
    for (auto& [labels, line] : groups_) {
      line.Divide(answer.observed_ns);
      line.group.labels = labels;
      answer.groups.push_back(std::move(line.group));
    }
    LargestFirst(answer.groups, options_.max_groups);
    if (!searched()) return;
    matched_.Divide(answer.observed_ns);
    answer.matched = std::move(matched_.group.values);
  }

 private:
  struct Line {
    TimelineGroup group;
    std::vector<double> weighed;  // of snapshots: value x nanoseconds

    void Resize(std::size_t steps, bool snapshot) {
      group.values.resize(steps);
      group.profiles.resize(steps);
      if (snapshot) weighed.resize(steps);
    }
    void Add(const Timelines& of, const store::SeriesPoint& p) {
      if (p.step_start_ns < of.grid_.start_ns) return;
      const auto step =
          static_cast<std::size_t>((p.step_start_ns - of.grid_.start_ns) / of.grid_.width_ns);
      if (step >= of.grid_.steps) return;
      group.values[step] =
          SaturatingAdd(group.values[step], of.resolved_.types.at(p.type).Value(p.value));
      group.profiles[step] += p.profiles;
    }
    void Weigh(const Timelines& of, const Snapshot& s, std::int64_t value) {
      const TypeUse& use = of.resolved_.types.at(s.profile.type);
      const double worth = static_cast<double>(value) * static_cast<double>(use.multiplier) /
                           static_cast<double>(s.seen.sharers);
      const std::int64_t begin = s.seen.time_ns;
      of.grid_.Each(begin, begin + s.seen.length_ns, [&](std::size_t step, std::int64_t ns) {
        weighed[step] += worth * static_cast<double>(ns);
        ++group.profiles[step];
      });
    }
    void Divide(const std::vector<std::int64_t>& observed_ns) {
      for (std::size_t i = 0; i < weighed.size(); ++i)
        group.values[i] = AverageOf(weighed[i], observed_ns[i]);
    }
  };

  Result<Line*> LineOf(std::uint32_t dictionary, std::uint32_t series) {
    Line*& known = by_series_[std::uint64_t{dictionary} << 32U | series];
    if (known != nullptr) return known;
    Labels labels;
    for (const std::string& name : options_.group_by) {
      labels.emplace_back(name, GroupLabel(resolved_.services[dictionary],
                                           resolved_.series[dictionary], series, name));
    }
    Line& line = groups_[labels];
    constexpr std::size_t kMostPoints = 20'000'000;  // 16 bytes each
    if (groups_.size() * grid_.steps > kMostPoints) {
      return Error(Code::kLimit,
                   fmt::format("{} groups of {} steps are too many; take a longer step "
                               "or another label to group by",
                               groups_.size(), grid_.steps));
    }
    line.Resize(grid_.steps, resolved_.snapshot);
    return known = &line;
  }

  const Resolved& resolved_;
  const TimelineOptions& options_;
  const profile::TimeGrid grid_;
  std::int64_t newest_ns_ = 0;
  std::map<Labels, Line> groups_;
  std::unordered_map<std::uint64_t, Line*> by_series_;  // by dictionary and series
  Line matched_;
};

// Fills `out`, and returns how much of each step was seen.
Result<std::vector<std::int64_t>> SumOverTime(QueryContext& context, const Resolved& r,
                                              const TimelineOptions& options, Timelines& out,
                                              const CancelToken& cancel) {
  const store::Steps& cut = options.steps;
  // Before the whole: what arrives between the two reads then makes no part larger than it.
  if (out.searched()) {
    store::StepSums sums(cut, r.query.range.to_ns);
    MemoryClaim held(cancel);
    // Profile by profile, so that what matches altogether is rounded as the whole is.
    const auto add = [&](const store::ProfileSum& p) -> Result<> {
      sums.Add(p);
      return held.Resize(sums.bytes());
    };
    WHEREFORE_RETURN_IF_ERROR(EachMatching(context, r, options.wanted, add, cancel));
    for (const store::SeriesPoint& p : sums.Take()) out.AddMatched(p);
  }
  store::SharedOut whole;
  if (!cut.spread) {
    WHEREFORE_ASSIGN_OR_RETURN(whole.points,
                               context.reader.Timeline(r.query, cut, r.needs_samples, cancel));
  } else if (!r.needs_samples) {
    WHEREFORE_ASSIGN_OR_RETURN(whole, context.reader.ShareOut(r.query, cut, cancel));
  } else {
    store::StepSums sums(cut, r.query.range.to_ns);
    WHEREFORE_ASSIGN_OR_RETURN(const auto profiles,
                               context.reader.SumProfiles(r.query, true, cancel));
    for (const store::ProfileSum& p : profiles) sums.Add(p);
    whole.points = sums.Take();
    WHEREFORE_ASSIGN_OR_RETURN(
        whole.seen, context.reader.Seen(ProfilesOf(r), store::Reader::SeenAs::kTogether, cancel));
  }
  for (const store::SeriesPoint& p : whole.points) WHEREFORE_RETURN_IF_ERROR(out.Add(p));
  if (!cut.spread) return std::vector<std::int64_t>();
  return UnionOf(whole.seen).PerStep(out.grid());
}

// The same for snapshots.
Result<std::vector<std::int64_t>> AverageOverTime(QueryContext& context, const Resolved& r,
                                                  const TimelineOptions& options, Timelines& out,
                                                  const CancelToken& cancel) {
  std::vector<store::ProfileSum> matching;
  const auto keep = [](std::vector<store::ProfileSum>& list) {
    return [&list](const store::ProfileSum& p) -> Result<> {
      list.push_back(p);
      return {};
    };
  };
  if (out.searched())
    WHEREFORE_RETURN_IF_ERROR(EachMatching(context, r, options.wanted, keep(matching), cancel));
  std::vector<store::ProfileSum> parts;  // of profiles, where their samples have labels
  if (r.needs_samples) {
    WHEREFORE_ASSIGN_OR_RETURN(parts, context.reader.SumProfiles(r.query, true, cancel));
  }
  // Last: it knows every profile that the others name.
  WHEREFORE_ASSIGN_OR_RETURN(Snapshots snapshots, ReadSnapshots(context, r, cancel));
  std::unordered_map<std::uint64_t, const Snapshot*> known;  // by dictionary and number
  const auto key = [](const store::ProfileSum& p) {
    return std::uint64_t{p.dictionary} << 32U | p.number;
  };
  if (out.searched() || r.needs_samples) {
    for (const Snapshot& s : snapshots.all) known[key(s.profile)] = &s;
  }
  for (const store::ProfileSum& p : matching) {
    if (const auto at = known.find(key(p)); at != known.end()) out.AddMatched(*at->second, p.value);
  }
  for (const store::ProfileSum& p : parts) {
    const auto at = known.find(key(p));
    if (at != known.end()) WHEREFORE_RETURN_IF_ERROR(out.Add(*at->second, p.series, p.value));
  }
  if (!r.needs_samples) {
    for (const Snapshot& s : snapshots.all)
      WHEREFORE_RETURN_IF_ERROR(out.Add(s, s.profile.series, s.profile.value));
  }
  return snapshots.observed.PerStep(out.grid());
}

}  // namespace

Result<TimelineAnswer> Timeline(QueryContext& context, const Selection& selection,
                                const TimelineOptions& options, const CancelToken& cancel) {
  const auto [width, phase, spread] = options.steps;
  Catalog::Options wanted{.group_by = options.group_by};
  WHEREFORE_ASSIGN_OR_RETURN(Resolved r, context.catalog.Resolve(selection, wanted, cancel));
  if (r.snapshot) {
    wanted.with_series = true;
    WHEREFORE_ASSIGN_OR_RETURN(r, context.catalog.Resolve(selection, wanted, cancel));
  }
  const std::int64_t start = (selection.range.from_ns - phase) / width * width + phase;
  const auto steps = static_cast<std::size_t>((selection.range.to_ns - start + width - 1) / width);
  TimelineAnswer answer{.type = r.type,
                        .unit = r.unit,
                        .averaged = r.snapshot,
                        .scale = r.snapshot ? kAverageScale : 1,
                        .start_ns = start,
                        .step_ns = width};
  constexpr std::size_t kMostSteps = 200'000;  // a month in steps of 15 s
  if (steps > kMostSteps) {
    return Error(Code::kInvalid, fmt::format("step {} gives {} points; at most 200,000 are sent",
                                             FormatDuration(width), steps));
  }
  Timelines lines(r, options, {start, width, steps});
  std::vector<std::int64_t> observed_ns(spread ? steps : 0);
  if (!r.query.selections.empty()) {
    if (lines.searched() || r.needs_samples) {
      WHEREFORE_RETURN_IF_ERROR(NoteGoneSamples(
          context, r, lines.searched() ? "a search over time needs" : "labels of samples need",
          answer.tier, cancel));
    }
    WHEREFORE_ASSIGN_OR_RETURN(observed_ns,
                               r.snapshot ? AverageOverTime(context, r, options, lines, cancel)
                                          : SumOverTime(context, r, options, lines, cancel));
  }
  if (lines.empty()) answer.hint = context.catalog.ExplainEmpty(selection, cancel);
  lines.MoveTo(answer, std::move(observed_ns));
  return answer;
}

}  // namespace wherefore::query
