// The policies of `tail_sampling`: which traces are kept, decided when they are known. Plain data
// and pure functions; any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gateway/process/sampler.h"
#include "profile/span_batch.h"

namespace re2 {
class RE2;
}

namespace wherefore::gateway {

struct TailPolicy {
  enum class Kind : std::uint8_t {
    kAlways,
    kLatency,
    kStatusCode,
    kProbabilistic,
    kStringAttribute,
    kNumericAttribute,
    kAnd
  };
  Kind kind = Kind::kAlways;
  std::string name;
  std::int64_t threshold_ms = 0;                             // kLatency
  std::vector<std::uint8_t> status_codes;                    // kStatusCode: 0 unset, 1 ok, 2 error
  double sampling_percentage = 0;                            // kProbabilistic
  std::string key;                                           // attributes of spans and resources
  std::vector<std::string> values;                           // kStringAttribute: any of them
  std::vector<std::shared_ptr<const re2::RE2>> expressions;  // instead of values
  std::int64_t min_value = std::numeric_limits<std::int64_t>::min();  // kNumericAttribute
  std::int64_t max_value = std::numeric_limits<std::int64_t>::max();
  std::vector<TailPolicy> parts;  // kAnd
};

struct TailOptions {
  std::int64_t decision_wait_ns = 30'000'000'000;  // from a trace's first span on
  std::uint64_t num_traces = 50'000;               // that are remembered
  std::vector<TailPolicy> policies;                // any keeps a trace
};

// At most this many policies without parts: each has a bit.
inline constexpr std::size_t kMaxTailLeaves = 64;
[[nodiscard]] std::size_t CountLeaves(const std::vector<TailPolicy>& policies);

// What is known of a trace so far.
struct TraceFacts {
  std::uint64_t start_ns = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end_ns = 0;
  std::uint64_t matched = 0;  // leaves that some span met

  void Add(const profile::SpanBatch& batch, const profile::Span& span,
           const std::vector<TailPolicy>& policies);
  // Whether any policy keeps the trace.
  [[nodiscard]] bool Kept(const profile::TraceId& trace,
                          const std::vector<TailPolicy>& policies) const;
};

}  // namespace wherefore::gateway
