// What a list of services says about each of them: what all services use is one read, the rest
// is asked for those that are listed. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/context.h"
#include "query/labels.h"

namespace wherefore::query {

// Everything the list of services says about one, in one go.
struct ServiceOverview {
  ServiceInfo info;
  std::vector<std::int64_t> cpu;           // per step; empty: no CPU profiles
  std::vector<std::int64_t> cpu_profiles;  // the same: how many it is from
  double cores = 0;                        // CPU time over OverviewAnswer::observed_ns
  std::int64_t seen_ns = 0;                // in which a CPU profile of it was taken, gaps excluded
  std::vector<std::string> versions;       // service.version in the newest step that has any
  std::string earlier_version;             // what ran before it in the range, if it changed
  std::vector<profile::TopRow> top;        // into `functions`
  std::vector<profile::TopRow> own_top;    // the same of its own code (own_code.h); plain sums only
  std::vector<profile::FlameFunction> functions;
  std::string top_type;
  std::int64_t top_total = 0;
  std::optional<std::int64_t> heap_bytes;  // in use, newest
  std::optional<store::LatencyRow> latency;
  std::set<std::string> senders;    // what sends, as far as it says so
  std::set<std::string> instances;  // where it runs
  std::set<std::string> languages;  // it is written in, as far as senders say so
};
struct OverviewAnswer {
  // The part of the range in which a service could be seen: since anything was sent, and up to
  // what has arrived.
  store::TimeRange observed;
  // Of it, the time in which a CPU profile of any service was taken: gaps excluded.
  std::int64_t observed_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t step_ns = 0;
  std::vector<std::int64_t> step_observed_ns;  // the same of each step
  std::vector<ServiceOverview> services;       // those that use most CPU first
  std::size_t total = 0;                       // that match, listed or not
  double cores = 0;                            // of all that match
};

Result<OverviewAnswer> Overview(QueryContext& context, std::uint32_t tenant, store::TimeRange range,
                                const ListOf& wanted, const CancelToken& cancel);

// How long requests of one service took; none: it has none in the range.
Result<std::optional<store::LatencyRow>> LatencyOf(QueryContext& context, std::uint32_t tenant,
                                                   const std::string& service,
                                                   store::TimeRange range,
                                                   const CancelToken& cancel);

}  // namespace wherefore::query
