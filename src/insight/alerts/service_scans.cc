#include "insight/alerts/service_scans.h"

#include <algorithm>

#include "base/clock.h"
#include "query/requests.h"
#include "query/scan.h"

namespace wherefore::insight {

using query::Selection;
using query::Side;

const query::Lens Scan::kEverything;

namespace {

constexpr int kDays = 7;
constexpr std::int64_t kVersionsAge = 5 * kMinute;

// One group of everything a selection has.
query::MeasuredGroup Together(const query::GroupedSelection& side) {
  query::MeasuredGroup all;
  all.values.resize(side.resolved.query.selections.size());
  for (const query::SampleGroup& group : side.groups) {
    all.exposure += group.observed_s;
    for (std::size_t i = 0; i < group.values.size(); ++i) {
      all.values[i].insert(all.values[i].end(), group.values[i].begin(), group.values[i].end());
    }
  }
  return all;
}

// What cannot be measured is no failure of the round.
bool IsReason(const Error& error) {
  return error.code() == Code::kUnsupported || error.code() == Code::kNotFound;
}

}  // namespace

Basis BasisOf(const Condition& condition) {
  if (condition.kind == Condition::Kind::kAnomaly) return Basis::kDays;
  switch (condition.against) {
    case Against::kPreviousVersion:
      return Basis::kPreviousVersion;
    case Against::kYesterday:
      return Basis::kYesterday;
    case Against::kPrevious:
      return Basis::kPrevious;
    case Against::kNothing:
      break;
  }
  return Basis::kAlone;
}

Result<const Scan*> ServiceScans::Get(Basis basis, bool per_request) {
  auto& scan = scans_[{basis, per_request}];
  if (scan) return scan.get();
  scan = std::make_unique<Scan>(evaluator_.context_, cancel_);
  ++evaluator_.scans_;
  if (const auto filled = Fill(basis, per_request, *scan); !filled) {
    if (!IsReason(filled.error())) return filled.error();
    scan->why_not = filled.error().message();
  }
  return scan.get();
}

Result<> ServiceScans::Fill(Basis basis, bool per_request, Scan& scan) {
  if (basis == Basis::kDays) {
    WHEREFORE_RETURN_IF_ERROR(FillDays(scan));
  } else if (basis == Basis::kAlone && !per_request) {
    WHEREFORE_RETURN_IF_ERROR(FillAlone(scan));
  } else {
    WHEREFORE_ASSIGN_OR_RETURN(const Sides sides, SidesOf(basis));
    scan.no_before = sides.no_before;
    if (!scan.no_before.empty()) return {};
    WHEREFORE_RETURN_IF_ERROR(per_request ? FillRequests(sides, scan) : FillSides(sides, scan));
  }
  return Finish(scan);
}

Result<> ServiceScans::Finish(Scan& scan) {
  if (!scan.no_before.empty() || scan.absent) return {};
  const query::StackTable& table = scan.tabulation.table();
  scan.whole = table.Whole();
  WHEREFORE_ASSIGN_OR_RETURN(scan.hits, FindFrames(frames_, table, cancel_));
  return {};
}

Selection ServiceScans::Shifted(std::int64_t by_ns) const {
  Selection shifted = window_;
  shifted.range.from_ns -= by_ns;
  shifted.range.to_ns -= by_ns;
  return shifted;
}

Result<ServiceScans::Sides> ServiceScans::SidesOf(Basis basis) {
  if (basis == Basis::kYesterday) return Sides{Shifted(kNsPerDay), window_, ""};
  if (basis == Basis::kPrevious)
    return Sides{Shifted(window_.range.to_ns - window_.range.from_ns), window_, ""};
  if (basis == Basis::kPreviousVersion) return VersionSides();
  return Sides{window_, window_, ""};
}

Result<ServiceScans::Sides> ServiceScans::VersionSides() {
  const std::int64_t as_of = window_.range.to_ns / kVersionsAge;
  auto& known = evaluator_.versions_[{window_.tenant, service_}];
  if (known.as_of_ns != as_of) {
    const store::TimeRange range{window_.range.to_ns - kNsPerDay, window_.range.to_ns};
    WHEREFORE_ASSIGN_OR_RETURN(
        known.versions,
        query::VersionsOf(evaluator_.context_, window_.tenant, service_, range, cancel_));
    known.as_of_ns = as_of;
  }
  const query::ServiceVersion* const current = known.versions.Current();
  const query::ServiceVersion* const before =
      current != nullptr ? known.versions.Before(*current) : nullptr;
  Sides sides{window_, window_, ""};
  if (before == nullptr) {
    sides.no_before = "no version before this one in the last 24 h";
    return sides;
  }
  for (const auto& [side, version] :
       {std::pair(&sides.before, before), std::pair(&sides.after, current)}) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto only,
                               query::SelectorOf(service_, known.versions.label, version->name));
    side->selector.Add(only);
  }
  const std::int64_t over = window_.range.to_ns - window_.range.from_ns;
  sides.after.range.from_ns = std::max(window_.range.from_ns, current->first_ns);
  sides.before.range = {std::max(before->first_ns, before->last_ns - over), before->last_ns};
  return sides;
}

