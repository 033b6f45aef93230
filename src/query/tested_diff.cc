#include "query/tested_diff.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace wherefore::query {

namespace {

std::pair<std::string_view, std::string_view> KeyOf(const profile::FlameFunction& f) {
  return {f.name, f.module};
}

// What one function has in every group of both sides.
struct Gathered {
  profile::FlameFunction function;
  std::vector<GroupValue> self_before, self_after, total_before, total_after;
};

class Gatherer {
 public:
  Gatherer(QueryContext& context, Measure measure, const Lens& lens, const CancelToken& cancel)
      : context_(context), measure_(measure), lens_(lens), cancel_(cancel) {}

  Result<> Add(const GroupedSelection& side, bool after) {
    for (std::size_t i = 0; i < side.groups.size(); ++i)
      WHEREFORE_RETURN_IF_ERROR(AddGroup(side, i, after));
    return {};
  }

  std::vector<GroupValue> whole_before, whole_after;
  std::map<std::pair<std::string, std::string>, Gathered> functions;

 private:
  Result<> AddGroup(const GroupedSelection& side, std::size_t at, bool after) {
    const SampleGroup& group = side.groups[at];
    std::vector<StackTries::Values> values;
    for (std::size_t i = 0; i < group.values.size(); ++i) {
      if (!group.values[i].empty())
        values.push_back({side.resolved.query.selections[i].dictionary, group.values[i]});
    }
    const MemoryScope scope(cancel_);
    WHEREFORE_ASSIGN_OR_RETURN(TrieSums sums, context_.tries.Sum(values, cancel_));
    if (!sums.IsPlain()) return Error(Code::kUnsupported, "values below zero are not tested");
    WHEREFORE_RETURN_IF_ERROR(sums.Apply(lens_));
    WHEREFORE_ASSIGN_OR_RETURN(const TrieSums::Functions top, sums.Top());
    const auto total = static_cast<double>(top.total);
    const double exposure = measure_ == Measure::kShare ? total : group.observed_s;
    (after ? whole_after : whole_before)
        .push_back({total, static_cast<double>(top.count), exposure});
    for (const profile::TopRow& row : top.rows)
      AddFunction(side, at, after, top.functions[row.function], row);
    return {};
  }

  void AddFunction(const GroupedSelection& side, std::size_t at, bool after,
                   const profile::FlameFunction& function, const profile::TopRow& row) {
    Gathered& gathered = functions[{function.name, function.module}];
    if (gathered.function.name.empty()) gathered.function = function;
    auto& self = after ? gathered.self_after : gathered.self_before;
    auto& total = after ? gathered.total_after : gathered.total_before;
    self.resize(side.groups.size());
    total.resize(side.groups.size());
    self[at].value = static_cast<double>(row.self);
    self[at].observations = static_cast<double>(row.self_count);
    total[at].value = static_cast<double>(row.total);
    total[at].observations = static_cast<double>(row.total_count);
  }

  QueryContext& context_;
  const Measure measure_;
  const Lens& lens_;
  const CancelToken& cancel_;
};

// A group without the function was exposed to it all the same.
void SetExposures(std::vector<GroupValue>& groups, const std::vector<GroupValue>& whole) {
  groups.resize(whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) groups[i].exposure = whole[i].exposure;
}

// Among all functions that have enough observations.
void SetVerdicts(std::vector<TestedFunction>& functions, TestedChange TestedFunction::* what) {
  std::vector<double> p;
  for (const TestedFunction& f : functions) {
    const Comparison& c = (f.*what).comparison;
    if (c.observations >= kMinObservations) p.push_back(c.p);
  }
  const std::vector<double> q = FalseDiscoveryRates(p);
  std::size_t at = 0;
  for (TestedFunction& f : functions) {
    TestedChange& change = f.*what;
    if (change.comparison.observations >= kMinObservations) change.q = q[at++];
    change.verdict = VerdictOf(change.comparison, change.q);
  }
}

std::string NoteOf(const GroupedSides& sides, const std::vector<TestedFunction>& functions) {
  std::string note;
  if (sides.before.groups.empty() || sides.after.groups.empty()) return "one side has no samples";
  if (sides.grouping == Grouping::kBlocks) {
    note = fmt::format(
        "{} and {} instances: blocks of time are compared, so differences between instances are "
        "not in the intervals; {} instances on both sides together would show them",
        sides.before.instances, sides.after.instances, kFewestInstances);
  }
  double spread = 1;
  for (const TestedFunction& f : functions) {
    if (f.total.comparison.observations >= kMinObservations)
      spread = std::max(spread, f.total.comparison.spread);
  }
  if (!note.empty()) note += ". ";
  return note + (spread > 2 ? "More instances, not more samples, would make the intervals smaller"
                            : "More samples would make the intervals smaller");
}

}  // namespace

const TestedFunction* TestedDifference::Find(const profile::FlameFunction& function) const {
  const auto at = std::ranges::lower_bound(
      functions, KeyOf(function), {}, [](const TestedFunction& f) { return KeyOf(f.function); });
  return at != functions.end() && KeyOf(at->function) == KeyOf(function) ? &*at : nullptr;
}

namespace {

Result<TestedDifference> Test(QueryContext& context, const Selection& before,
                              const Selection& after, Measure measure, const Lens& lens,
                              const CancelToken& cancel) {
  if (!lens.IsByFunction())
    return Error(Code::kUnsupported, "what such a lens leaves is not tested");
  WHEREFORE_ASSIGN_OR_RETURN(const GroupedSides sides, GroupSides(context, before, after, cancel));
  Gatherer gathered(context, measure, lens, cancel);
  WHEREFORE_RETURN_IF_ERROR(gathered.Add(sides.before, false));
  WHEREFORE_RETURN_IF_ERROR(gathered.Add(sides.after, true));
  TestedDifference out{.grouping = sides.grouping,
                       .groups_before = sides.before.groups.size(),
                       .groups_after = sides.after.groups.size()};
  out.whole = Compare(gathered.whole_before, gathered.whole_after, measure);
  out.functions.reserve(gathered.functions.size());
  for (auto& [key, of] : gathered.functions) {
    SetExposures(of.self_before, gathered.whole_before);
    SetExposures(of.self_after, gathered.whole_after);
    SetExposures(of.total_before, gathered.whole_before);
    SetExposures(of.total_after, gathered.whole_after);
    out.functions.push_back(
        {.function = std::move(of.function),
         .self = {.comparison = Compare(of.self_before, of.self_after, measure)},
         .total = {.comparison = Compare(of.total_before, of.total_after, measure)}});
  }
  SetVerdicts(out.functions, &TestedFunction::self);
  SetVerdicts(out.functions, &TestedFunction::total);
  out.note = NoteOf(sides, out.functions);
  return out;
}

}  // namespace

Result<TestedDifference> TestDifference(QueryContext& context, const Selection& before,
                                        const Selection& after, Measure measure, const Lens& lens,
                                        const CancelToken& cancel) {
  auto tested = Test(context, before, after, measure, lens, cancel);
  if (!tested && tested.error().code() == Code::kUnsupported) {
    return TestedDifference{.grouping = Grouping::kNone, .note = tested.error().message()};
  }
  return tested;
}

}  // namespace wherefore::query
