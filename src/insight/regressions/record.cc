#include "insight/regressions/record.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/hash.h"
#include "query/versions.h"

namespace wherefore::insight {
namespace {

using profile::FlameFunction;
using query::Cause;
using query::ServiceChange;

constexpr std::array<std::string_view, 4> kStates = {"open", "acknowledged", "muted", "gone"};

// What it does itself explains the change better than what it does with its callees.
bool IsBySelf(const query::TestedDifference& tested, const Cause& cause) {
  const query::TestedFunction* const f = tested.Find(cause.function);
  if (f == nullptr) return false;
  return std::abs(f->self.comparison.change - cause.change) <
         std::abs(f->total.comparison.change - cause.change);
}

bool LiesOnWay(const FlameFunction& function, const Cause& cause) {
  const auto is_it = [&](const FlameFunction& other) { return Same(function, other); };
  return std::ranges::any_of(cause.way, is_it) || std::ranges::any_of(cause.within, is_it);
}

}  // namespace

bool Same(const FlameFunction& a, const FlameFunction& b) {
  return a.name == b.name && a.module == b.module;
}

bool IsHiddenByMix(const query::TestedDifference& tested) {
  constexpr double kMixThatHides = 0.05;
  return tested.cause_basis == query::CauseBasis::kRequests && tested.mix_moved >= kMixThatHides;
}

std::string_view StateName(RegressionState state) {
  return kStates[static_cast<std::size_t>(state)];
}

std::optional<RegressionState> StateOf(std::string_view name) {
  const auto at = std::ranges::find(kStates, name);
  if (at == kStates.end()) return std::nullopt;
  return static_cast<RegressionState>(at - kStates.begin());
}

RegressionState Regression::StateAt(std::int64_t now_ns) const {
  const bool over = state == RegressionState::kMuted && until_ns != 0 && until_ns <= now_ns;
  return over ? RegressionState::kOpen : state;
}

Regression MakeRegression(std::uint32_t tenant, const ServiceChange& change, std::size_t cause,
                          std::string_view key, std::int64_t now_ns) {
  const FlameFunction& f = change.causes[cause].cause.function;
  Regression record{.tenant = tenant, .change = {}};
  record.id = Hash64(fmt::format("{}\n{}\ncpu\n{}\n{}\n{}\n{}\n{}", tenant, change.service,
                                 change.label, change.version_after, key, f.name, f.module));
  record.first_seen_ns = record.changed_ns = now_ns;
  Sharpen(record, change, cause, now_ns);
  return record;
}

std::string IdText(std::uint64_t id) {
  return fmt::format("{:016x}", id);
}

void Sharpen(Regression& record, const ServiceChange& change, std::size_t cause,
             std::int64_t now_ns) {
  const std::int64_t since_ns = record.looks == 0 ? change.since_ns : record.change.since_ns;
  record.by_self = IsBySelf(change.tested, change.causes[cause].cause);
  ServiceChange::Told told = change.causes[cause];
  record.change = change;
  if (record.change.detectable.value_or(0) <= 0) record.change.detectable.reset();
  record.change.since_ns = since_ns;
  record.change.causes = {std::move(told)};
  record.change.tested.functions.clear();
  record.change.tested.causes.clear();
  record.looked_ns = now_ns;
  ++record.looks;
}

std::vector<std::optional<std::size_t>> MatchRecords(std::span<const Regression* const> records,
                                                     std::span<const Cause* const> causes) {
  std::vector<std::optional<std::size_t>> out(causes.size());
  std::vector<bool> taken(records.size());
  const auto match = [&](const auto& fits) {
    for (std::size_t c = 0; c < causes.size(); ++c) {
      for (std::size_t r = 0; r < records.size() && !out[c]; ++r) {
        if (taken[r] || !fits(records[r]->cause(), *causes[c])) continue;
        out[c] = r;
        taken[r] = true;
      }
    }
  };
  match([](const Cause& a, const Cause& b) { return Same(a.function, b.function); });
  match([](const Cause& a, const Cause& b) {
    return LiesOnWay(a.function, b) || LiesOnWay(b.function, a);
  });
  return out;
}

namespace {

bool AreComparable(const Regression& record, const query::TestedDifference& tested) {
  return tested.grouping != query::Grouping::kNone && tested.groups_before > 0 &&
         tested.groups_after > 0 && tested.whole.before > 0 && !IsHiddenByMix(tested) &&
         tested.compared == record.change.tested.compared;
}

const query::Comparison& CostOf(const Regression& record, const query::TestedFunction& function) {
  return record.by_self ? function.self.comparison : function.total.comparison;
}

// How much of what called it, without it, still runs, of what ran before; 1 at most.
double Activity(const Regression& record, const query::TestedDifference& tested) {
  constexpr double kWorthAsking = 0.01;  // of everything: less says nothing
  constexpr double kVanished = 0.1;
  const query::TestedFunction* const cause = tested.Find(record.cause().function);
  for (const profile::FlameFunction& caller : record.cause().way) {
    if (Same(caller, record.cause().function)) continue;
    const query::TestedFunction* const f = tested.Find(caller);
    if (f == nullptr) return 0;
    const query::Comparison none;
    const query::Comparison& own = cause == nullptr ? none : CostOf(record, *cause);
    const query::Comparison& all = f->total.comparison;
    if (all.before >= kWorthAsking * tested.whole.before && all.after < kVanished * all.before)
      return 0;
    const double before = all.before - own.before;
    if (before < kWorthAsking * tested.whole.before) continue;
    const double after = all.after - own.after;
    return std::clamp(after / before, 0.0, 1.0);
  }
  return 1;
}

}  // namespace

bool CameBack(const Regression& record, const query::TestedDifference& tested, bool is_old_code) {
  constexpr double kFewest = 0.3;  // less of it says nothing
  if (!AreComparable(record, tested)) return false;
  const double activity = is_old_code ? 1 : Activity(record, tested);
  if (activity < kFewest) return false;
  const query::TestedFunction* const f = tested.Find(record.cause().function);
  if (f == nullptr) return true;  // nothing of it is left on either side
  const query::Comparison& c = CostOf(record, *f);
  if (c.observations < query::kMinObservations) return false;
  const double left = (c.before + c.high) / activity - c.before;
  return left / tested.whole.before < record.cause().share_of_before / 2;
}

bool Returned(const Regression& record, const query::TestedDifference& tested) {
  if (!AreComparable(record, tested)) return false;
  const query::TestedFunction* const f = tested.Find(record.cause().function);
  if (f == nullptr) return false;
  const query::Comparison& c = CostOf(record, *f);
  return c.observations >= query::kMinObservations && c.low > 0 &&
         c.change / tested.whole.before >= record.cause().share_of_before / 2;
}

}  // namespace wherefore::insight
