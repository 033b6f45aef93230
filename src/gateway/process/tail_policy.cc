#include "gateway/process/tail_policy.h"

#include <algorithm>
#include <bit>

#include <re2/re2.h>

namespace wherefore::gateway {
namespace {

using profile::SpanBatch;
using Kind = TailPolicy::Kind;

const profile::Attribute* Find(const SpanBatch& batch, const profile::Span& span,
                               std::string_view key) {
  for (const profile::Range range : {span.attributes, batch.resources[span.resource].attributes}) {
    for (const profile::Attribute& a : batch.OwnAttributes(range)) {
      if (batch.Text(a.key) == key) return &a;
    }
  }
  return nullptr;
}

bool MeetsText(const TailPolicy& policy, const SpanBatch& batch, const profile::Value& value) {
  if (value.kind != profile::Value::Kind::kString) return false;
  const std::string_view text = batch.Text(value.text);
  const re2::StringPiece piece(text.data(), text.size());
  return std::ranges::find(policy.values, text) != policy.values.end() ||
         std::ranges::any_of(policy.expressions,
                             [&](const auto& e) { return RE2::PartialMatch(piece, *e); });
}

bool MeetsNumber(const TailPolicy& policy, const profile::Value& value) {
  return value.kind == profile::Value::Kind::kInt && value.number >= policy.min_value &&
         value.number <= policy.max_value;
}

// Whether one span alone meets a policy that goes by spans.
bool Meets(const TailPolicy& policy, const SpanBatch& batch, const profile::Span& span) {
  if (policy.kind == Kind::kStatusCode) {
    return std::ranges::find(policy.status_codes, span.status_code) != policy.status_codes.end();
  }
  const profile::Attribute* const a = Find(batch, span, policy.key);
  if (a == nullptr) return false;
  return policy.kind == Kind::kStringAttribute ? MeetsText(policy, batch, a->value)
                                               : MeetsNumber(policy, a->value);
}

bool GoesBySpans(Kind kind) {
  return kind == Kind::kStatusCode || kind == Kind::kStringAttribute ||
         kind == Kind::kNumericAttribute;
}

// Calls `visit` with each policy that has no parts, and its number.
template <typename Visit>
void ForLeaves(const std::vector<TailPolicy>& policies, std::size_t& number, const Visit& visit) {
  for (const TailPolicy& policy : policies) {
    if (policy.kind == Kind::kAnd) {
      ForLeaves(policy.parts, number, visit);
    } else {
      visit(policy, number++);
    }
  }
}

// `number` is the first leaf's, and afterwards the next one's.
bool Holds(const TailPolicy& policy, const TraceFacts& facts, const profile::TraceId& trace,
           std::size_t& number) {
  if (policy.kind == Kind::kAnd) {
    bool all = true;
    for (const TailPolicy& part : policy.parts) all = Holds(part, facts, trace, number) && all;
    return all;
  }
  const std::size_t leaf = number++;
  switch (policy.kind) {
    case Kind::kAlways:
      return true;
    case Kind::kLatency:
      return facts.end_ns > facts.start_ns && (facts.end_ns - facts.start_ns) / 1'000'000 >=
                                                  static_cast<std::uint64_t>(policy.threshold_ms);
    case Kind::kProbabilistic:
      return ProbabilisticSampler({.percentage = policy.sampling_percentage}).Keeps(trace);
    case Kind::kStatusCode:
    case Kind::kStringAttribute:
    case Kind::kNumericAttribute:
    case Kind::kAnd:
      break;
  }
  return (facts.matched >> leaf & 1) != 0;
}

}  // namespace

std::size_t CountLeaves(const std::vector<TailPolicy>& policies) {
  std::size_t number = 0;
  ForLeaves(policies, number, [](const TailPolicy&, std::size_t) {});
  return number;
}

void TraceFacts::Add(const SpanBatch& batch, const profile::Span& span,
                     const std::vector<TailPolicy>& policies) {
  start_ns = std::min(start_ns, span.start_ns);
  end_ns = std::max(end_ns, span.end_ns);
  std::size_t number = 0;
  ForLeaves(policies, number, [&](const TailPolicy& policy, std::size_t leaf) {
    const std::uint64_t bit = std::uint64_t{1} << leaf;
    if ((matched & bit) != 0 || !GoesBySpans(policy.kind)) return;
    if (Meets(policy, batch, span)) matched |= bit;
  });
}

bool TraceFacts::Kept(const profile::TraceId& trace,
                      const std::vector<TailPolicy>& policies) const {
  std::size_t number = 0;
  bool kept = false;
  for (const TailPolicy& policy : policies) kept = Holds(policy, *this, trace, number) || kept;
  return kept;
}

}  // namespace wherefore::gateway
