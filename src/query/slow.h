// Slow versus typical: what slow requests of an endpoint do that typical ones do not.
//
// Requests are spans of one service and name, or all requests of a service. The slow ones are those
// from a quantile of their durations on, the typical ones lie between two others; or a box of time
// and duration is compared with all others. The difference of the mean durations is
// split, exactly, into the parts of the accounting and the children by name; below the parts are
// the functions. Each has an interval and a false discovery rate (cohorts.h).
//
// A few statements, however many requests. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/accounting.h"
#include "query/cohorts.h"
#include "query/context.h"

namespace wherefore::query {

struct SlowOptions {
  double slow_from = 0.95;  // quantiles of the durations
  double typical_from = 0.4;
  double typical_to = 0.6;
  // Instead of quantiles: the requests that began in this time and took that long, against all
  // others. Both ends are in the durations.
  struct Box {
    store::TimeRange range;
    std::int64_t least_ns = 0;
    std::int64_t most_ns = INT64_MAX;
    [[nodiscard]] bool Has(const store::SpanTime& span) const {
      return span.start_ns >= range.from_ns && span.start_ns < range.to_ns &&
             span.duration_ns >= least_ns && span.duration_ns <= most_ns;
    }
  };
  std::optional<Box> box;
};

inline constexpr std::size_t kFewestSlow = 20;
inline constexpr std::size_t kFewestTypical = 50;
// Of more requests than this the newest are looked at; of a box, and of the others, each.
inline constexpr std::size_t kMostCompared = 10'000;

struct SlowRow {
  Part part = Part::kOther;
  std::string service;  // of a child; empty: the row is the part itself, or a function of it
  std::string name;
  profile::FlameFunction function;  // name empty: none
  CohortTest test;                  // nanoseconds per request
  std::int64_t change_ns = 0;       // of parts and children: they add up
};
struct SlowAttribute {
  std::string name;
  std::string value;
  CohortTest test;  // shares of the requests that have it
};

struct SlowAnswer {
  std::size_t requests = 0;
  bool more = false;  // there are more, older ones
  std::size_t slow = 0;
  std::size_t typical = 0;
  std::int64_t slow_from_ns = 0;
  std::int64_t typical_from_ns = 0;
  std::int64_t typical_to_ns = 0;
  std::int64_t median_ns = 0;
  double mean_slow_ns = 0;
  double mean_typical_ns = 0;
  std::int64_t gap_ns = 0;
  std::string filed_under;  // name of the local root, if it is the whole request that is compared

  // What explains the gap, largest first: a function, a child, or a part of which no more is known.
  std::vector<SlowRow> causes;
  std::vector<SlowRow> parts;      // all of them; change_ns adds up to gap_ns
  std::vector<SlowRow> children;   // change_ns adds up to that of the part
  std::vector<SlowRow> functions;  // largest first; totals within their part
  std::vector<SlowAttribute> attributes;
  std::vector<profile::TraceId> slow_traces;  // some of each side
  std::vector<profile::TraceId> typical_traces;
  std::string note;  // why there is nothing, or what to bear in mind
};

Result<SlowAnswer> SlowVersusTypical(QueryContext& context, const store::SpanSearch& search,
                                     const SlowOptions& options, const CancelToken& cancel);

// "p95" -> 0.95, "p40-p60" -> 0.4 and 0.6.
[[nodiscard]] Result<double> ParseQuantile(std::string_view text);
[[nodiscard]] Result<std::pair<double, double>> ParseQuantiles(std::string_view text);

}  // namespace wherefore::query
