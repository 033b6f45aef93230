#include "insight/alerts/measure.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "insight/alerts/service_scans.h"
#include "query/statistics.h"

namespace wherefore::insight {
namespace {

using query::GroupValue;
using query::Side;

constexpr double kDay = static_cast<double>(kNsPerDay);
// By chance, of all looks of a day together.
constexpr double kSurelyPerDay = 0.02;
constexpr double kAnomalyPerDay = 0.05;
constexpr double kMostTail = 0.025;  // that of the interval that is shown
constexpr double kMostAnomaly = 0.005;
constexpr double kUsual = 0.05;  // a smallest p that is no anomaly

double TailOf(const AlertRule& rule, double per_day) {
  return per_day * static_cast<double>(rule.over_ns) / kDay;
}

// Where an interval lies, and a bound.
Truth TruthOf(double low, double high, double bound, Condition::Side side) {
  const bool above = side == Condition::Side::kAbove;
  if (above ? low > bound : high < bound) return Truth::kTrue;
  if (above ? high < bound : low > bound) return Truth::kFalse;
  return Truth::kUndecided;
}

// The same of something that is known exactly.
Truth TruthOfExact(double value, double bound, Condition::Side side) {
  const bool above = side == Condition::Side::kAbove;
  return (above ? value > bound : value < bound) ? Truth::kTrue : Truth::kFalse;
}

class RuleLook {
 public:
  RuleLook(const AlertRule& rule, std::size_t rule_index, const Scan& scan)
      : rule_(rule), index_(rule_index), scan_(scan) {}

  Measured Run() {
    out_.unit = UnitName();
    out_.absent = scan_.absent;
    if (scan_.absent) return Because("nothing was profiled");
    if (!scan_.why_not.empty()) return Because(scan_.why_not);
    if (!scan_.no_before.empty()) {
      out_.truth = Truth::kFalse;  // nothing changed that anybody knows of
      return Because(scan_.no_before);
    }
    if (const std::string why = WhyNot(); !why.empty()) return Because(why);
    Split();
    if (rule_.when.kind == Condition::Kind::kBound) {
      LookAtBound();
    } else if (rule_.when.kind == Condition::Kind::kChange) {
      LookAtChange();
    } else {
      LookAtDays();
    }
    return std::move(out_);
  }

 private:
  Measured Because(const std::string& why) {
    out_.note = why;
    return std::move(out_);
  }

  [[nodiscard]] std::string UnitName() const {
    if (rule_.when.kind != Condition::Kind::kBound) return "change";
    if (rule_.measure == AlertMeasure::kShare) return "share";
    if (rule_.measure == AlertMeasure::kCores) return "cores";
    if (rule_.measure == AlertMeasure::kValue && !scan_.exact) return scan_.unit + " per second";
    return scan_.unit;
  }

  [[nodiscard]] std::string WhyNot() const {
    if (rule_.measure == AlertMeasure::kCores && (scan_.unit != "nanoseconds" || scan_.exact))
      return fmt::format("`cores` are measured of times, not of {}", scan_.unit);
    double before = 0;
    double after = 0;
    const query::StackTable& table = scan_.table();
    for (std::size_t g = 0; g < scan_.whole.size(); ++g)
      (table.SideOf(g) == Side::kBefore ? before : after) += scan_.whole[g].observations;
    if (scan_.exact) return {};
    const bool compares = rule_.when.kind != Condition::Kind::kBound;
    if (after < query::kMinObservations || (compares && before < query::kMinObservations))
      return "too few samples";
    return {};
  }

