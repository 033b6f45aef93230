// What a comparison costs per request, so that load and mix of endpoints do not count as change.
//
// A request is a span that others, or nobody, called from outside; its endpoint is its name. Where
// samples are linked to spans, each endpoint is measured per request of its own and all are added
// up by the mix of both sides together; samples in no request count per second. Elsewhere
// everything counts per request of the service.
//
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "query/context.h"
#include "query/sample_groups.h"
#include "query/scan.h"

namespace wherefore::query {

// A group of samples with what its values are measured against.
struct MeasuredGroup {
  ValuesBySelection values;
  double unit = 1;  // of one in `values`
  double exposure = 0;
};

// How long requests took.
struct RequestTimes {
  std::int64_t median_ns = 0;
  std::int64_t p99_ns = 0;
};

// An endpoint's part of all requests.
struct MixOfEndpoint {
  std::string name;
  double before = 0;
  double after = 0;
};

struct PerRequest {
  bool by_endpoint = false;
  std::size_t endpoints = 0;
  std::int64_t requests_before = 0;
  std::int64_t requests_after = 0;
  RequestTimes times_before;
  RequestTimes times_after;
  double mix_moved = 0;            // the part of requests that changed its endpoint
  std::vector<MixOfEndpoint> mix;  // the endpoints that changed most; at most 3
  std::vector<MeasuredGroup> before;
  std::vector<MeasuredGroup> after;
};

// More requests on a side than this: one trace in so many is looked at.
inline constexpr std::int64_t kMostRequests = 200'000;

// kUnsupported where a side has no requests, with a sentence that says why.
Result<PerRequest> MeasurePerRequest(QueryContext& context, const Selection& before,
                                     const Selection& after, const GroupedSides& sides,
                                     const CancelToken& cancel);

}  // namespace wherefore::query
