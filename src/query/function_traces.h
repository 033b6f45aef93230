// The traces in which a function was seen. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "query/traces.h"

namespace wherefore::query {

// Samples that belong to spans and hold it.
struct FunctionTraces {
  struct Span {
    profile::SpanId span{};
    std::string service;  // of the samples
    std::string name;     // empty: the span itself is not stored
    std::int64_t duration_ns = 0;
    std::int64_t value = 0;  // of the function, in this span
    std::int64_t count = 0;
    std::optional<Looks> looks;  // as in TraceProfile
  };
  struct Trace {
    // All zero where the profiler knows only the span, and no span has its id.
    TraceSummary summary;
    std::int64_t value = 0;
    std::int64_t count = 0;
    std::optional<Looks> looks;  // as in TraceProfile
    std::vector<Span> spans;     // largest first
  };
  std::string type;
  std::string unit;
  std::int64_t value = 0;  // the function's, linked or not
  std::int64_t count = 0;
  std::int64_t linked_value = 0;  // of it: in samples that belong to a span
  std::int64_t linked_count = 0;
  std::size_t found = 0;      // traces, listed or not
  std::vector<Trace> traces;  // in the order asked for
  std::string hint;           // set when there is none
};

// Which of them are listed, and in which order: where it took most, the longest or the newest
// first.
enum class TraceOrder : std::uint8_t { kValue, kDuration, kTime };
struct TracesOptions {
  std::size_t limit = 20;
  TraceOrder order = TraceOrder::kValue;
};

// Traces beyond the limit are counted only.
Result<FunctionTraces> TracesOf(QueryContext& context, const Selection& selection,
                                const FunctionName& function, const TracesOptions& options,
                                const CancelToken& cancel);

}  // namespace wherefore::query