  // What is measured, and everything, by side.
  void Split() {
    const query::StackTable& table = scan_.table();
    query::StackTable::Values values = scan_.whole;
    if (!rule_.frames.match.empty()) {
      std::vector<std::uint32_t> stacks;
      for (const Hit& hit : scan_.hits[index_]) stacks.push_back(hit.stack);
      values = table.Of(stacks);
    }
    for (std::size_t g = 0; g < values.size(); ++g) {
      const bool after = table.SideOf(g) == Side::kAfter;
      GroupValue value = values[g];
      const GroupValue& whole = scan_.whole[g];
      if (rule_.measure == AlertMeasure::kShare) {
        value.exposure = whole.value;
      } else if (rule_.measure != AlertMeasure::kPerRequest) {
        value.exposure /= std::max(scan_.instances[after ? 1 : 0], 1e-9);
        if (rule_.measure == AlertMeasure::kCores) value.exposure *= 1e9;
      }
      (after ? after_ : before_).push_back(value);
      of_all_ += whole.value;
      observations_of_all_ += whole.observations;
    }
    measure_ =
        rule_.measure == AlertMeasure::kShare ? query::Measure::kShare : query::Measure::kRate;
  }
  [[nodiscard]] double WeightOfNone() const {
    return observations_of_all_ > 0 ? of_all_ / observations_of_all_ : 0;
  }

  void LookAtBound() {
    const query::Estimate e = query::EstimateOf(after_, measure_, WeightOfNone());
    out_.value = out_.low = out_.high = e.rate;
    if (scan_.exact) {
      out_.truth = TruthOfExact(e.rate, rule_.when.bound, rule_.when.side);
      out_.surely = out_.truth == Truth::kTrue;
      return;
    }
    out_.low = e.low;
    out_.high = e.high;
    out_.truth = TruthOf(e.low, e.high, rule_.when.bound, rule_.when.side);
    SetSurely(e.rate, e.error, e.freedom, rule_.when.bound);
  }

  void SetSurely(double value, double error, double freedom, double bound) {
    if (out_.truth != Truth::kTrue) return;
    const double tail = std::min(kMostTail, TailOf(rule_, kSurelyPerDay));
    const double reach = query::ReachOf(freedom, tail) * error;
    out_.surely = TruthOf(value - reach, value + reach, bound, rule_.when.side) == Truth::kTrue;
  }

  // What a change is a part of: what it was, at least what one observation is worth.
  [[nodiscard]] double CostBefore(const query::Comparison& c) const {
    double exposure = 0;
    for (const GroupValue& group : before_) exposure += group.exposure;
    return std::max({c.before, exposure > 0 ? WeightOfNone() / exposure : 0, 1e-300});
  }
  void Show(const query::Comparison& c) {
    const double unit = 1 / CostBefore(c);
    out_.value = c.change * unit;
    out_.low = c.low * unit;
    out_.high = c.high * unit;
  }

  // Above a change of 10 %: more than 1.1 times what it was. That is a comparison, too.
  void LookAtChange() {
    Show(query::Compare(before_, after_, measure_));
    std::vector<GroupValue> raised = before_;
    for (GroupValue& group : raised) group.value *= 1 + rule_.when.bound;
    const query::Comparison c = query::Compare(raised, after_, measure_);
    if (c.observations < query::kMinObservations) {
      out_.truth = Truth::kFalse;
      out_.note = "too few samples on both sides";
      return;
    }
    out_.truth = TruthOf(c.low, c.high, 0, rule_.when.side);
    SetSurely(c.change, c.error, c.freedom, 0);
  }

  void LookAtDays() {
    const query::Comparison c = query::Compare(before_, after_, measure_);
    Show(c);
    const bool wanted = rule_.when.side == Condition::Side::kEither ||
                        (rule_.when.side == Condition::Side::kAbove) == (c.change > 0);
    const double level = std::min(kMostAnomaly, TailOf(rule_, kAnomalyPerDay));
    if (c.observations < query::kMinObservations || !wanted || c.p > kUsual) {
      out_.truth = Truth::kFalse;
    } else {
      out_.truth = c.p <= level ? Truth::kTrue : Truth::kUndecided;
    }
    out_.surely = out_.truth == Truth::kTrue;
  }

