#include "insight/alerts/alerts.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "insight/alerts/read_rules.h"
#include "insight/alerts/receiver.h"
#include "profile/tenant.h"

namespace wherefore::insight {
namespace {

constexpr std::int64_t kLongestRound = 50 * kNsPerSecond;
constexpr std::int64_t kShortWait = kNsPerSecond / 5;
constexpr std::int64_t kRestoreAgain = 2 * kNsPerSecond;

Counter& Count(std::string_view name, std::string_view help) {
  return Metrics::Global().GetCounter(name, help);
}
Gauge& Show(std::string_view name, std::string_view help) {
  return Metrics::Global().GetGauge(name, help);
}

}  // namespace

Alerts::Alerts(query::QueryContext& context, AlertOptions options)
    : context_(context),
      options_(std::move(options)),
      evaluator_(context),
      rounds_(Count("wherefore_alerts_rounds_total", "Rounds in which rules were judged.")),
      failed_rounds_(Count("wherefore_alerts_failed_rounds_total",
                           "Rounds that failed as a whole; states stayed.")),
      delivered_(Count("wherefore_alerts_delivered_total", "Notices that receivers took.")),
      dropped_(Count("wherefore_alerts_dropped_total",
                     "Notices that a receiver refused for good, or that were a day old.")),
      failed_sends_(Count("wherefore_alerts_failed_sends_total",
                          "Requests to receivers that failed and are made again.")),
      round_seconds_(Metrics::Global().GetHistogram("wherefore_alerts_round_seconds",
                                                    "Time to judge the rules of a round.")),
      firing_(Show("wherefore_alerts_firing", "Alerts that fire.")),
      pending_(Show("wherefore_alerts_pending",
                    "Alerts whose condition does not hold for long "
                    "enough yet.")),
      rules_(Show("wherefore_alerts_rules", "Rules of alerts.")) {}

Alerts::~Alerts() {
  Stop();
}

std::string Alerts::Group::Id() const {
  return fmt::format("{}\n{}\n{}", from, tenant, group.name);
}

Result<> Alerts::Load() {
  AlertConfig config;
  if (!options_.file.empty()) {
    WHEREFORE_ASSIGN_OR_RETURN(config, ReadFile());
  }
  loaded_ = std::move(config);
  return {};
}

Result<> Alerts::Start() {
  serving_since_ns_ = NowUnixNs();
  if (!loaded_) WHEREFORE_RETURN_IF_ERROR(Load());
  MutexLock lock(mutex_);
  Use(*std::exchange(loaded_, std::nullopt));
  judge_ = std::thread([this] { Run(); });
  return {};
}

void Alerts::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  cancel_.Cancel();
  if (judge_.joinable()) judge_.join();
  StopReceivers();
}

bool Alerts::Wait(std::int64_t ns) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(ns);
  MutexLock lock(mutex_);
  while (!stopping_ && changed_.WaitUntil(mutex_, until)) {
  }
  return !stopping_;
}

void Alerts::Run() {
  while (true) {
    const Result<> restored = Restore();
    {
      MutexLock lock(mutex_);
      restored_ = static_cast<bool>(restored);
      restore_problem_ = restored ? "" : restored.error().message();
      if (restored) break;
    }
    if (!Wait(kRestoreAgain)) return;
  }
  do {
    try {
      LookAtFile();
      UseReceivers();
      KeepForToday(NowUnixNs());
      JudgeDue();
    } catch (const std::exception& e) {  // libraries, and memory
      failed_rounds_.Add();
      Log(LogLevel::kError, "alerts were not judged", {{"error", e.what()}});
    }
  } while (Wait(kShortWait));
}

Result<AlertConfig> Alerts::ReadFile() {
  std::ifstream file(options_.file, std::ios::binary);
  if (!file) return Error(Code::kNotFound, options_.file + " cannot be read");
  std::string text(std::istreambuf_iterator<char>(file), {});
  settings::Problems problems;
  AlertConfig config = ReadAlerts(text, options_.file, problems);
  file_text_ = std::move(text);
  std::string errors;
  for (const settings::Problem& problem : problems.list()) {
    if (problem.warning) {
      Log(LogLevel::kWarn, problem.Text());
    } else {
      errors += (errors.empty() ? "" : "\n") + problem.Text();
    }
  }
  if (problems.failed()) return Error(Code::kInvalid, errors);
  return config;
}

