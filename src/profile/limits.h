// How much one request may ask for: a few bytes from a sender must not cost everybody else seconds
// or gigabytes. A sender that exceeds a limit is told which one and where, and the rest of its
// request is kept. docs/api.md, "Limits", lists them for users.
#pragma once

#include <algorithm>
#include <cstddef>

namespace wherefore::profile {

inline constexpr std::size_t kMaxStackFrames = 16'384;
inline constexpr std::size_t kMaxSampleLabels = 128;
inline constexpr std::size_t kMaxProfileLabels = 512;     // resource, scope and profile together
inline constexpr std::size_t kMaxLabelBytes = 1u << 20;   // of one profile's or sample's labels
inline constexpr std::size_t kMaxTypeBytes = 4096;        // names of a profile's type and units
inline constexpr std::size_t kMaxBuckets = 60;            // days, or months of old data
inline constexpr std::size_t kMaxServiceBuckets = 2'000;  // (service, day) pairs

// The most a request of this size may become in the store: references can multiply its size.
[[nodiscard]] constexpr std::size_t MaxRowBytes(std::size_t bytes) {
  constexpr std::size_t kAlwaysAllowed = 8u << 20;
  constexpr std::size_t kAbsoluteMax = 256u << 20;
  return std::min(kAlwaysAllowed + 4 * bytes, kAbsoluteMax);
}

}  // namespace wherefore::profile
