#include "query/causes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

namespace wherefore::query {
namespace {

constexpr double kSmallest = 0.005;  // of the cost before: what is smaller is no cause
constexpr double kMostOfIt = 0.8;    // a callee with this part of a change is where it happens
constexpr double kMuchOfIt = 0.5;    // so it is with this part, if the rest may be chance
constexpr double kSurely = 0.005;    // p of such a rest, of which there are many
constexpr double kMostOfTheService = 0.6;  // callers with more than this say nothing about moving
constexpr double kEverywhere = 0.7;        // of the service goes through it
constexpr double kCancels = 0.25;          // two changes that leave less than this are one move
constexpr double kCancelsWithinError = 0.5;
constexpr double kErrorOfAMove = 1.5;    // of one that came for one that went: hardly by chance
constexpr double kEnoughForARatio = 20;  // observations on each side
constexpr std::size_t kMostCauses = 32;
constexpr std::size_t kMostCallers = 3;

using profile::FlameFunction;
using Stacks = std::vector<std::uint32_t>;

// A function whose change is certain.
struct Certain {
  std::uint32_t function = 0;
  Comparison comparison;
  bool self = false;  // what it does itself, without its callees
  double q = 1;
};

// The functions that changed for certain, by what they do themselves and with their callees.
class Changes {
 public:
  explicit Changes(const StackTable& table) {
    const std::vector<StackTable::OfFunction> all = table.ByFunction();
    Test(table, all, true);
    Test(table, all, false);
  }
  [[nodiscard]] const Certain* Find(std::uint32_t function, bool self) const {
    for (const Certain& c : certain_) {
      if (c.function == function && c.self == self) return &c;
    }
    return nullptr;
  }
  // Largest first; among equals what a function does itself, which says more than what it does
  // with its callees.
  [[nodiscard]] std::vector<Certain> BySize() const {
    std::vector<Certain> sorted = certain_;
    std::ranges::stable_sort(sorted, std::greater(), [](const Certain& c) {
      return std::pair(std::abs(c.comparison.change), c.self);
    });
    return sorted;
  }

 private:
  void Test(const StackTable& table, const std::vector<StackTable::OfFunction>& all, bool self) {
    std::vector<Certain> tested;
    std::vector<double> p;
    for (std::uint32_t f = 0; f < all.size(); ++f) {
      const StackTable::Values& values = self ? all[f].self : all[f].total;
      if (values.empty()) continue;
      const Comparison c = table.CompareSides(values, Measure::kRate);
      if (c.observations < kMinObservations) continue;
      tested.push_back({f, c, self});
      p.push_back(c.p);
    }
    const std::vector<double> q = FalseDiscoveryRates(p);
    for (std::size_t i = 0; i < tested.size(); ++i) {
      if (q[i] > kSignificant) continue;
      certain_.push_back(tested[i]);
      certain_.back().q = q[i];
    }
  }

  std::vector<Certain> certain_;
};

double NearEnd(const Comparison& c) {
  if (c.low <= 0 && c.high >= 0) return 0;
  return std::min(std::abs(c.low), std::abs(c.high));
}
double FarEnd(const Comparison& c) {
  return std::max(std::abs(c.low), std::abs(c.high));
}

class CauseSearch {
 public:
  CauseSearch(StackTable& table, const CancelToken& cancel)
      : table_(table), cancel_(cancel), change_(table.ChangeOfEach()) {
    for (const StackTable::Stack& stack : table.stacks()) paths_.push_back(table.PathOf(stack));
  }

  Result<std::vector<Cause>> Run() {
    const StackTable::Values everything = table_.Whole();
    cost_before_ = table_.CompareSides(everything, Measure::kRate).before;
    if (cost_before_ <= 0) cost_before_ = 1;
    while (found_.size() < kMostCauses && TakeLargest()) WHEREFORE_RETURN_IF_ERROR(cancel_.Check());
    JoinMoves();
    return Causes();
  }