void Alerts::LookAtFile() {
  if (options_.file.empty() || MonotonicNs() < next_file_look_ns_) return;
  next_file_look_ns_ = MonotonicNs() + options_.look_at_file_ns;
  {
    // Its text tells whether it changed: times and sizes may be those of before.
    std::ifstream file(options_.file, std::ios::binary);
    if (file && std::string(std::istreambuf_iterator<char>(file), {}) == file_text_) return;
  }
  auto config = ReadFile();
  MutexLock lock(mutex_);
  const std::string problem = config ? "" : config.error().message();
  if (!problem.empty() && problem != file_problem_) {
    Log(LogLevel::kError, "the rules of alerts could not be read again; the old ones stay",
        {{"error", problem}});
  }
  file_problem_ = problem;
  if (!config) return;
  Use(*std::move(config));
  Log(LogLevel::kInfo, "the rules of alerts were read again", {{"file", options_.file}});
}

void Alerts::Use(AlertConfig config) {
  external_url_ = config.external_url;
  if (external_url_.empty() && options_.external_url) external_url_ = options_.external_url();
  wanted_ = std::move(config.receivers);
  std::erase_if(groups_, [](const auto& group) { return group->from != kFromApi; });
  Groups all;
  for (AlertGroup& group : config.groups) {
    const std::uint32_t tenant = profile::Tenant(group.tenant).number;
    all.push_back(std::make_shared<Group>(Group{std::move(group), options_.file, tenant, ""}));
  }
  std::ranges::move(groups_, std::back_inserter(all));
  groups_ = std::move(all);
  groups_changed_ = true;
  CountStates();
}

void Alerts::CountStates() {
  std::int64_t firing = 0;
  std::int64_t pending = 0;
  for (const auto& [key, state] : states_) {
    firing += state.phase == AlertPhase::kFiring ? 1 : 0;
    pending += state.phase == AlertPhase::kPending ? 1 : 0;
  }
  std::size_t rules = 0;
  for (const auto& group : groups_) rules += group->group.rules.size();
  firing_.Set(firing);
  pending_.Set(pending);
  rules_.Set(static_cast<std::int64_t>(rules));
}

// One tick of some groups: what was judged, and what follows from it.
struct Alerts::Round {
  Groups groups;
  std::int64_t tick_ns = 0;
  std::string external_url;
  std::vector<const AlertRule*> rules;
  std::vector<const Group*> of;  // of each rule
  std::vector<Judgement> judged;
  bool overdue = false;  // a part was not judged
  std::set<Key> seen;
  std::vector<std::pair<Key, AlertState>> changed;
  std::vector<store::AlertEvent> events;

  void Move(const Key& key, AlertState state, AlertMove move) {
    if (move != AlertMove::kNone) events.push_back(EventOf(state, move, tick_ns));
    changed.emplace_back(key, std::move(state));
  }
};

void Alerts::JudgeDue() {
  std::map<std::int64_t, Groups> due;  // by tick
  {
    const std::int64_t now = NowUnixNs();
    MutexLock lock(mutex_);
    std::set<std::string> known;
    for (const auto& group : groups_) {
      const std::string id = group->Id();
      known.insert(id);
      const std::int64_t tick = now / group->group.every_ns * group->group.every_ns;
      if (tick != progress_[id].tick_ns) due[tick].push_back(group);
    }
    std::erase_if(progress_, [&](const auto& one) { return !known.contains(one.first); });
    // Alerts of groups that are gone end at once.
    if (std::exchange(groups_changed_, false)) due.try_emplace(now);
  }
  for (const auto& [tick, groups] : due) {
    if (cancel_.cancelled()) return;
    JudgeTick(groups, tick);
  }
}

