// Traces by their id, and lists of traces with what each was profiled doing, in a few reads for
// all of them. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "query/looks.h"

namespace wherefore::query {

// What the samples of a trace add up to, read as one type.
struct TraceProfile {
  std::string type;  // short name
  std::string unit;
  std::int64_t value = 0;
  std::int64_t count = 0;      // observations
  std::optional<Looks> looks;  // of what is seen by looks: value is what is shown of it
};

struct TraceSummary {
  profile::TraceId trace{};
  std::string root_service;
  std::string root_name;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::size_t spans = 0;
  std::size_t errors = 0;
  bool root_missing = false;           // its root is then the earliest span there is
  std::vector<TraceProfile> profiles;  // of a search: what SpanProfile shows by itself comes first
  std::vector<store::SpanRow> matched;
};

// Which of the traces that match are listed, and in which order.
enum class SearchOrder : std::uint8_t {
  kTime,      // the newest
  kDuration,  // those with the longest spans that match
  kCpu,       // those with most CPU time in their samples
  kSamples    // those with most observations, of the type their own page shows
};
struct TraceList {
  std::vector<TraceSummary> traces;
  // Not 0: more than this many match, and by their samples only so many, the newest, were compared.
  std::size_t looked_at = 0;
};

// All spans of a trace, the earliest first.
Result<std::vector<store::SpanRow>> Trace(QueryContext& context, std::uint32_t tenant,
                                          const profile::TraceId& trace, const CancelToken& cancel);
// The same as far as a waterfall needs it (store::Reader::TraceShape).
Result<std::vector<store::SpanRow>> TraceShape(QueryContext& context, std::uint32_t tenant,
                                               const profile::TraceId& trace,
                                               const CancelToken& cancel);

// Traces with a span that matches; `most_per_trace` of those spans come with each.
Result<TraceList> SearchTraces(QueryContext& context, const store::SpanSearch& search,
                               SearchOrder order, const CancelToken& cancel);
// The traces with a span that matches, that with the newest one first.
Result<std::vector<profile::TraceId>> FindTraces(QueryContext& context, const SpanSearch& search,
                                                 const CancelToken& cancel);
// The spans that match.
Result<std::vector<SpanRow>> SearchSpans(QueryContext& context, const SpanSearch& search,
                                         const CancelToken& cancel);
// Services and the names of their spans.
Result<std::vector<std::pair<std::string, std::string>>> SpanNames(QueryContext& context,
                                                                   std::uint32_t tenant,
                                                                   store::TimeRange range,
                                                                   const CancelToken& cancel);

// Fills in what is stored of these traces' spans.
Result<> Summarise(QueryContext& context, std::uint32_t tenant,
                   const std::vector<TraceSummary*>& traces, const CancelToken& cancel);

inline constexpr std::size_t kMaxSubtreeSpans = 10'000;
// Adds to `spans` every span of `trace` that lies below one of them. Parents may go in a circle or
// be missing. kLimit when they are too many.
[[nodiscard]] Result<> AddDescendants(const std::vector<store::SpanRow>& trace,
                                      std::vector<profile::SpanId>& spans);

}  // namespace wherefore::query
