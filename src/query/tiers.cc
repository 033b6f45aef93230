#include "query/tiers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "query/stored_types.h"
#include "store/hours/hours.h"

namespace wherefore::query {
namespace {

using store::DictionaryKey;
using store::HourRow;
using store::HourSumQuery;
using store::StackSum;
using store::TimeRange;

constexpr std::string_view kVersionLabel = "service.version";

// Where what is asked for is to be read.
struct Plan {
  HourSumQuery hours;
  // From samples: times, and the selections of the query that have some of theirs there.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::uint32_t>> raw;
  std::int64_t missing = 0;
};

TimeRange Within(const TimeRange& range, std::uint32_t hour) {
  return {std::max(range.from_ns, store::StartOfHour(hour)),
          std::min(range.to_ns, store::StartOfHour(std::int64_t{hour} + 1))};
}

// What of one dictionary is read from sums, and what from samples; neighbours become one range.
struct PartsOfDictionary {
  std::vector<HourSumQuery::Part> sums;
  std::vector<TimeRange> samples;

  void AddSamples(const TimeRange& range) {
    if (!samples.empty() && samples.back().to_ns == range.from_ns) {
      samples.back().to_ns = range.to_ns;
    } else {
      samples.push_back(range);
    }
  }
};

// Each range is a statement. Where there would be many, because hours are not made yet or data came
// late, dictionaries that need any of their samples are read from samples alone, in one.
void MoveTo(Plan& plan, std::map<std::uint32_t, PartsOfDictionary> parts, const TimeRange& whole) {
  constexpr std::size_t kMostRanges = 12;
  std::set<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const auto& [selection, of] : parts) {
    for (const TimeRange& range : of.samples) ranges.emplace(range.from_ns, range.to_ns);
  }
  const bool many = ranges.size() > kMostRanges;
  for (const auto& [selection, of] : parts) {
    if (many && !of.samples.empty()) {
      plan.raw[{whole.from_ns, whole.to_ns}].push_back(selection);
      continue;
    }
    plan.hours.parts.insert(plan.hours.parts.end(), of.sums.begin(), of.sums.end());
    for (const TimeRange& range : of.samples)
      plan.raw[{range.from_ns, range.to_ns}].push_back(selection);
  }
}

Plan MakePlan(const store::Reader& reader, const Resolved& r, std::vector<HourRow> hours) {
  std::map<DictionaryKey, std::uint32_t> index;
  for (std::uint32_t i = 0; i < r.query.selections.size(); ++i)
    index[r.query.selections[i].dictionary] = i;
  std::ranges::sort(hours, {}, [](const HourRow& h) { return std::pair(h.dictionary, h.hour); });
  Plan plan;
  std::map<std::uint32_t, PartsOfDictionary> parts;
  for (const HourRow& hour : hours) {
    const auto selection = index.find(hour.dictionary);
    if (selection == index.end()) continue;
    const TimeRange range = Within(r.query.range, hour.hour);
    const bool whole = range.to_ns - range.from_ns == store::kNsPerHour;
    const bool gone = reader.SamplesGone(hour.dictionary);
    PartsOfDictionary& of = parts[selection->second];
    if (whole && hour.revision != 0 && (gone || hour.IsCurrent())) {
      of.sums.push_back({hour.dictionary, hour.hour, hour.revision});
    } else if (gone) {
      ++plan.missing;
    } else {
      of.AddSamples(range);
    }
  }
  MoveTo(plan, std::move(parts), r.query.range);
  return plan;
}

// Whether the sums that were read are still all there were.
Result<bool> AreStillThere(store::Reader& reader, const Resolved& r, const Plan& plan,
                           const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto hours, reader.Hours(r.query, cancel));
  std::map<std::pair<DictionaryKey, std::uint32_t>, std::uint32_t> newest;
  for (const HourRow& hour : hours) newest[{hour.dictionary, hour.hour}] = hour.revision;
  return std::ranges::all_of(plan.hours.parts, [&](const HourSumQuery::Part& part) {
    const auto found = newest.find({part.dictionary, part.hour});
    return found != newest.end() && found->second >= part.revision;
  });
}

// Only those of versions that match, where the selector names any; none: no label at all.
std::optional<std::vector<std::string>> VersionsOf(const Resolved& r) {
  if (r.label_matchers.empty()) return std::nullopt;
  std::set<std::string> versions;
  for (std::size_t i = 0; i < r.query.selections.size(); ++i) {
    const std::vector<std::uint32_t>& wanted = r.query.selections[i].series;
    if (!r.series[i]) continue;
    for (const store::SeriesRow& row : *r.series[i]) {
      if (wanted.empty() || std::ranges::binary_search(wanted, row.series))
        versions.insert(store::VersionText(row.labels));
    }
  }
  return std::vector<std::string>(versions.begin(), versions.end());
}