  const AlertRule& rule_;
  const std::size_t index_;  // among the hits of the scan
  const Scan& scan_;
  Measured out_;
  query::Measure measure_ = query::Measure::kShare;
  std::vector<GroupValue> before_;
  std::vector<GroupValue> after_;
  double of_all_ = 0;
  double observations_of_all_ = 0;
};

Measured OfGap(const AlertRule& rule, std::optional<std::int64_t> since) {
  Measured out{.unit = "nanoseconds"};
  out.absent = !since.has_value();
  if (!since) {
    out.note = "nothing was profiled";
    return out;
  }
  out.value = out.low = out.high = static_cast<double>(*since);
  out.truth = TruthOfExact(out.value, rule.when.bound, Condition::Side::kAbove);
  out.surely = out.truth == Truth::kTrue;
  return out;
}

// What rules have in common that share their scans.
using Question = std::tuple<std::uint32_t, std::string, std::string, std::int64_t, std::int64_t>;
Question QuestionOf(const AlertRule& rule) {
  // A gap lasts until now.
  const bool gap = rule.when.kind == Condition::Kind::kGap;
  return {rule.tenant, rule.selector.Text(), rule.type, rule.over_ns, gap ? 0 : rule.delay_ns};
}

std::int64_t AnomalyStep(const AlertRule& rule) {
  constexpr std::int64_t kLooks = 12;  // of every window
  return std::max(rule.every_ns, rule.over_ns / kLooks);
}

}  // namespace

std::string FormatMeasured(double value, const std::string& unit) {
  if (unit == "share") return fmt::format("{:.3g} %", 100 * value);
  if (unit == "change") return fmt::format("{:+.3g} %", 100 * value);
  if (unit == "cores") return fmt::format("{:.3g} cores", value);
  constexpr std::string_view kPerSecond = " per second";
  const bool rate = unit.ends_with(kPerSecond);
  const std::string of = rate ? unit.substr(0, unit.size() - kPerSecond.size()) : unit;
  const std::string suffix = rate ? std::string(kPerSecond) : "";
  if (of == "nanoseconds") return FormatDuration(std::llround(value)) + suffix;
  if (of == "bytes") return FormatBytes(std::llround(value)) + suffix;
  return fmt::format("{:.4g}{}{}{}", value, of.empty() ? "" : " ", of, suffix);
}

std::string BoundText(const Condition& condition) {
  return condition.text;
}

namespace {

// The rules of one question, and a service they are about.
struct Unit {
  std::string name;  // orders them, from round to round
  const std::vector<std::size_t>* rules = nullptr;
  std::string service;
};

// The services that a question is about.
Result<std::set<std::string>> ServicesOf(query::QueryContext& context, const AlertRule& rule,
                                         std::int64_t at_ns, const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(
      const auto rows,
      context.catalog.Services(rule.tenant, {at_ns - rule.delay_ns - rule.over_ns, at_ns}, cancel));
  std::set<std::string> services;
  for (const store::ServiceRow& row : rows) {
    if (rule.selector.MatchesService(row.name)) services.insert(row.name);
  }
  return services;
}

query::Selection WindowOf(const AlertRule& rule, const std::string& service, std::int64_t at_ns) {
  const bool gap = rule.when.kind == Condition::Kind::kGap;
  const std::int64_t to = at_ns - (gap ? 0 : rule.delay_ns);
  query::Selection window{.tenant = rule.tenant,
                          .selector = rule.selector,
                          .type = rule.type,
                          .range = {to - rule.over_ns, to}};
  window.selector.Add(query::Selector::OfService(service));
  return window;
}

Result<Measured> Measure(const AlertRule& rule, std::size_t index, std::int64_t at_ns,
                         ServiceScans& scans, const CancelToken& cancel) {
  if (rule.when.kind == Condition::Kind::kGap) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto since, scans.SinceLastProfile(at_ns));
    return OfGap(rule, since);
  }
  const auto scan = scans.Get(BasisOf(rule.when), rule.measure == AlertMeasure::kPerRequest);
  if (scan) return RuleLook(rule, index, **scan).Run();
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  return Measured{.note = scan.error().message()};
}

