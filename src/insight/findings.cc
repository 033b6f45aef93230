#include "insight/findings.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>

#include <re2/re2.h>

#include "insight/detectors.h"
#include "insight/frame_matches.h"

namespace wherefore::insight {
namespace {

constexpr std::size_t kCallers = 3;

std::vector<std::uint32_t> StacksOf(const std::vector<Hit>& hits) {
  std::vector<std::uint32_t> stacks;
  stacks.reserve(hits.size());
  for (const Hit& hit : hits) stacks.push_back(hit.stack);
  return stacks;
}

query::Estimate ShareOf(const query::StackTable& table, const std::vector<Hit>& hits) {
  return query::EstimateOf(table.Of(StacksOf(hits)), query::Measure::kShare);
}

// The functions with most value first; at most so many.
std::vector<std::uint32_t> MostOf(const query::StackTable& table, const std::vector<Hit>& hits,
                                  std::uint32_t Hit::* which, std::size_t most) {
  std::unordered_map<std::uint32_t, double> values;
  for (const Hit& hit : hits) {
    if (hit.*which == Hit::kNoFunction) continue;
    for (const query::StackTable::Cell& cell : table.stacks()[hit.stack].cells)
      values[hit.*which] += cell.value;
  }
  std::vector<std::pair<double, std::uint32_t>> order;
  for (const auto& [function, value] : values) order.emplace_back(-value, function);
  std::ranges::sort(order);
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) out.push_back(order[i].second);
  return out;
}

Finding Describe(const query::StackTable& table, const Rule& rule, const std::vector<Hit>& hits,
                 const query::Estimate& share) {
  Finding finding{.rule = rule, .share = share};
  for (const query::GroupValue& group : table.Of(StacksOf(hits))) finding.value += group.value;
  const auto functions = MostOf(table, hits, &Hit::function, 1);
  if (!functions.empty()) finding.function = table.functions()[functions.front()];
  for (const std::uint32_t caller : MostOf(table, hits, &Hit::caller, kCallers))
    finding.callers.push_back(table.functions()[caller]);
  return finding;
}

// Go's collector works in goroutines of its own. Its work is shared out among those who allocate,
// by their time in the allocator.
class Collector {
 public:
  explicit Collector(const query::StackTable& table) : table_(table) {
    static const re2::RE2 kWork(R"(^runtime\.(gcBgMarkWorker|bgsweep|bgscavenge|_GC)$)");
    std::vector<bool> is_work;
    std::vector<bool> allocates;
    for (const profile::FlameFunction& f : table.functions()) {
      is_work.push_back(re2::RE2::PartialMatch(f.name, kWork));
      allocates.push_back(f.name == "runtime.mallocgc");
    }
    for (std::uint32_t s = 0; s < table.stacks().size(); ++s) {
      const std::vector<std::uint32_t> path = table.PathOf(table.stacks()[s]);
      if (path.empty()) continue;
      if (is_work[path.front()]) work_.push_back(s);
      if (std::ranges::any_of(path, [&](std::uint32_t f) { return allocates[f]; }))
        allocating_[s] = ValueOf(s);
    }
    for (const auto& [stack, value] : allocating_) allocated_ += value;
  }

  // The share, its near end, that goes with these stacks; without what is in them itself.
  [[nodiscard]] double With(const std::vector<std::uint32_t>& stacks) const {
    if (work_.empty() || allocated_ <= 0) return 0;
    double own = 0;
    for (const std::uint32_t s : stacks) {
      if (const auto at = allocating_.find(s); at != allocating_.end()) own += at->second;
    }
    std::vector<std::uint32_t> others;
    std::ranges::set_difference(work_, stacks, std::back_inserter(others));
    return query::EstimateOf(table_.Of(others), query::Measure::kShare).low * own / allocated_;
  }

 private:
  [[nodiscard]] double ValueOf(std::uint32_t stack) const {
    double value = 0;
    for (const query::StackTable::Cell& cell : table_.stacks()[stack].cells) value += cell.value;
    return value;
  }

  const query::StackTable& table_;
  std::vector<std::uint32_t> work_;  // stacks, ascending
  std::unordered_map<std::uint32_t, double> allocating_;
  double allocated_ = 0;
};

// By rule.
Result<std::vector<std::vector<Hit>>> HitsOf(const query::StackTable& table,
                                             std::span<const Rule> rules,
                                             const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(auto hits, FindFrames(rules, table, cancel));
  for (std::size_t r = 0; r < rules.size(); ++r) {
    if (rules[r].detector == Detector::kNone) continue;
    WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    hits[r] = Detect(rules[r].detector, table);
  }
  return hits;
}

}  // namespace

std::string SearchFor(const Finding& finding) {
  if (!finding.rule.match.empty() && finding.rule.match.front().frame.set())
    return finding.rule.match.front().frame.text;
  const std::string& name = finding.function.name;
  return name.empty() ? name : "^" + re2::RE2::QuoteMeta(name) + "$";
}

Result<std::vector<Finding>> FindIn(const query::StackTable& table, std::span<const Rule> rules,
                                    const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto hits, HitsOf(table, rules, cancel));
  const Collector collector(table);
  std::vector<Finding> findings;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    if (hits[r].empty()) continue;
    const query::Estimate share = ShareOf(table, hits[r]);
    if (share.low < rules[r].at_least_share) continue;
    if (share.observations < static_cast<double>(rules[r].at_least_observations)) continue;
    findings.push_back(Describe(table, rules[r], hits[r], share));
    findings.back().collected = collector.With(StacksOf(hits[r]));
  }
  std::ranges::stable_sort(findings, std::greater(), [](const Finding& f) { return f.share.rate; });
  return findings;
}

Result<query::Estimate> ShareIn(const query::StackTable& table, const Rule& rule,
                                const CancelToken& cancel) {
  WHEREFORE_ASSIGN_OR_RETURN(const auto hits, HitsOf(table, std::span(&rule, 1), cancel));
  return ShareOf(table, hits.front());
}

}  // namespace wherefore::insight