bool HoursKnow(const Resolved& r) {
  return std::ranges::all_of(r.label_matchers,
                             [](const std::string& label) { return label == kVersionLabel; });
}

// Sums of one stack that came from several places become one: observations follow from the whole.
void Merge(const Plan& plan, std::vector<StackSum>& sums) {
  if (plan.raw.empty()) return;
  std::ranges::sort(sums, {},
                    [](const StackSum& s) { return std::tuple(s.dictionary, s.type, s.stack); });
  std::size_t kept = 0;
  for (const StackSum& sum : sums) {
    StackSum* const last = kept > 0 ? &sums[kept - 1] : nullptr;
    if (last != nullptr && last->dictionary == sum.dictionary && last->type == sum.type &&
        last->stack == sum.stack) {
      last->value = SaturatingAdd(last->value, sum.value);
      last->count = SaturatingAdd(last->count, sum.count);
    } else {
      sums[kept++] = sum;
    }
  }
  sums.resize(kept);
}

Result<> AddRaw(store::Reader& reader, const Resolved& r, const Plan& plan,
                std::vector<StackSum>& sums, const CancelToken& cancel) {
  for (const auto& [range, at] : plan.raw) {
    store::SampleQuery query{
        .tenant = r.query.tenant, .range = {range.first, range.second}, .selections = {}};
    for (const std::uint32_t i : at) query.selections.push_back(r.query.selections[i]);
    WHEREFORE_ASSIGN_OR_RETURN(std::vector<StackSum> some, reader.SumStacks(query, cancel));
    for (StackSum& sum : some) {
      sum.dictionary = at[sum.dictionary];
      sums.push_back(sum);
    }
  }
  return {};
}

bool AnyGone(const store::Reader& reader, const Resolved& r) {
  return std::ranges::any_of(r.query.selections, [&](const store::SeriesSelection& s) {
    return reader.SamplesGone(s.dictionary);
  });
}

}  // namespace

void Tier::Add(const Tier& other) {
  hours += other.hours;
  missing += other.missing;
  if (note.empty()) note = other.note;
}

Result<> NoteGoneSamples(QueryContext& context, const Resolved& r, std::string_view why, Tier& tier,
                         const CancelToken& cancel) {
  if (!AnyGone(context.reader, r)) return {};
  WHEREFORE_ASSIGN_OR_RETURN(const auto hours, context.reader.Hours(r.query, cancel));
  std::int64_t last_ns = 0;
  for (const HourRow& hour : hours) {
    if (!context.reader.SamplesGone(hour.dictionary)) continue;
    ++tier.missing;
    last_ns = std::max(last_ns, store::StartOfHour(std::int64_t{hour.hour} + 1));
  }
  if (tier.missing > 0) {
    tier.note =
        fmt::format("{} samples, and those of before {} are gone: only sums by hour are left", why,
                    FormatTime(last_ns));
  }
  return {};
}

Result<std::vector<StackSum>> SumStacksOfTiers(QueryContext& context, const Resolved& r, Tier& tier,
                                               const CancelToken& cancel) {
  store::Reader& reader = context.reader;
  const bool gone = AnyGone(reader, r);
  const bool is_long = r.query.range.to_ns - r.query.range.from_ns >= kLongRangeNs;
  if (!HoursKnow(r)) {
    WHEREFORE_RETURN_IF_ERROR(NoteGoneSamples(
        context, r, "labels other than service, type and service.version need", tier, cancel));
    return reader.SumStacks(r.query, cancel);
  }
  if (!gone && !is_long) return reader.SumStacks(r.query, cancel);
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t before = reader.HourRemovals();
    WHEREFORE_ASSIGN_OR_RETURN(std::vector<HourRow> hours, reader.Hours(r.query, cancel));
    Plan plan = MakePlan(reader, r, std::move(hours));
    plan.hours.query = r.query;
    plan.hours.versions = VersionsOf(r);
    WHEREFORE_ASSIGN_OR_RETURN(std::vector<StackSum> sums, reader.SumHours(plan.hours, cancel));
    const bool calm = before % 2 == 0 && reader.HourRemovals() == before;
    if (!calm) {
      WHEREFORE_ASSIGN_OR_RETURN(const bool whole, AreStillThere(reader, r, plan, cancel));
      if (!whole) continue;
    }
    WHEREFORE_RETURN_IF_ERROR(AddRaw(reader, r, plan, sums, cancel));
    Merge(plan, sums);
    tier.hours = static_cast<std::int64_t>(plan.hours.parts.size());
    tier.missing = plan.missing;
    if (plan.missing > 0) {
      tier.note = fmt::format(
          "parts of {} hours are not in it: their samples are gone, and only sums of whole hours "
          "are left",
          plan.missing);
    }
    return sums;
  }
  return Error(Code::kUnavailable, "data of that time is being deleted; ask again");
}

}  // namespace wherefore::query
