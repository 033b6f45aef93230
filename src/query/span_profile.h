// The profile of some spans, or of a whole trace. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/context.h"
#include "query/looks.h"

namespace wherefore::query {

// The profile of spans.
struct SpanProfileAnswer {
  profile::FlameTree tree;
  std::map<std::string, std::int64_t> by_span;  // hex span id -> value
  // The same of what is seen by looks (looks.h), with how far off it may be; else empty.
  std::map<std::string, Looks> looks;
  // Some profilers file all samples of a request under its local root span. Then this is that
  // span's id in hex, and the tree has those of its samples that were taken while the spans asked
  // for ran, as far as their sender gave times. Only with samples: what is not shown is explained
  // by the hint alone.
  std::string filed_under;
  std::vector<std::string> types;  // that these samples have
  bool arriving = false;           // nothing yet, but there may be in some seconds
  std::string hint;                // why there is nothing to show; empty when there is
};

// Samples linked to a trace (spans empty) or to some of its spans.
Result<SpanProfileAnswer> SpanProfile(QueryContext& context, std::uint32_t tenant,
                                      const profile::TraceId& trace,
                                      const std::vector<profile::SpanId>& spans,
                                      const std::string& type, const CancelToken& cancel);

// Brings samples that are looks down to what is shown of each span (looks.h), and says what that
// is; others stay. They are of this trace; all zero: of those that they say themselves.
Result<std::map<SpanKey, Looks>> ClipLooks(QueryContext& context, std::uint32_t tenant,
                                           const profile::TraceId& trace,
                                           const std::unordered_map<std::uint64_t, TypeUse>& uses,
                                           std::vector<store::LinkRow>& links,
                                           const CancelToken& cancel);

}  // namespace wherefore::query