 private:
  struct Found {
    std::uint32_t function = 0;
    std::optional<std::uint32_t> within;
    CauseKind kind = CauseKind::kMore;
    Comparison comparison;
    std::vector<std::uint32_t> callers;
    std::vector<std::uint32_t> way;
    std::optional<std::uint32_t> partner;
    bool joined = false;  // told by its partner
    double q = 1;         // of its own change
  };

  // Stacks that are in and have the function, or end with it.
  [[nodiscard]] Stacks Through(std::uint32_t function, bool self) const {
    Stacks out;
    for (std::uint32_t s = 0; s < paths_.size(); ++s) {
      if (table_.stacks()[s].out || paths_[s].empty()) continue;
      const bool has = self ? paths_[s].back() == function
                            : std::ranges::find(paths_[s], function) != paths_[s].end();
      if (has) out.push_back(s);
    }
    return out;
  }
  [[nodiscard]] Comparison CompareStacks(const Stacks& stacks) const {
    return table_.CompareSides(table_.Of(stacks), Measure::kRate);
  }
  // False: nothing is left that is large enough. What did not change is the measure, so that
  // everything changed cannot be told from that measure's own error.
  bool TakeLargest() {
    const Changes changes(table_);
    for (const Certain& most : changes.BySize()) {
      if (std::abs(most.comparison.change) < kSmallest * cost_before_) break;
      const Certain deepest = Descend(most, changes);
      const Stacks stacks = Through(deepest.function, deepest.self);
      const CauseKind kind = KindOf(deepest, stacks);
      if (kind == CauseKind::kEverywhere && table_.IsScaled()) continue;
      Take(most, deepest, kind, stacks);
      return true;
    }
    return false;
  }

  void Take(const Certain& most, const Certain& deepest, CauseKind kind, const Stacks& stacks) {
    Found found{.function = deepest.function,
                .kind = kind,
                .comparison = CompareStacks(stacks),
                .callers = CallersOf(deepest.function, stacks, 1),
                .way = WayUp(deepest.function, stacks),
                .q = deepest.q};
    if (deepest.function != most.function) found.within = most.function;
    Stacks gone = stacks;
    if (const std::optional<Stacks> around = MovedWithin(deepest, stacks, found)) {
      found.kind = CauseKind::kMoved;
      gone.insert(gone.end(), around->begin(), around->end());
    }
    for (const std::uint32_t s : gone) table_.TakeOut(s);
    found_.push_back(std::move(found));
  }

  // The deepest function below that changed for certain and has most of the change.
  [[nodiscard]] Certain Descend(const Certain& from, const Changes& changes) const {
    if (from.self) return from;
    const Stacks stacks = Through(from.function, false);
    // What functions below `from` have of these stacks, and how deep they are.
    struct Below {
      double change = 0;
      double depth = 0;
      double weight = 0;
      double self_change = 0;
    };
    std::map<std::uint32_t, Below> below;
    const double all = CompareStacks(stacks).change;
    for (const std::uint32_t s : stacks) {
      const std::vector<std::uint32_t>& path = paths_[s];
      const double change = change_[s];
      const auto start = std::ranges::find(path, from.function) - path.begin();
      for (auto i = static_cast<std::size_t>(start); i < path.size(); ++i) {
        const auto first = std::find(path.begin() + start, path.end(), path[i]);
        if (static_cast<std::size_t>(first - path.begin()) != i) continue;  // recursion
        Below& b = below[path[i]];
        b.change += change;
        b.depth += static_cast<double>(i - start) * std::abs(change);
        b.weight += std::abs(change);
      }
      below[path.back()].self_change += change;
    }
    Certain best = from;
    double best_depth = 0;
    for (const auto& [f, b] : below) {
      const auto has_most = [&](double change) {
        if (change * all <= 0 || std::abs(change) < kMuchOfIt * std::abs(all)) return false;
        return std::abs(change) >= kMostOfIt * std::abs(all) || !IsCertainWithout(stacks, f);
      };
      const double depth = b.weight > 0 ? b.depth / b.weight : 0;
      // What a function does itself lies below everything it calls with the same change.
      if (const Certain* self = changes.Find(f, true);
          self != nullptr && has_most(b.self_change) && depth + 0.5 > best_depth) {
        best = *self;
        best_depth = depth + 0.5;
      } else if (const Certain* total = changes.Find(f, false);
                 total != nullptr && has_most(b.change) && depth > best_depth) {
        best = *total;
        best_depth = depth;
      }
    }
    return best;
  }

