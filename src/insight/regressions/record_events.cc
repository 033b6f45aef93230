// Regressions: records as events, and back.
#include <charconv>
#include <map>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "insight/regressions/record.h"
#include "query/versions.h"

namespace wherefore::insight {
namespace {

using profile::FlameFunction;
using query::ServiceChange;
using Facts = std::vector<std::pair<std::string, std::string>>;

// Names and texts of what the columns do not say. What is zero or empty is left out.
class FactWriter {
 public:
  explicit FactWriter(Facts& facts) : facts_(facts) {}

  void operator()(const std::string& name, const std::string& text) {
    if (!text.empty()) facts_.emplace_back(name, text);
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(const std::string& name, const T& number) {
    if (number != 0) facts_.emplace_back(name, fmt::format("{}", number));
  }
  template <typename T>
    requires std::is_enum_v<T>
  void operator()(const std::string& name, const T& value) {
    (*this)(name, static_cast<std::int64_t>(value));
  }
  void operator()(const std::string& name, const FlameFunction& f) {
    (*this)(name, f.name);
    (*this)(name + ".module", f.module);
    (*this)(name + ".file", f.file);
    (*this)(name + ".line", f.start_line);
  }
  template <typename T>
  void operator()(const std::string& name, const std::vector<T>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) (*this)(fmt::format("{}.{}", name, i), items[i]);
  }

 private:
  Facts& facts_;
};

class FactReader {
 public:
  explicit FactReader(const Facts& facts) : facts_(facts.begin(), facts.end()) {}

