#include "query/tested_diff.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "query/stack_table.h"
#include "query/tabulation.h"

namespace wherefore::query {

namespace {

std::pair<std::string_view, std::string_view> KeyOf(const profile::FlameFunction& f) {
  return {f.name, f.module};
}

std::vector<TestedFunction> TestFunctions(const StackTable& table, Measure measure) {
  std::vector<TestedFunction> functions;
  const std::vector<StackTable::OfFunction> all = table.ByFunction();
  for (std::size_t f = 0; f < all.size(); ++f) {
    if (all[f].total.empty()) continue;
    functions.push_back({.function = table.functions()[f],
                         .self = {.comparison = table.CompareSides(all[f].self, measure)},
                         .total = {.comparison = table.CompareSides(all[f].total, measure)}});
  }
  std::ranges::sort(functions, {}, [](const TestedFunction& f) { return KeyOf(f.function); });
  return functions;
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

// By node of the table, among all that have enough observations.
std::unordered_map<std::uint32_t, Verdict> NodeVerdicts(const StackTable& table, Measure measure) {
  std::vector<std::pair<std::uint32_t, Comparison>> tested;
  for (const auto& [node, values] : table.ByNode(kMinObservations))
    tested.emplace_back(node, table.CompareSides(values, measure));
  std::vector<double> p;
  for (const auto& [node, comparison] : tested) p.push_back(comparison.p);
  const std::vector<double> q = FalseDiscoveryRates(p);
  std::unordered_map<std::uint32_t, Verdict> out;
  for (std::size_t i = 0; i < tested.size(); ++i)
    out.emplace(tested[i].first, VerdictOf(tested[i].second, q[i]));
  return out;
}

// What was pruned is not known by its path.
std::vector<Verdict> VerdictsOf(const profile::FlameTree& shown, const StackTable& table,
                                Measure measure) {
  std::vector<Verdict> out(shown.size());
  if (shown.inverted) return out;
  const auto verdicts = NodeVerdicts(table, measure);
  std::vector<std::optional<std::uint32_t>> path = {0};  // nodes of the table by depth
  for (std::size_t n = 1; n < shown.size(); ++n) {
    path.resize(shown.depth[n]);
    const auto above = path.back();
    path.push_back(above ? table.NodeBelow(*above, shown.functions[shown.function[n]])
                         : std::nullopt);
    if (!path.back()) continue;
    if (const auto at = verdicts.find(*path.back()); at != verdicts.end()) out[n] = at->second;
  }
  return out;
}

// Everything, and every function.
void Tested(const StackTable& table, Measure measure, TestedDifference& out) {
  out.groups_before = table.groups(Side::kBefore);
  out.groups_after = table.groups(Side::kAfter);
  out.whole = table.CompareSides(table.Whole(), measure);
  out.functions = TestFunctions(table, measure);
  SetVerdicts(out.functions, &TestedFunction::self);
  SetVerdicts(out.functions, &TestedFunction::total);
}

std::string NoteOf(const GroupedSides& sides, const TestedDifference& tested) {
  std::string note;
  if (tested.groups_before == 0 || tested.groups_after == 0) return "one side has no samples";
  if (sides.grouping == Grouping::kBlocks) {
    note = fmt::format(
        "{} and {} instances: blocks of time are compared, so differences between instances are "
        "not in the intervals; {} instances on both sides together would show them",
        sides.before.index.instances(), sides.after.index.instances(), kFewestInstances);
  }
  if (sides.grouping == Grouping::kDays) {
    note = fmt::format("{} days before and {} after are compared, each as a whole",
                       tested.groups_before, tested.groups_after);
  }
  double spread = 1;
  for (const TestedFunction& f : tested.functions) {
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

std::string_view CauseBasisName(CauseBasis basis) {
  if (basis == CauseBasis::kEndpoints) return "endpoints";
  return basis == CauseBasis::kRequests ? "requests" : "unchanged";
}

namespace {

void Scale(Comparison& c, double factor) {
  for (double* const value :
       {&c.before, &c.after, &c.change, &c.low, &c.high, &c.detectable, &c.error})
    *value *= factor;
}

// Per second of the service instead of per instance and second.
void ShowForAllInstances(TestedDifference& out) {
  Scale(out.whole, out.instances_after);
  for (TestedFunction& f : out.functions) {
    Scale(f.self.comparison, out.instances_after);
    Scale(f.total.comparison, out.instances_after);
  }
  if (std::abs(out.instances_after - out.instances_before) > 0.05 * out.instances_after) {
    out.note += fmt::format(
        ". {:.1f} and {:.1f} instances on average: both sides are shown as {:.1f} of them",
        out.instances_before, out.instances_after, out.instances_after);
  }
}

// In the units of the comparison: a cause's part of the cost before, times that cost.
Result<> AddCauses(StackTable& table, double cost_before, TestedDifference& out,
                   const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(out.causes, FindCauses(table, cancel));
  for (Cause& cause : out.causes) {
    const double factor =
        cause.change != 0 ? cause.share_of_before * cost_before / cause.change : 0;
    for (double* const value : {&cause.change, &cause.low, &cause.high}) *value *= factor;
  }
  return {};
}

class Tester {
 public:
  Tester(QueryContext& context, const Selection& before, const Selection& after, const Lens& lens,
         bool by_day, const CancelToken& cancel)
      : context_(context),
        before_(before),
        after_(after),
        as_shown_(lens),
        lens_(lens.WithoutOwn()),
        by_day_(by_day),
        cancel_(cancel) {}

  Result<TestedDifference> Run(Compared compared, const profile::FlameTree* shown) {
    if (!lens_.IsByFunction())
      return Error(Code::kUnsupported, "what such a lens leaves is not tested");
    WHEREFORE_ASSIGN_OR_RETURN(sides_, by_day_ ? GroupSidesByDay(context_, before_, after_, cancel_)
                                               : GroupSides(context_, before_, after_, cancel_));
    WHEREFORE_RETURN_IF_ERROR(ReadRequests(compared));
    TestedDifference out{.compared = compared,
                         .grouping = sides_.grouping,
                         .instances_before = InstancesOf(sides_.before),
                         .instances_after = InstancesOf(sides_.after),
                         .charged = as_shown_.HasOwn()};
    if (requests_) {
      out.requests_before = requests_->requests_before;
      out.requests_after = requests_->requests_after;
      out.times_before = requests_->times_before;
      out.times_after = requests_->times_after;
      out.mix_moved = requests_->mix_moved;
      out.mix = requests_->mix;
    }
    const Measure measure = compared == Compared::kShares ? Measure::kShare : Measure::kRate;
    Tabulation tabulation(context_, lens_, compared == Compared::kShares, cancel_);
    WHEREFORE_RETURN_IF_ERROR(Fill(tabulation, compared == Compared::kPerRequest));
    StackTable& table = tabulation.table();
    Tested(table, measure, out);
    if (shown != nullptr) {
      WHEREFORE_ASSIGN_OR_RETURN(out.nodes, TestNodes(*shown, table, compared, measure));
    }
    out.note = NoteOf(sides_, out);
    if (compared == Compared::kPerRequest) out.note += RequestNote();
    if (compared == Compared::kPerSecond) ShowForAllInstances(out);
    WHEREFORE_RETURN_IF_ERROR(FindCausesIn(table, compared, out));
    return out;
  }

 private:
  // Own code makes other paths of the same stacks.
  Result<std::vector<Verdict>> TestNodes(const profile::FlameTree& shown, const StackTable& table,
                                         Compared compared, Measure measure) {
    if (!as_shown_.HasOwn()) return VerdictsOf(shown, table, measure);
    Tabulation charged(context_, as_shown_, compared == Compared::kShares, cancel_);
    WHEREFORE_RETURN_IF_ERROR(Fill(charged, compared == Compared::kPerRequest));
    return VerdictsOf(shown, charged.table(), measure);
  }

  // Without requests causes are measured otherwise; a comparison per request is not possible.
  Result<> ReadRequests(Compared compared) {
    auto measured = MeasurePerRequest(context_, before_, after_, sides_, cancel_);
    if (measured) {
      requests_ = std::move(*measured);
    } else if (compared == Compared::kPerRequest || measured.error().code() != Code::kUnsupported) {
      return measured.error();
    }
    return {};
  }

  Result<> Fill(Tabulation& tabulation, bool per_request) {
    WHEREFORE_RETURN_IF_ERROR(
        tabulation.Add(sides_.before.resolved,
                       per_request ? requests_->before : AsTheyAre(sides_.before), Side::kBefore));
    return tabulation.Add(sides_.after.resolved,
                          per_request ? requests_->after : AsTheyAre(sides_.after), Side::kAfter);
  }

  Result<> FindCausesIn(StackTable& table, Compared compared, TestedDifference& out) {
    const double cost_before = out.whole.before;
    if (!requests_) {
      MeasureAgainstTheUnchanged(table);
      return AddCauses(table, cost_before, out, cancel_);
    }
    out.cause_basis = requests_->by_endpoint ? CauseBasis::kEndpoints : CauseBasis::kRequests;
    if (compared == Compared::kPerRequest) return AddCauses(table, cost_before, out, cancel_);
    Tabulation per_request(context_, lens_, false, cancel_);
    WHEREFORE_RETURN_IF_ERROR(Fill(per_request, true));
    return AddCauses(per_request.table(), cost_before, out, cancel_);
  }

  [[nodiscard]] std::string RequestNote() const {
    if (requests_->by_endpoint) {
      return fmt::format(
          ". Per request of each of {} endpoints, by the mix of both sides ({} and {} requests)",
          requests_->endpoints, requests_->requests_before, requests_->requests_after);
    }
    return fmt::format(
        ". Per request of the service, of any endpoint ({} and {} requests): too few samples are "
        "linked to requests",
        requests_->requests_before, requests_->requests_after);
  }

  QueryContext& context_;
  const Selection& before_;
  const Selection& after_;
  const Lens& as_shown_;
  const Lens lens_;
  const bool by_day_;
  const CancelToken& cancel_;
  GroupedSides sides_;
  std::optional<PerRequest> requests_;
};

// What cannot be tested is an answer, too: why not.
Result<TestedDifference> RunOrSayWhyNot(Tester tester, Compared compared,
                                        const profile::FlameTree* shown) {
  auto tested = tester.Run(compared, shown);
  if (!tested && tested.error().code() == Code::kUnsupported) {
    return TestedDifference{
        .compared = compared, .grouping = Grouping::kNone, .note = tested.error().message()};
  }
  return tested;
}

Result<TestedDifference> TestPlainly(QueryContext& context, const Selection& before,
                                     const Selection& after, bool by_day,
                                     const CancelToken& cancel) {
  const Lens none;
  const auto test = [&](Compared compared) {
    return RunOrSayWhyNot(Tester(context, before, after, none, by_day, cancel), compared, nullptr);
  };
  WHEREFORE_ASSIGN_OR_RETURN(TestedDifference per_request, test(Compared::kPerRequest));
  if (per_request.grouping != Grouping::kNone) return per_request;
  return test(Compared::kShares);
}

}  // namespace

Result<TestedDifference> TestDifference(QueryContext& context, const Selection& before,
                                        const Selection& after, Compared compared, const Lens& lens,
                                        const profile::FlameTree* shown,
                                        const CancelToken& cancel) {
  return RunOrSayWhyNot(Tester(context, before, after, lens, false, cancel), compared, shown);
}

Result<TestedDifference> TestVersions(QueryContext& context, const Selection& before,
                                      const Selection& after, const CancelToken& cancel) {
  return TestPlainly(context, before, after, false, cancel);
}

Result<TestedDifference> TestDays(QueryContext& context, const Selection& before,
                                  const Selection& after, const CancelToken& cancel) {
  return TestPlainly(context, before, after, true, cancel);
}

namespace {

TrieSums::Stacks StacksOf(const profile::FlameTree& tree) {
  TrieSums::Stacks out{.functions = tree.functions};
  std::vector<std::uint32_t> path = {0};  // nodes by depth
  out.nodes.resize(1);
  for (std::uint32_t n = 1; n < tree.size(); ++n) {
    path.resize(tree.depth[n]);
    out.nodes.push_back({path.back(), tree.function[n]});
    path.push_back(n);
    if (tree.self[n] != 0 || tree.self_count[n] != 0)
      out.ends.push_back({n, tree.self[n], tree.self_count[n]});
  }
  return out;
}

Result<> CheckTrees(std::span<const TreeGroup> groups, Compared compared) {
  for (const TreeGroup& group : groups) {
    if (compared == Compared::kPerSecond && group.seconds <= 0)
      return Error(Code::kUnsupported, "a file does not say how long it was observed");
    if (group.tree->inverted) return Error(Code::kUnsupported, "inverted trees are not tested");
    if (std::ranges::any_of(group.tree->self, [](std::int64_t v) { return v < 0; }))
      return Error(Code::kUnsupported, "values below zero are not tested");
    if (group.tree->total[0] > 0 && group.tree->total_count[0] == 0)
      return Error(Code::kUnsupported, "a file does not say how many observations it has");
  }
  return {};
}

std::string FilesNote(const TestedDifference& out) {
  if (out.groups_before == 0 || out.groups_after == 0) return "one side has no samples";
  if (out.groups_before == 1 && out.groups_after == 1) {
    return "One file a side: by how much runs differ from each other is not in the intervals; "
           "several files a side would show it";
  }
  return "Each file is a run of its own; more of them would make the intervals smaller";
}

}  // namespace

Result<TestedDifference> TestTrees(std::span<const TreeGroup> before,
                                   std::span<const TreeGroup> after, Compared compared,
                                   const CancelToken& cancel) {
  TestedDifference out{.compared = compared, .grouping = Grouping::kFiles};
  for (const auto side : {before, after}) {
    if (auto fits = CheckTrees(side, compared); !fits)
      return TestedDifference{.grouping = Grouping::kNone, .note = fits.error().message()};
  }
  const bool per_run = compared == Compared::kPerRequest;
  const Measure measure = compared == Compared::kShares ? Measure::kShare : Measure::kRate;
  StackTable table;
  for (const auto& [side, groups] :
       {std::pair(Side::kBefore, before), std::pair(Side::kAfter, after)}) {
    for (const TreeGroup& group : groups) {
      std::optional<double> exposure;
      if (measure == Measure::kRate) exposure = per_run ? 1 : group.seconds;
      table.AddGroup(side, StacksOf(*group.tree), 1, exposure);
    }
  }
  Tested(table, measure, out);
  out.note = FilesNote(out);
  const double cost_before = out.whole.before;
  if (per_run) {
    out.cause_basis = CauseBasis::kRequests;
    out.requests_before = static_cast<std::int64_t>(before.size());
    out.requests_after = static_cast<std::int64_t>(after.size());
  } else {
    MeasureAgainstTheUnchanged(table);
  }
  WHEREFORE_RETURN_IF_ERROR(AddCauses(table, cost_before, out, cancel));
  return out;
}

}  // namespace wherefore::query