  // Whether what does not go through `function` changed for certain.
  [[nodiscard]] bool IsCertainWithout(const Stacks& stacks, std::uint32_t function) const {
    Stacks rest;
    for (const std::uint32_t s : stacks) {
      if (std::ranges::find(paths_[s], function) == paths_[s].end()) rest.push_back(s);
    }
    return !rest.empty() && CompareStacks(rest).p <= kSurely;
  }

  [[nodiscard]] CauseKind KindOf(const Certain& cause, const Stacks& stacks) const {
    const StackTable::Values values = table_.Of(stacks);
    const StackTable::Rates rates = table_.RatesOf(values);
    if (rates.observations_before == 0) return CauseKind::kNew;
    if (rates.observations_after == 0) return CauseKind::kGone;
    if (!cause.self) {
      const Comparison all = table_.CompareSides(table_.Whole(), Measure::kRate);
      const Comparison through = table_.CompareSides(values, Measure::kRate);
      if (through.before > kEverywhere * all.before && through.after > kEverywhere * all.after)
        return CauseKind::kEverywhere;
    }
    return cause.comparison.change > 0 ? CauseKind::kMore : CauseKind::kLess;
  }

  // Functions `levels` above the last call of `function`, by how much of the change they have.
  [[nodiscard]] std::vector<std::uint32_t> CallersOf(std::uint32_t function, const Stacks& stacks,
                                                     std::size_t levels) const {
    std::map<std::uint32_t, double> change;
    for (const std::uint32_t s : stacks) {
      const std::vector<std::uint32_t>& path = paths_[s];
      const auto at = static_cast<std::size_t>(std::ranges::find(path, function) - path.begin());
      if (at >= levels && at < path.size()) change[path[at - levels]] += std::abs(change_[s]);
    }
    std::vector<std::uint32_t> callers;
    for (const auto& [f, weight] : change) callers.push_back(f);
    std::ranges::stable_sort(callers, std::greater(), [&](std::uint32_t f) { return change[f]; });
    return callers;
  }

  // The heaviest caller, its heaviest caller in these stacks, and so on.
  [[nodiscard]] std::vector<std::uint32_t> WayUp(std::uint32_t function, Stacks stacks) const {
    std::vector<std::uint32_t> way;
    for (std::size_t level = 1; !stacks.empty(); ++level) {
      const std::vector<std::uint32_t> callers = CallersOf(function, stacks, level);
      if (callers.empty()) break;
      way.push_back(callers.front());
      std::erase_if(stacks, [&](std::uint32_t s) {
        const std::vector<std::uint32_t>& path = paths_[s];
        const auto at = static_cast<std::size_t>(std::ranges::find(path, function) - path.begin());
        return at < level || at == path.size() || path[at - level] != callers.front();
      });
    }
    return way;
  }

  // The stacks of its callers, if these together surely changed by less than half of it.
  [[nodiscard]] std::optional<Stacks> MovedWithin(const Certain& cause, const Stacks& stacks,
                                                  const Found& found) const {
    const double all = table_.CompareSides(table_.Whole(), Measure::kRate).before;
    for (const std::size_t levels : {1u, 2u}) {
      Stacks around;
      for (const std::uint32_t caller : CallersOf(cause.function, stacks, levels)) {
        const Stacks more = Through(caller, false);
        around.insert(around.end(), more.begin(), more.end());
      }
      std::ranges::sort(around);
      const auto twice = std::ranges::unique(around);
      around.erase(twice.begin(), twice.end());
      const Comparison of = CompareStacks(around);
      if (around.empty() || of.before > kMostOfTheService * all) continue;
      if (FarEnd(of) < std::abs(found.comparison.change) / 2) return around;
    }
    return std::nullopt;
  }