// What an anomaly is remembered by.
std::string AnomalyName(const AlertRule& rule, const std::string& service) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", rule.tenant, service, rule.selector.Text(),
                     rule.type, rule.function(), static_cast<int>(rule.measure), rule.when.text,
                     rule.over_ns);
}

}  // namespace

void Evaluator::ForgetOld(std::int64_t at_ns) {
  constexpr std::size_t kMany = 10'000;
  if (anomalies_.size() > kMany) {
    std::erase_if(anomalies_,
                  [&](const auto& one) { return at_ns - one.second.at_ns > kNsPerDay; });
  }
  if (versions_.size() > kMany) versions_.clear();
}

Result<Evaluator::Judged> Evaluator::Judge(std::span<const AlertRule* const> rules,
                                           std::int64_t at_ns, const CancelToken& cancel) {
  ForgetOld(at_ns);
  std::map<Question, std::vector<std::size_t>> questions;
  for (std::size_t i = 0; i < rules.size(); ++i) questions[QuestionOf(*rules[i])].push_back(i);
  std::vector<Unit> units;
  for (const auto& [question, which] : questions) {
    WHEREFORE_ASSIGN_OR_RETURN(auto services,
                               ServicesOf(context_, *rules[which.front()], at_ns, cancel));
    for (const std::string& service : services) {
      units.push_back({fmt::format("{}\n{}\n{}\n{}\n{}\n{}", std::get<0>(question),
                                   std::get<1>(question), std::get<2>(question),
                                   std::get<3>(question), std::get<4>(question), service),
                       &which, service});
    }
  }
  std::ranges::sort(units, {}, &Unit::name);
  std::ranges::rotate(units, std::ranges::lower_bound(units, resume_, {}, &Unit::name));
  resume_.clear();
  Judged out;
  for (const Unit& unit : units) {
    const auto judged = JudgeUnit(rules, *unit.rules, unit.service, at_ns, cancel, out.judgements);
    if (judged) continue;
    if (judged.error().code() != Code::kLimit) return judged.error();
    out.overdue = true;
    // One that takes more than a whole round must not keep all others from being judged.
    resume_ = &unit == &units.front() ? unit.name + '\1' : unit.name;
    break;
  }
  std::ranges::stable_sort(out.judgements, {}, [](const Judgement& j) {
    return std::pair<std::size_t, std::string_view>(j.rule, j.service);
  });
  return out;
}

// All of its rules, or none of them.
Result<> Evaluator::JudgeUnit(std::span<const AlertRule* const> rules,
                              const std::vector<std::size_t>& which, const std::string& service,
                              std::int64_t at_ns, const CancelToken& cancel,
                              std::vector<Judgement>& out) {
  const MemoryScope scope(cancel);
  std::vector<Rule> frames;
  frames.reserve(which.size());
  for (const std::size_t rule : which) frames.push_back(rules[rule]->frames);
  ServiceScans scans(*this, WindowOf(*rules[which.front()], service, at_ns), service,
                     std::move(frames), cancel);
  std::vector<Judgement> judged;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const AlertRule& rule = *rules[which[i]];
    if (rule.when.kind != Condition::Kind::kAnomaly) {
      WHEREFORE_ASSIGN_OR_RETURN(Measured measured, Measure(rule, i, at_ns, scans, cancel));
      judged.push_back({which[i], service, std::move(measured)});
      continue;
    }
    // The hours of a week are not read again every minute.
    Anomaly& known = anomalies_[AnomalyName(rule, service)];
    const std::int64_t as_of = at_ns / AnomalyStep(rule);
    if (known.as_of_ns != as_of) {
      WHEREFORE_ASSIGN_OR_RETURN(known.measured, Measure(rule, i, at_ns, scans, cancel));
      known.as_of_ns = as_of;
      known.at_ns = at_ns;
    }
    judged.push_back({which[i], service, known.measured});
  }
  std::ranges::move(judged, std::back_inserter(out));
  return {};
}

}  // namespace wherefore::insight