  void operator()(const std::string& name, std::string& text) const {
    const auto at = facts_.find(name);
    if (at != facts_.end()) text = at->second;
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  void operator()(const std::string& name, T& number) const {
    const auto at = facts_.find(name);
    if (at == facts_.end()) return;
    if constexpr (std::is_same_v<T, bool>) {
      number = at->second == "true" || at->second == "1";
    } else {
      std::from_chars(at->second.data(), at->second.data() + at->second.size(), number);
    }
  }
  template <typename T>
    requires std::is_enum_v<T>
  void operator()(const std::string& name, T& value) const {
    std::int64_t number = 0;
    (*this)(name, number);
    value = static_cast<T>(number);
  }
  void operator()(const std::string& name, FlameFunction& f) const {
    (*this)(name, f.name);
    (*this)(name + ".module", f.module);
    (*this)(name + ".file", f.file);
    (*this)(name + ".line", f.start_line);
  }
  template <typename T>
  void operator()(const std::string& name, std::vector<T>& items) const {
    items.clear();
    for (std::string at = name + ".0"; facts_.contains(at);
         at = fmt::format("{}.{}", name, items.size()))
      (*this)(at, items.emplace_back());
  }

 private:
  const std::map<std::string, std::string> facts_;
};

template <typename F>
void EachFact(F&& fact, query::Comparison& c) {
  fact("whole.before", c.before);
  fact("whole.after", c.after);
  fact("whole.change", c.change);
  fact("whole.low", c.low);
  fact("whole.high", c.high);
  fact("whole.p", c.p);
  fact("whole.detectable", c.detectable);
  fact("whole.spread", c.spread);
  fact("whole.observations", c.observations);
  fact("whole.error", c.error);
  fact("whole.freedom", c.freedom);
}

template <typename F>
void EachFact(F&& fact, query::TestedDifference& tested) {
  fact("compared", tested.compared);
  fact("basis", tested.cause_basis);
  fact("grouping", tested.grouping);
  fact("groups_before", tested.groups_before);
  fact("groups_after", tested.groups_after);
  fact("requests_before", tested.requests_before);
  fact("requests_after", tested.requests_after);
  fact("p50_ns_before", tested.times_before.median_ns);
  fact("p50_ns_after", tested.times_after.median_ns);
  fact("p99_ns_before", tested.times_before.p99_ns);
  fact("p99_ns_after", tested.times_after.p99_ns);
  fact("note", tested.note);
  EachFact(fact, tested.whole);
}

template <typename F>
void EachFact(F&& fact, query::Cause& cause) {
  fact("file", cause.function.file);
  fact("cause", cause.kind);
  fact("change", cause.change);
  fact("change_low", cause.low);
  fact("change_high", cause.high);
  fact("share_of_before", cause.share_of_before);
  fact("q", cause.q);
  fact("callers", cause.callers);
  fact("way", cause.way);
  fact("within", cause.within);
  fact("traces_after", cause.traces);
}

template <typename F>
void EachFact(F&& fact, Regression& record) {
  ServiceChange& change = record.change;
  ServiceChange::Told& told = change.causes.front();
  fact("first_seen", record.first_seen_ns);
  fact("changed", record.changed_ns);
  fact("looked", record.looked_ns);
  fact("looks", record.looks);
  fact("by_self", record.by_self);
  fact("by", record.by);
  fact("p", change.p);
  fact("cores", change.cores);
  fact("cost", change.cost);
  fact("cost_low", change.cost_low);
  fact("cost_high", change.cost_high);
  fact("from", change.after.range.from_ns);
  fact("to", change.after.range.to_ns);
  fact("from_before", change.before.range.from_ns);
  fact("to_before", change.before.range.to_ns);
  fact("endpoints", told.endpoints);
  fact("traces_before", told.traces_before);
  fact("own", told.own);
  fact("line", told.line);
  EachFact(fact, change.tested);
  EachFact(fact, told.cause);
}

}  // namespace

store::RegressionEvent EventOf(const Regression& of, std::string_view event, std::int64_t at_ns) {
  Regression record = of;  // what is written is visited as what is read
  const ServiceChange& change = record.change;
  const ServiceChange::Told& told = record.told();
  store::RegressionEvent out{.tenant = record.tenant,
                             .time_ns = at_ns,
                             .kind = "record",
                             .event = std::string(event),
                             .state = std::string(StateName(record.state)),
                             .id = record.id,
                             .service = change.service,
                             .type = "cpu",
                             .function = told.cause.function.name,
                             .module = told.cause.function.module,
                             .label = change.label,
                             .version_before = change.version_before,
                             .version = change.version_after,
                             .since_ns = change.since_ns,
                             .until_ns = record.until_ns,
                             .value = told.cost,
                             .low = told.cost_low,
                             .high = told.cost_high,
                             .why = record.why,
                             .facts = {}};
  if (change.detectable)
    out.facts.emplace_back("detectable", fmt::format("{}", *change.detectable));
  EachFact(FactWriter(out.facts), record);
  return out;
}

Result<Regression> RegressionOf(const store::RegressionEvent& event) {
  const auto state = StateOf(event.state);
  if (!state) return Error(Code::kInvalid, fmt::format("'{}' is no state", event.state));
  Regression record{.tenant = event.tenant, .id = event.id, .state = *state, .change = {}};
  record.until_ns = event.until_ns;
  record.why = event.why;
  ServiceChange& change = record.change;
  change.verdict = query::ServiceVerdict::kWorse;
  change.service = event.service;
  change.label = event.label;
  change.version_before = event.version_before;
  change.version_after = event.version;
  change.since_ns = event.since_ns;
  ServiceChange::Told& told = change.causes.emplace_back();
  told.cause.function.name = event.function;
  told.cause.function.module = event.module;
  std::tie(told.cost, told.cost_low, told.cost_high) =
      std::tuple(event.value, event.low, event.high);
  for (auto& [side, version] :
       {std::pair(&change.before, &event.version_before), {&change.after, &event.version}}) {
    side->tenant = event.tenant;
    side->type = "cpu";
    WHEREFORE_ASSIGN_OR_RETURN(side->selector,
                               query::SelectorOf(event.service, event.label, *version));
  }
  const FactReader facts(event.facts);
  EachFact(facts, record);
  double detectable = 0;
  facts("detectable", detectable);
  if (detectable > 0) change.detectable = detectable;
  change.endpoints = told.endpoints;
  return record;
}

}  // namespace wherefore::insight
