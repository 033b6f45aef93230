// Regressions: one look at one new version.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/hash.h"
#include "insight/regressions/watch.h"

namespace wherefore::insight {
namespace {

constexpr std::size_t kMostCauses = 8;                // of one look
constexpr std::int64_t kSettled = 10 * kNsPerSecond;  // nothing came for so long
constexpr double kMixWorthTelling = 0.1;              // of all requests

std::int64_t SecondsDown(std::int64_t ns) {
  return ns / kNsPerSecond * kNsPerSecond;
}
std::int64_t SecondsUp(std::int64_t ns) {
  return SecondsDown(ns + kNsPerSecond - 1);
}

std::string MixText(const query::TestedDifference& tested) {
  if (tested.mix_moved < kMixWorthTelling) return {};
  std::string text = "the mix of requests changed: ";
  const char* between = "";
  for (const query::MixOfEndpoint& one : tested.mix) {
    text += fmt::format("{}{} {:.0f} % → {:.0f} %", between, one.name, 100 * one.before,
                        100 * one.after);
    between = ", ";
  }
  return text;
}

// Causes that are surely dearer; by their numbers in `change`. What one function of the program
// does with several of a library is one cause: the dearest stands for it.
std::vector<std::size_t> SureCauses(const query::ServiceChange& change, double level) {
  std::vector<std::size_t> sure;
  for (std::size_t i = 0; i < change.causes.size(); ++i) {
    const query::ServiceChange::Told& told = change.causes[i];
    if (!query::IsDearer(told.cause) || told.cause.q > level || told.cause.low <= 0) continue;
    const bool is_told = std::ranges::any_of(sure, [&](std::size_t other) {
      return !told.own.name.empty() && Same(told.own, change.causes[other].own);
    });
    if (!is_told || Same(told.cause.function, told.own)) sure.push_back(i);
  }
  return sure;
}

store::RegressionEvent EventOf(const LookedAt& looked, std::int64_t at_ns) {
  store::RegressionEvent event{.tenant = looked.tenant,
                               .time_ns = at_ns,
                               .kind = "look",
                               .event = fmt::format("{}", looked.looks),
                               .service = looked.service,
                               .type = "cpu",
                               .label = looked.label,
                               .version_before = looked.before,
                               .version = looked.version,
                               .since_ns = looked.since_ns,
                               .why = looked.note,
                               .facts = {}};
  event.id = Hash64(
      fmt::format("{}\n{}\n{}\n{}", looked.tenant, looked.service, looked.label, looked.version));
  event.facts.emplace_back("looked", fmt::format("{}", looked.looked_ns));
  if (looked.detectable)
    event.facts.emplace_back("detectable", fmt::format("{}", *looked.detectable));
  return event;
}

}  // namespace

// What the look sees of both sides does not grow any more.
Result<bool> Regressions::IsSettled(const Due& due) {
  const CancelToken cancel = MakeCancel();
  const auto guard = cancel_.OnCancel([&] { cancel.Cancel(); });
  const query::ServiceChange sides = SidesOf(due);
  std::int64_t profiles = 0;
  for (const query::Selection* const side : {&sides.before, &sides.after}) {
    WHEREFORE_ASSIGN_OR_RETURN(const auto resolved, context_.catalog.Resolve(*side, {}, cancel));
    if (resolved.query.selections.empty()) continue;
    WHEREFORE_ASSIGN_OR_RETURN(
        const auto rows,
        context_.reader.Coverage(resolved.query, store::Reader::CoverBy::kType, cancel));
    for (const store::CoverRow& row : rows) profiles += row.profiles;
  }
  const std::int64_t now = MonotonicNs();
  const auto [at, fresh] = counted_.try_emplace(due.key, profiles, now);
  if (at->second.first != profiles) at->second = {profiles, now};
  return now - at->second.second >= kSettled;
}

query::ServiceChange Regressions::SidesOf(const Due& due) const {
  const LookedAt& looked = due.looked;
  query::ServiceChange sides{.service = looked.service,
                             .label = looked.label,
                             .version_before = looked.before,
                             .version_after = looked.version,
                             .since_ns = looked.since_ns};
  const std::int64_t age = kLooks[looked.looks].age_ns;
  const std::int64_t until = looked.since_ns + age;
  sides.before = sides.after = {.tenant = looked.tenant, .type = "cpu"};
  sides.after.range = {SecondsDown(looked.since_ns),
                       SecondsUp(std::min(until, due.version.last_ns))};
  // As long before, an hour at least; what still runs beside it counts up to the look.
  const std::int64_t last = SecondsUp(std::min(until, due.before.last_ns));
  sides.before.range = {std::max(SecondsDown(due.before.first_ns), last - std::max(age, kHourNs)),
                        last};
  for (const auto& [side, version] :
       {std::pair(&sides.before, &looked.before), {&sides.after, &looked.version}}) {
    if (auto only = query::SelectorOf(looked.service, looked.label, *version)) {
      side->selector = *std::move(only);
    } else {
      sides.reason = only.error().message();
    }
  }
  return sides;
}

Result<> Regressions::Look(const Due& due) {
  const std::size_t look = due.looked.looks;
  counted_.erase(due.key);
  const bool nothing_new =
      look > 0 && due.version.last_ns <= due.looked.since_ns + kLooks[look - 1].age_ns;
  if (nothing_new) {
    skipped_.Add();
    Note(fmt::format("{} {}: it does not run any more", due.looked.service, due.looked.version));
    return EndLook(due, nullptr, due.looked.note);
  }
  const CancelToken cancel = MakeCancel();
  const auto guard = cancel_.OnCancel([&] { cancel.Cancel(); });
  WHEREFORE_ASSIGN_OR_RETURN(
      const query::ServiceChange change,
      query::ChangeBetween(
          context_, SidesOf(due),
          {.most_causes = kMostCauses, .traces_before = true, .keep_functions = true}, cancel));
  looks_.Add();
  return EndLook(due, &change, change.reason.empty() ? MixText(change.tested) : change.reason);
}

Result<> Regressions::EndLook(const Due& due, const query::ServiceChange* change,
                              std::string note) {
  const double level = kLooks[due.looked.looks].level;
  const std::int64_t now = options_.now();
  LookedAt looked = due.looked;
  ++looked.looks;
  looked.looked_ns = now;
  bool reports = change != nullptr && change->reason.empty();
  if (reports && IsHiddenByMix(change->tested)) {
    note += fmt::format("{}nothing is said of single functions: samples are not linked to requests",
                        note.empty() ? "the mix of requests changed; " : "; ");
    reports = false;
  }
  looked.note = std::move(note);
  if (change != nullptr && change->detectable.value_or(0) > 0)
    looked.detectable = change->detectable;
  static const query::ServiceChange kNothing{};
  WHEREFORE_RETURN_IF_ERROR(Keep(looked.tenant, change != nullptr ? *change : kNothing, level, "",
                                 reports, {EventOf(looked, now)}));
  tries_.erase(due.key);
  MutexLock lock(mutex_);
  versions_[due.key] = std::move(looked);
  return {};
}

Result<> Regressions::Keep(std::uint32_t tenant, const query::ServiceChange& change, double level,
                           std::string_view key, bool reports,
                           std::vector<store::RegressionEvent> extra) {
  const std::int64_t now = options_.now();
  const std::vector<std::size_t> sure =
      reports ? SureCauses(change, level) : std::vector<std::size_t>();
  MutexLock change_lock(change_mutex_);
  std::vector<Regression> same;  // records of the same version
  {
    MutexLock lock(mutex_);
    for (const auto& [id, record] : records_) {
      const query::ServiceChange& of = record.change;
      if (record.tenant != tenant || of.service != change.service || of.label != change.label ||
          of.version_after != change.version_after)
        continue;
      // Without a version, what came back and grew again is a new one.
      if (of.label.empty() && !record.IsLive()) continue;
      same.push_back(record);
    }
  }
  std::vector<const Regression*> records;
  for (const Regression& record : same) records.push_back(&record);
  std::vector<const query::Cause*> causes;
  for (const std::size_t i : sure) causes.push_back(&change.causes[i].cause);
  const auto matches = MatchRecords(records, causes);
  std::vector<Regression> changed;
  std::vector<store::RegressionEvent> events = std::move(extra);
  std::vector<bool> seen(same.size());
  const auto keep = [&](Regression record, std::string_view what) {
    events.push_back(insight::EventOf(record, what, now));
    changed.push_back(std::move(record));
  };
  for (std::size_t c = 0; c < sure.size(); ++c) {
    if (matches[c]) {
      Regression record = same[*matches[c]];
      seen[*matches[c]] = true;
      if (!record.IsLive()) continue;
      Sharpen(record, change, sure[c], now);
      keep(std::move(record), "sharpened");
      continue;
    }
    Regression record = MakeRegression(tenant, change, sure[c], key, now);
    const auto is_it = [&](const Regression& other) { return other.id == record.id; };
    if (std::ranges::any_of(changed, is_it) || std::ranges::any_of(same, is_it)) continue;
    keep(std::move(record), "opened");
  }
  for (std::size_t r = 0; reports && r < same.size(); ++r) {
    if (seen[r] || !same[r].IsLive() || !CameBack(same[r], change.tested)) continue;
    Regression record = same[r];
    record.state = RegressionState::kGone;
    record.changed_ns = now;
    keep(std::move(record), "gone");
  }
  WHEREFORE_RETURN_IF_ERROR(LogEvents(events));
  for (const Regression& record : changed) {
    if (!record.IsLive()) continue;
    for (const query::Selection* const side : {&record.change.before, &record.change.after})
      options_.evidence.Keep(
          tenant, change.service, side->range,
          fmt::format("regression {}: {}", IdText(record.id), record.cause().function.name), now);
  }
  MutexLock lock(mutex_);
  for (Regression& record : changed) {
    const std::uint64_t id = record.id;
    records_[id] = std::move(record);
  }
  CountOpen();
  return {};
}

}  // namespace wherefore::insight
