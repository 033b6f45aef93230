// Why a span has no samples: decided from what is stored of its service around that time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"

namespace wherefore::query {

// What is stored of a service around the time of one of its spans.
struct ServiceActivity {
  std::string service;
  std::int64_t span_ns = 0;        // how long the span took
  std::size_t profiles = 0;        // of any type
  std::size_t links = 0;           // samples of it that belong to some span
  std::int64_t cpu_period_ns = 0;  // CPU time between two samples; 0: no CPU profile, or not said
  bool arriving = false;           // its profiles of that time are on their way
  bool shows_waiting = false;      // wall-clock or off-CPU profiles are there
  std::string reduced;             // why profiles lost links on their way ("conditional"); or empty
};

// One sentence for people, without its full stop. Pure.
[[nodiscard]] std::string WhyNoSamples(const ServiceActivity& activity);
// The same for the services of several spans, the longest span of each.
[[nodiscard]] std::string WhyNoSamples(const std::vector<ServiceActivity>& services);

// The same for spans of a trace (all of them when `wanted` is empty) from what is stored. `types`:
// what their samples are of, where there are some. `arriving`: there may be samples in some
// seconds.
Result<std::string> ExplainNoLinks(QueryContext& context, std::uint32_t tenant,
                                   const std::vector<store::SpanRow>& trace,
                                   const std::vector<profile::SpanId>& wanted,
                                   std::string_view types, bool& arriving,
                                   const CancelToken& cancel);

}  // namespace wherefore::query
