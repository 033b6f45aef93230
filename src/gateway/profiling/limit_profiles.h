// `profiling.max_stack_depth` and `profiling.max_profile_size`, for senders that do not obey them.
// Pure functions; any thread.
//
// A stack that is too deep keeps the frames nearest to its leaf, below a root `[truncated]`, as
// libwherefore writes it. Of a profile that is too large the smallest stacks become `[other]`.
// Values and observations add up to what they were.
#pragma once

#include <cstdint>
#include <optional>

#include "profile/batch.h"

namespace wherefore::gateway {

struct ProfileLimits {
  std::optional<std::uint32_t> max_stack_depth;
  std::optional<std::int64_t> max_profile_bytes;  // as OTLP, with what it needs of the tables
};

struct LimitedCounts {
  std::size_t stacks = 0;    // cut
  std::size_t profiles = 0;  // of which stacks became [other]
  [[nodiscard]] bool changed() const { return stacks + profiles > 0; }
};

LimitedCounts LimitProfiles(profile::Batch& batch, const ProfileLimits& limits);

}  // namespace wherefore::gateway