  // Two changes that cancel out, of the same callers or one calling the other, are one move.
  void JoinMoves() {
    for (Found& more : found_) {
      if (more.joined || more.comparison.change <= 0 || more.kind == CauseKind::kMoved) continue;
      for (Found& less : found_) {
        if (less.joined || less.comparison.change >= 0 || less.kind == CauseKind::kMoved) continue;
        if (!AreOneMove(more, less)) continue;
        Join(more, less);
        less.joined = true;
        break;
      }
    }
    FindOtherHalves();
  }
  static void Join(Found& more, const Found& less) {
    more.kind = CauseKind::kMoved;
    more.partner = less.function;
    more.comparison = Together(more.comparison, less.comparison);
  }
  // What came or went may have gone or come elsewhere, by itself not certain enough to be found.
  void FindOtherHalves() {
    for (Found& found : found_) {
      const bool came = found.kind == CauseKind::kNew;
      if (found.joined || (!came && found.kind != CauseKind::kGone)) continue;
      for (std::uint32_t f = 0; f < table_.functions().size(); ++f) {
        const std::optional<Found> other = CameOrWent(f, !came);
        if (!other || !AreOneMove(came ? found : *other, came ? *other : found)) continue;
        Join(found, *other);
        break;
      }
    }
  }
  // What a function itself did on one side only, whether or not it was taken out.
  [[nodiscard]] std::optional<Found> CameOrWent(std::uint32_t function, bool came) const {
    Stacks stacks;
    for (std::uint32_t s = 0; s < paths_.size(); ++s) {
      if (!paths_[s].empty() && paths_[s].back() == function && (change_[s] > 0) == came)
        stacks.push_back(s);
    }
    if (stacks.empty()) return std::nullopt;
    const StackTable::Rates rates = table_.RatesOf(table_.Of(stacks));
    if ((came ? rates.observations_before : rates.observations_after) > 0) return std::nullopt;
    return Found{.function = function,
                 .kind = came ? CauseKind::kNew : CauseKind::kGone,
                 .comparison = CompareStacks(stacks),
                 .callers = CallersOf(function, stacks, 1)};
  }
  static bool AreOneMove(const Found& more, const Found& less) {
    const bool whole = more.kind == CauseKind::kNew && less.kind == CauseKind::kGone;
    return AreNeighbours(more, less) &&
           Cancel(more.comparison, less.comparison, whole ? kErrorOfAMove : 1);
  }
  static bool AreNeighbours(const Found& a, const Found& b) {
    const auto calls = [](const Found& caller, const Found& callee) {
      return std::ranges::find(callee.callers, caller.function) != callee.callers.end();
    };
    if (calls(a, b) || calls(b, a)) return true;
    return std::ranges::any_of(a.callers, [&](std::uint32_t f) {
      return std::ranges::find(b.callers, f) != b.callers.end();
    });
  }
  static bool Cancel(const Comparison& a, const Comparison& b, double errors) {
    const double left = std::abs(a.change + b.change);
    const double larger = std::max(std::abs(a.change), std::abs(b.change));
    const double error = errors * std::hypot((a.high - a.low) / 2, (b.high - b.low) / 2);
    return left <= kCancels * larger || (left <= error && left <= kCancelsWithinError * larger);
  }
  static Comparison Together(const Comparison& a, const Comparison& b) {
    const double error = std::hypot((a.high - a.low) / 2, (b.high - b.low) / 2);
    Comparison sum = a;
    sum.before += b.before;
    sum.after += b.after;
    sum.change = a.change + b.change;
    sum.low = sum.change - error;
    sum.high = sum.change + error;
    return sum;
  }