Result<> ServiceScans::FillAlone(Scan& scan) {
  auto alone = query::GroupAlone(evaluator_.context_, window_, cancel_);
  if (!alone && alone.error().code() == Code::kUnsupported) return FillSnapshot(scan);
  if (!alone) return alone.error();
  scan.unit = alone->selection.resolved.unit;
  scan.absent = alone->selection.groups.empty();
  if (scan.absent) return {};
  scan.instances[1] = query::InstancesOf(alone->selection);
  return scan.tabulation.Add(alone->selection.resolved, query::AsTheyAre(alone->selection),
                             Side::kAfter);
}

// Averages over the window, in thousandths.
Result<> ServiceScans::FillSnapshot(Scan& scan) {
  query::QueryContext& context = evaluator_.context_;
  WHEREFORE_ASSIGN_OR_RETURN(const auto resolved, query::Resolve(context, window_, cancel_));
  scan.unit = resolved.unit;
  query::MeasuredGroup group{.unit = 1e-3, .exposure = 1};
  WHEREFORE_ASSIGN_OR_RETURN(group.values, query::SumOrAverage(context, resolved, cancel_));
  scan.exact = true;
  scan.absent = std::ranges::all_of(group.values, [](const auto& of) { return of.empty(); });
  if (scan.absent) return {};
  return scan.tabulation.Add(resolved, std::span(&group, 1), Side::kAfter);
}

Result<> ServiceScans::FillSides(const Sides& sides, Scan& scan) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto grouped,
      query::GroupSides(evaluator_.context_, sides.before, sides.after, cancel_));
  scan.unit = grouped.after.resolved.unit;
  scan.absent = grouped.after.groups.empty();
  if (grouped.before.groups.empty()) scan.no_before = "there is nothing to compare with";
  if (scan.absent || !scan.no_before.empty()) return {};
  scan.instances = {query::InstancesOf(grouped.before), query::InstancesOf(grouped.after)};
  WHEREFORE_RETURN_IF_ERROR(scan.tabulation.Add(grouped.before.resolved,
                                                query::AsTheyAre(grouped.before), Side::kBefore));
  return scan.tabulation.Add(grouped.after.resolved, query::AsTheyAre(grouped.after), Side::kAfter);
}

Result<> ServiceScans::FillRequests(const Sides& sides, Scan& scan) {
  query::QueryContext& context = evaluator_.context_;
  WHEREFORE_ASSIGN_OR_RETURN(const auto grouped,
                             query::GroupSides(context, sides.before, sides.after, cancel_));
  scan.unit = grouped.after.resolved.unit;
  scan.absent = grouped.after.groups.empty();
  if (grouped.before.groups.empty()) scan.no_before = "there is nothing to compare with";
  if (scan.absent || !scan.no_before.empty()) return {};
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto requests,
      query::MeasurePerRequest(context, sides.before, sides.after, grouped, cancel_));
  WHEREFORE_RETURN_IF_ERROR(
      scan.tabulation.Add(grouped.before.resolved, requests.before, Side::kBefore));
  return scan.tabulation.Add(grouped.after.resolved, requests.after, Side::kAfter);
}

Result<bool> ServiceScans::AddTogether(const Selection& selection, Side side, Scan& scan) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto alone,
                             query::GroupAlone(evaluator_.context_, selection, cancel_));
  if (alone.selection.groups.empty()) return false;
  if (side == Side::kAfter) scan.unit = alone.selection.resolved.unit;
  query::MeasuredGroup all = Together(alone.selection);
  // Per second of the service: days may have had other numbers of instances.
  all.exposure /= std::max(query::InstancesOf(alone.selection), 1e-9);
  WHEREFORE_RETURN_IF_ERROR(
      scan.tabulation.Add(alone.selection.resolved, std::span(&all, 1), side));
  return true;
}

Result<> ServiceScans::FillDays(Scan& scan) {
  for (int day = kDays; day > 0; --day) {
    WHEREFORE_ASSIGN_OR_RETURN(const bool any,
                               AddTogether(Shifted(day * kNsPerDay), Side::kBefore, scan));
    scan.days += any ? 1 : 0;
  }
  WHEREFORE_ASSIGN_OR_RETURN(const bool now, AddTogether(window_, Side::kAfter, scan));
  scan.absent = !now;
  constexpr int kFewestDays = 3;
  if (scan.days < kFewestDays) scan.no_before = "fewer than 3 of the last 7 days have profiles";
  return {};
}

Result<std::optional<std::int64_t>> ServiceScans::SinceLastProfile(std::int64_t at_ns) {
  query::QueryContext& context = evaluator_.context_;
  WHEREFORE_ASSIGN_OR_RETURN(const auto resolved, context.catalog.Resolve(window_, {}, cancel_));
  std::optional<std::int64_t> last;
  if (resolved.query.selections.empty()) return last;
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto rows,
      context.reader.Coverage(resolved.query, store::Reader::CoverBy::kType, cancel_));
  for (const store::CoverRow& row : rows) last = std::max(last.value_or(INT64_MIN), row.end_ns);
  if (last) last = std::max<std::int64_t>(0, at_ns - *last);
  return last;
}

}  // namespace wherefore::insight
