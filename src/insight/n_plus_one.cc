#include "insight/n_plus_one.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace wherefore::insight {
namespace {

using query::SpanRow;
using Call = std::tuple<std::string, std::string, std::string>;  // span, callee's service and name

struct Collected {
  std::vector<query::GroupValue> groups;  // a span each
  double value_ns = 0;
};

// Calls of one name in turn: each begins after the one before it has ended.
bool AreInTurn(std::vector<const SpanRow*>& calls) {
  std::ranges::sort(calls, {}, &SpanRow::start_ns);
  std::size_t in_turn = 1;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const SpanRow& before = *calls[i - 1];
    if (calls[i]->start_ns >= before.start_ns + before.duration_ns) ++in_turn;
  }
  return in_turn >= kManyChildren;
}

double TimeOf(const SpanRow& parent, const std::vector<const SpanRow*>& calls) {
  double time = 0;
  std::int64_t covered = parent.start_ns;  // overlapping calls count once, and only in the span
  for (const SpanRow* const call : calls) {
    const std::int64_t from = std::max(call->start_ns, covered);
    const std::int64_t to =
        std::min(call->start_ns + call->duration_ns, parent.start_ns + parent.duration_ns);
    if (to > from) time += static_cast<double>(to - from);
    covered = std::max(covered, to);
  }
  return time;
}

void LookAt(const SpanRow& parent, const std::vector<const SpanRow*>& children,
            std::map<Call, Collected>& found) {
  std::map<std::pair<std::string, std::string>, std::vector<const SpanRow*>> by_name;
  for (const SpanRow* const child : children)
    by_name[{child->service_name, child->name}].push_back(child);
  for (auto& [callee, calls] : by_name) {
    if (calls.size() < kManyChildren || !AreInTurn(calls)) continue;
    Collected& collected = found[{parent.name, callee.first, callee.second}];
    const double time = TimeOf(parent, calls);
    collected.value_ns += time;
    collected.groups.push_back({.value = time,
                                .observations = static_cast<double>(calls.size()),
                                .exposure = static_cast<double>(parent.duration_ns)});
  }
}

}  // namespace

std::vector<RepeatedCall> FindRepeatedCalls(std::span<const std::vector<SpanRow>> traces,
                                            const std::string& service) {
  std::map<Call, Collected> found;
  for (const std::vector<SpanRow>& spans : traces) {
    std::map<profile::SpanId, std::vector<const SpanRow*>> children;
    for (const SpanRow& span : spans) children[span.parent].push_back(&span);
    for (const SpanRow& span : spans) {
      if (span.service_name != service || span.duration_ns <= 0) continue;
      const auto own = children.find(span.id);
      if (own != children.end()) LookAt(span, own->second, found);
    }
  }
  std::vector<RepeatedCall> calls;
  for (auto& [call, collected] : found) {
    calls.push_back({.service = service,
                     .name = std::get<0>(call),
                     .callee_service = std::get<1>(call),
                     .callee = std::get<2>(call),
                     .share = query::EstimateOf(collected.groups, query::Measure::kShare),
                     .value_ns = collected.value_ns,
                     .spans = collected.groups.size()});
  }
  std::ranges::stable_sort(calls, std::greater(), &RepeatedCall::value_ns);
  return calls;
}

}  // namespace wherefore::insight
