// What was observed of the spans of some traces: which time is whose, and the samples of each part.
//
// A profiler that links every span gives figures of single spans. One that files all samples of a
// request under its local root (Go, Python, Java) gives figures of the request in that service: the
// local root and what lies below it there are one *unit*, and its spans share one account.
//
// A few statements for all traces together, however many spans they have. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/accounting.h"
#include "query/context.h"
#include "query/critical_path.h"

namespace wherefore::query {

// What is known of a service's profiler around the time of the traces.
struct ServiceFacts {
  std::string service;
  std::size_t profiles = 0;          // of any type
  std::size_t links = 0;             // samples that belong to spans of these traces
  std::int64_t newest_ns = 0;        // when its last profile ended
  std::int64_t cpu_distance_ns = 0;  // CPU time between two samples; 0: not measured
  double look_ns = 0;                // what a look at a waiting thread stands for; 0: not measured
  bool ours = false;                 // libwherefore
  bool measures_locks = false;       // by waiters
  bool root_only = false;            // files whole requests under their local root
  bool reduced = false;              // links were thinned: those of slow requests are left
};

struct SpanObservations {
  std::vector<store::SpanRow> spans;   // by trace and start; clocks are corrected
  std::vector<std::uint32_t> parent;   // of each; kNoSpan: none, or not stored
  std::vector<std::uint32_t> unit;     // of each: the span whose account it shares; mostly itself
  std::vector<SpanFigures> figures;    // of each; of units only
  std::vector<std::uint32_t> service;  // of each: into `services`
  std::vector<std::int64_t> made_others_wait_ns;  // of each: by locks that it held
  std::vector<ServiceFacts> services;

  // Time of a unit in which a child of it ran; of children that run at once it is that of the one
  // that began first.
  struct ChildTime {
    std::uint32_t unit = 0;
    std::uint32_t child = 0;  // a span
    std::int64_t time_ns = 0;
  };
  std::vector<ChildTime> children;  // by unit; together figures' children_ns

  struct Sample {
    std::uint32_t unit = 0;
    Part part = Part::kOther;
    bool lock_look = false;  // counts as kOther only if the account says so
    store::DictionaryKey dictionary;
    std::uint32_t stack = 0;
    std::int64_t value = 0;
    std::int64_t count = 0;
  };
  std::vector<Sample> samples;  // of the parts that figures have; by unit
};

Result<SpanObservations> ObserveSpans(QueryContext& context, std::uint32_t tenant,
                                      const std::vector<profile::TraceId>& traces,
                                      const CancelToken& cancel);

// Why part of a span was not observed: a sentence without its full stop; empty: all of it was.
[[nodiscard]] std::string WhyUnobserved(const Account& account, const ServiceFacts& facts,
                                        std::int64_t span_end_ns, std::int64_t now_ns);

}  // namespace wherefore::query