  [[nodiscard]] std::vector<Cause> Causes() const {
    std::vector<Cause> out;
    for (const Found& found : found_) {
      if (found.joined) continue;
      Cause cause{.function = table_.functions()[found.function],
                  .kind = found.kind,
                  .change = found.comparison.change,
                  .low = found.comparison.low,
                  .high = found.comparison.high,
                  .share_of_before = found.comparison.change / cost_before_,
                  .q = found.q};
      for (const std::uint32_t f : found.callers) {
        if (cause.callers.size() < kMostCallers) cause.callers.push_back(table_.functions()[f]);
      }
      for (const std::uint32_t f : found.way) cause.way.push_back(table_.functions()[f]);
      if (found.within) cause.within.push_back(table_.functions()[*found.within]);
      if (found.partner) cause.partners.push_back(table_.functions()[*found.partner]);
      out.push_back(std::move(cause));
    }
    // What surely costs most comes first; moves cost nothing and come last.
    std::ranges::stable_sort(out, std::greater(), [](const Cause& c) {
      const Comparison ends{.low = c.low, .high = c.high};
      return std::pair(c.kind != CauseKind::kMoved, NearEnd(ends));
    });
    return out;
  }

  StackTable& table_;
  const CancelToken& cancel_;
  const std::vector<double> change_;               // of each stack
  std::vector<std::vector<std::uint32_t>> paths_;  // of each stack, outermost first
  double cost_before_ = 1;
  std::vector<Found> found_;
};

using Functions = std::vector<StackTable::OfFunction>;

// How much dearer one unit of exposure is after than before, by what did not change: the weighted
// median over functions, of which most do not change. 0: not known.
double UnchangedRatio(const StackTable& table, const Functions& functions, std::size_t without) {
  std::vector<std::pair<double, double>> ratios;  // and the cost before, their weight
  double all = 0;
  for (const StackTable::OfFunction& of : functions) {
    if (of.self.empty()) continue;
    const StackTable::Rates r = table.RatesOf(of.self, without);
    if (r.observations_before < kEnoughForARatio || r.observations_after < kEnoughForARatio)
      continue;
    if (r.before <= 0 || r.after <= 0) continue;
    ratios.emplace_back(r.after / r.before, r.before);
    all += r.before;
  }
  std::ranges::sort(ratios);
  double below = 0;
  for (const auto& [ratio, weight] : ratios) {
    below += weight;
    if (below >= all / 2) return ratio;
  }
  return 0;
}

// The relative standard error of that ratio, by leaving out one group after the other.
double ErrorOfRatio(const StackTable& table, const Functions& functions, double ratio) {
  std::array<double, 2> squares{};
  const std::array<std::size_t, 2> groups = {table.groups(Side::kAfter),
                                             table.groups(Side::kBefore)};
  for (std::size_t g = 0; g < groups[0] + groups[1]; ++g) {
    const auto side = static_cast<std::size_t>(table.SideOf(g));
    if (groups[side] < 2) continue;
    const double off = UnchangedRatio(table, functions, g) / ratio - 1;
    squares[side] += off * off;
  }
  double variance = 0;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto count = static_cast<double>(groups[side]);
    if (groups[side] >= 2) variance += squares[side] * (count - 1) / count;
  }
  return std::sqrt(variance);
}

}  // namespace

std::string_view CauseKindName(CauseKind kind) {
  switch (kind) {
    case CauseKind::kMore:
      return "more";
    case CauseKind::kLess:
      return "less";
    case CauseKind::kNew:
      return "new";
    case CauseKind::kGone:
      return "gone";
    case CauseKind::kMoved:
      return "moved";
    case CauseKind::kEverywhere:
      break;
  }
  return "everywhere";
}

void MeasureAgainstTheUnchanged(StackTable& table) {
  const Functions functions = table.ByFunction();
  const double ratio = UnchangedRatio(table, functions, StackTable::kEveryGroup);
  if (ratio > 0) table.ScaleExposure(ratio, ErrorOfRatio(table, functions, ratio));
}

Result<std::vector<Cause>> FindCauses(StackTable& table, const CancelToken& cancel) {
  if (table.groups(Side::kBefore) == 0 || table.groups(Side::kAfter) == 0)
    return std::vector<Cause>{};
  return CauseSearch(table, cancel).Run();
}

profile::FlameFunction OwnFunctionOf(const Cause& cause, const OwnCode& own) {
  if (own.IsOwn(cause.function)) return cause.function;
  const auto at = std::ranges::find_if(cause.way, [&](const auto& f) { return own.IsOwn(f); });
  return at == cause.way.end() ? profile::FlameFunction() : *at;
}

}  // namespace wherefore::query