void Alerts::JudgeTick(const Groups& groups, std::int64_t tick_ns) {
  const std::int64_t begin = MonotonicNs();
  Round round{.groups = groups, .tick_ns = tick_ns};
  for (const auto& group : groups) {
    for (const AlertRule& rule : group->group.rules) {
      round.rules.push_back(&rule);
      round.of.push_back(group.get());
    }
  }
  // Fires with the one for everything, and ends by itself.
  CancelToken cancel;
  const auto guard = cancel_.OnCancel([&] { cancel.Cancel(); });
  cancel.SetDeadline(begin + kLongestRound);
  cancel.SetMemoryLimit(options_.query_memory_bytes);
  Result<> done =
      options_.catch_up && !round.rules.empty() ? options_.catch_up(cancel) : Result<>();
  if (done) {
    auto judged = evaluator_.Judge(round.rules, tick_ns, cancel);
    if (judged) {
      round.judged = std::move(judged->judgements);
      round.overdue = judged->overdue;
    } else {
      done = judged.error();
    }
  }
  round_seconds_.ObserveNs(MonotonicNs() - begin);
  rounds_.Add();
  if (cancel_.cancelled()) return;
  if (!done) {
    failed_rounds_.Add();
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < round.rules.size(); ++i) {
      Progress& progress = progress_[round.of[i]->Id()];
      progress.tick_ns = tick_ns;
      progress.rules[round.rules[i]->place].problem = done.error().message();
    }
    return;
  }
  Apply(round);
}

void Alerts::Apply(Round& round) {
  {
    MutexLock lock(mutex_);
    round.external_url = external_url_;
    for (const auto& group : round.groups)
      progress_[group->Id()] = {.tick_ns = round.tick_ns, .rules = {}};
    for (std::size_t i = 0; i < round.rules.size(); ++i)
      progress_[round.of[i]->Id()].rules[round.rules[i]->place].judged_ns = round.tick_ns;
    for (const Judgement& judgement : round.judged) {
      const AlertRule& rule = *round.rules[judgement.rule];
      RuleProgress& progress = progress_[round.of[judgement.rule]->Id()].rules[rule.place];
      ++progress.services;
      if (!judgement.measured.note.empty() && judgement.measured.truth == Truth::kUnknown &&
          !judgement.measured.absent)
        progress.problem = fmt::format("{}: {}", judgement.service, judgement.measured.note);
      AlertState state = MakeState(rule, judgement.service, round.external_url);
      const Key key{state.tenant, state.fingerprint};
      if (!round.seen.insert(key).second) {
        progress.problem = "another rule makes the same alert: give one of them another label";
        continue;
      }
      if (const auto known = states_.find(key); known != states_.end()) {
        const AlertState fresh = std::exchange(state, known->second);
        state.group = fresh.group;
        state.when = fresh.when;
        state.every_ns = fresh.every_ns;
        if (state.phase != AlertPhase::kFiring) state.link = fresh.link;
      }
      const bool absent_counts = round.tick_ns - serving_since_ns_ >= rule.over_ns;
      Measured measured = judgement.measured;
      // While the server was away nobody's profiles could arrive.
      if (rule.when.kind == Condition::Kind::kGap && state.phase != AlertPhase::kFiring &&
          static_cast<double>(round.tick_ns - serving_since_ns_) < rule.when.bound)
        measured.truth = Truth::kUnknown;
      const AlertMove move = Advance(state, rule, measured, round.tick_ns, absent_counts);
      round.Move(key, std::move(state), move);
    }
    if (!round.overdue) EndOthers(round);
    overdue_ = round.overdue;
  }
  Commit(round, round.events);
}

// Alerts whose rule is gone, or whose service is not heard of any more.
void Alerts::EndOthers(Round& round) {
  std::set<std::string> due;
  std::set<std::string> names;  // of groups there are
  for (const auto& group : round.groups)
    due.insert(fmt::format("{}\n{}", group->tenant, group->group.name));
  for (const auto& group : groups_)
    names.insert(fmt::format("{}\n{}", group->tenant, group->group.name));
  for (const auto& [key, known] : states_) {
    if (known.phase == AlertPhase::kInactive || round.seen.contains(key)) continue;
    const std::string group = fmt::format("{}\n{}", known.tenant, known.group);
    if (!due.contains(group) && names.contains(group)) continue;
    const auto rule = std::ranges::find_if(round.rules, [&](const AlertRule* of) {
      return of->tenant == known.tenant && of->group == known.group && of->alert == known.alert &&
             MakeState(*of, known.service, "").fingerprint == known.fingerprint;
    });
    // The server was away itself: the service may come back as well.
    if (rule != round.rules.end() && round.tick_ns - serving_since_ns_ < (*rule)->over_ns) continue;
    AlertState state = known;
    const AlertMove move = End(state, round.tick_ns);
    round.Move(key, std::move(state), move);
  }
}

