// The flame graph of critical paths: spans as frames, nested, and below each where its time on the
// path went, with the stacks. The root is the duration of the traces exactly. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "profile/flame_tree.h"
#include "query/context.h"

namespace wherefore::query {

// A frame that is a span; its module is the service.
inline constexpr auto kSpanFrame = static_cast<profile::FrameKind>(6);
// A frame that is a part of a span's time: "[on CPU]", "[network and queueing]".
inline constexpr auto kPartFrame = static_cast<profile::FrameKind>(7);

struct PathFlame {
  profile::FlameTree tree;
  std::size_t traces = 0;
};

// Traces add up. `service` and `name` not empty: each path is that of the longest such span.
Result<PathFlame> CriticalPathFlame(QueryContext& context, std::uint32_t tenant,
                                    const std::vector<profile::TraceId>& traces,
                                    const std::string& service, const std::string& name,
                                    const CancelToken& cancel);

}  // namespace wherefore::query
