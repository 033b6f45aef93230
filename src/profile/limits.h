// How much one request may ask for. What costs a sender a few bytes must not cost everybody else
// seconds or gigabytes; whoever goes over is told which limit and where, and the rest of the
// request is kept. Listed for people in docs/api.md, "Limits".
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
inline constexpr std::size_t kMaxServiceBuckets = 2'000;  // a service's day counts as one

// What a request of this size may become in the store: references make it many times larger.
[[nodiscard]] constexpr std::size_t MostRowBytes(std::size_t bytes) {
  constexpr std::size_t kAlwaysFine = 8u << 20;
  constexpr std::size_t kNever = 256u << 20;
  return std::min(kAlwaysFine + 4 * bytes, kNever);
}

}  // namespace wherefore::profile