void Alerts::Commit(Round& round, std::vector<store::AlertEvent>& events) {
  const Result<> logged = LogEvents(events);
  if (logged) KeepEvidence(events);
  MutexLock lock(mutex_);
  if (!logged && log_problem_.empty())
    Log(LogLevel::kError, "what happened to alerts could not be logged; it is tried again",
        {{"error", logged.error().message()}});
  log_problem_ = logged ? "" : logged.error().message();
  std::set<Key> moved;
  for (const store::AlertEvent& event : events) moved.emplace(event.tenant, event.fingerprint);
  for (auto& [key, state] : round.changed) {
    if (!logged && moved.contains(key)) continue;  // it stays what it was
    states_[key] = std::move(state);
  }
  // Of a service that is gone nothing is remembered, two days after its alert ended.
  std::erase_if(states_, [&](const auto& one) {
    return one.second.phase == AlertPhase::kInactive &&
           round.tick_ns - std::max(one.second.judged_ns, one.second.ends_ns) > 2 * kNsPerDay;
  });
  if (logged) {
    for (const store::AlertEvent& event : events) {
      if (event.state != "firing" && event.state != "resolved") continue;
      const Notice notice = NoticeOf(event);
      notices_[{event.tenant, event.fingerprint}] = notice;
      outbox_.Add(notice);
    }
  }
  CountStates();
  changed_.NotifyAll();
}

Result<> Alerts::LogEvents(std::vector<store::AlertEvent>& events) {
  if (events.empty()) return {};
  MutexLock lock(number_mutex_);
  auto number = std::max(last_number_ + 1, static_cast<std::uint64_t>(NowUnixNs()));
  for (store::AlertEvent& event : events) event.number = number++;
  last_number_ = number - 1;
  return options_.log(events);
}

// Of an alert that fires on, another day each day.
void Alerts::KeepEvidence(std::span<const store::AlertEvent> events) const {
  constexpr std::int64_t kBefore = 3600 * kNsPerSecond;
  for (const store::AlertEvent& event : events) {
    if (event.kind != "state" || event.state != "firing") continue;
    const std::int64_t from = std::max(event.starts_ns, event.time_ns - kNsPerDay) - kBefore;
    options_.evidence.Keep(event.tenant, event.service, {from, event.time_ns},
                           "alert " + event.alert, event.time_ns);
  }
}

void Alerts::KeepForToday(std::int64_t now_ns) {
  std::vector<store::AlertEvent> events;
  std::vector<Key> firing;
  {
    MutexLock lock(mutex_);
    if (kept_day_ >= now_ns / kNsPerDay) return;
    for (const auto& [key, state] : states_) {
      if (state.phase == AlertPhase::kInactive) continue;
      const bool fires = state.phase == AlertPhase::kFiring;
      events.push_back(EventOf(state, fires ? AlertMove::kFiring : AlertMove::kPending, now_ns));
      if (fires) firing.push_back(key);
    }
    for (const auto& [id, silence] : silences_) {
      if (silence.ends_ns > now_ns) events.push_back(EventOf(silence, now_ns));
    }
    for (const auto& group : groups_) {
      if (group->from != kFromApi) continue;
      events.push_back({.tenant = group->tenant,
                        .time_ns = now_ns,
                        .kind = "rules",
                        .state = "set",
                        .id = group->group.name,
                        .group = group->group.tenant,
                        .detail = group->yaml});
    }
  }
  Result<> logged = LogEvents(events);
  std::vector<store::AlertEvent> told;
  if (logged) {
    KeepEvidence(events);
    MutexLock lock(mutex_);
    for (const auto& [id, receiver] : receivers_) {
      told.push_back({.time_ns = now_ns,
                      .kind = "delivery",
                      .state = "known",
                      .id = id,
                      .detail = fmt::format("{}", outbox_.known(id))});
      for (const store::AlertEvent& event : events) {
        const auto notice = notices_.find({event.tenant, event.fingerprint});
        if (event.state != "firing" || notice == notices_.end() ||
            !outbox_.Knows(id, notice->second))
          continue;
        told.push_back({.tenant = event.tenant,
                        .time_ns = now_ns,
                        .kind = "delivery",
                        .state = "firing",
                        .fingerprint = event.fingerprint,
                        .starts_ns = event.starts_ns,
                        .id = id,
                        .alert = event.alert,
                        .service = event.service,
                        .detail = fmt::format("{}", event.number)});
      }
    }
  }
  if (logged) logged = LogEvents(told);
  if (!logged) return;  // again in the next round
  MutexLock lock(mutex_);
  kept_day_ = now_ns / kNsPerDay;
}

}  // namespace wherefore::insight
