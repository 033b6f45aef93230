#include "insight/alerts/dry_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"

namespace wherefore::insight {
namespace {

// The shortest of these that is a multiple of `every` and long enough.
std::int64_t StepOf(const AlertGroup& group, const DryRunOptions& options) {
  if (options.step_ns > 0) return options.step_ns;
  const std::int64_t span = options.range.to_ns - options.range.from_ns;
  const auto most = static_cast<std::int64_t>(options.most_moments);
  const std::int64_t times = (span / group.every_ns + most - 1) / most;
  return group.every_ns * std::max<std::int64_t>(times, 1);
}

class Simulation {
 public:
  Simulation(query::QueryContext& context, const AlertConfig& config, const DryRunOptions& options,
             const CancelToken& cancel)
      : evaluator_(context), options_(options), cancel_(cancel) {
    for (const AlertGroup& group : config.groups) {
      for (const AlertRule& rule : group.rules) {
        out_.rules.push_back(rule);
        out_.of_rules.push_back({.step_ns = StepOf(group, options)});
      }
    }
  }

  Result<DryRun> Run() {
    std::set<std::int64_t> moments;
    for (const DryRun::OfRule& of : out_.of_rules) {
      const std::int64_t step = of.step_ns;
      std::int64_t at = (options_.range.from_ns + step - 1) / step * step;
      for (; at <= options_.range.to_ns; at += step) moments.insert(at);
    }
    std::size_t done = 0;
    for (const std::int64_t at : moments) {
      if (auto judged = JudgeAt(at); !judged) {
        if (judged.error().code() != Code::kLimit) return judged.error();
        return Error(Code::kLimit, "the dry run ran out of time after " + FormatCount(done) +
                                       " of " +
                                       FormatCount(static_cast<std::int64_t>(moments.size())) +
                                       " moments: choose a shorter --since or a longer --step");
      }
      ++done;
    }
    for (auto& [key, open] : open_) out_.times.push_back(std::move(open));
    std::ranges::stable_sort(out_.times, {}, &WouldFire::from_ns);
    return std::move(out_);
  }

 private:
  using Key = std::pair<std::size_t, std::string>;  // rule, service

  Result<> JudgeAt(std::int64_t at_ns) {
    std::vector<const AlertRule*> rules;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < out_.rules.size(); ++i) {
      if (at_ns % out_.of_rules[i].step_ns != 0) continue;
      rules.push_back(&out_.rules[i]);
      which.push_back(i);
    }
    WHEREFORE_ASSIGN_OR_RETURN(const auto judged, evaluator_.Judge(rules, at_ns, cancel_));
    if (judged.overdue) return Error(Code::kLimit, "time is over");
    std::set<Key> seen;
    for (const Judgement& judgement : judged.judgements) {
      const Key key{which[judgement.rule], judgement.service};
      seen.insert(key);
      Take(key, judgement.measured, at_ns);
    }
    // Services that are not heard of any more.
    for (const std::size_t rule : which) {
      for (auto at = states_.lower_bound({rule, ""});
           at != states_.end() && at->first.first == rule; ++at) {
        if (!seen.contains(at->first)) Take(at->first, {.absent = true}, at_ns);
      }
    }
    return {};
  }

  void Take(const Key& key, const Measured& measured, std::int64_t at_ns) {
    const AlertRule& rule = out_.rules[key.first];
    DryRun::OfRule& of = out_.of_rules[key.first];
    const auto [known, fresh] = states_.try_emplace(key);
    if (fresh) {
      known->second = MakeState(rule, key.second, "");
      ++of.services;
    }
    ++of.moments;
    if (measured.truth == Truth::kUnknown) {
      ++of.unknown;
      if (!measured.note.empty()) of.note = measured.note;
    }
    const bool was_firing = known->second.phase == AlertPhase::kFiring;
    const AlertMove move = Advance(known->second, rule, measured, at_ns, true);
    if (move == AlertMove::kPending || move == AlertMove::kFiring) {
      Close(key, at_ns);
      open_[key] = {.rule = key.first,
                    .service = key.second,
                    .phase = known->second.phase,
                    .from_ns = at_ns,
                    .first = measured,
                    .most = measured};
    } else if (move != AlertMove::kNone) {
      Close(key, at_ns);
    } else if (was_firing || known->second.phase == AlertPhase::kPending) {
      WouldFire& open = open_[key];
      const double bound = rule.when.kind == Condition::Kind::kAnomaly ? 0 : rule.when.bound;
      const bool known_value = measured.truth != Truth::kUnknown;
      if (known_value && std::abs(measured.value - bound) > std::abs(open.most.value - bound) &&
          (measured.value > bound) == (open.first.value > bound))
        open.most = measured;
    }
  }

  void Close(const Key& key, std::int64_t at_ns) {
    const auto open = open_.find(key);
    if (open == open_.end()) return;
    open->second.to_ns = at_ns;
    out_.times.push_back(std::move(open->second));
    open_.erase(open);
  }

  Evaluator evaluator_;
  const DryRunOptions options_;
  const CancelToken& cancel_;
  DryRun out_;
  std::map<Key, AlertState> states_;
  std::map<Key, WouldFire> open_;
};

}  // namespace

Result<DryRun> RunDry(query::QueryContext& context, const AlertConfig& config,
                      const DryRunOptions& options, const CancelToken& cancel) {
  return Simulation(context, config, options, cancel).Run();
}

}  // namespace wherefore::insight
