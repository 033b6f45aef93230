// N+1: spans that make the same call again and again, one after the other.
//
// Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "query/statistics.h"
#include "query/stored_types.h"

namespace wherefore::insight {

inline constexpr std::size_t kManyChildren = 10;  // of one name, in turn

struct RepeatedCall {
  std::string service;  // of the span that makes the calls
  std::string name;
  std::string callee_service;
  std::string callee;
  query::Estimate share;  // of the span's time
  double value_ns = 0;    // in those calls
  std::size_t spans = 0;  // that make them
};

// Of each trace the spans of `service`; most time first.
[[nodiscard]] std::vector<RepeatedCall> FindRepeatedCalls(
    std::span<const std::vector<query::SpanRow>> traces, const std::string& service);

}  // namespace wherefore::insight
