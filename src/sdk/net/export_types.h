// What Exporter and the worker behind it have in common. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/formats.h"

namespace wherefore::sdk {

inline constexpr std::size_t kMaxQueuedBytes = 16 << 20;

using formats::Signal;
inline constexpr std::size_t kSignalCount = 2;

struct ExporterStatistics {
  std::uint64_t sent = 0;        // requests that arrived (or were written)
  std::uint64_t sent_bytes = 0;  // as they went out
  std::uint64_t retries = 0;
  std::uint64_t rejected = 0;  // final answers other than success
  std::uint64_t dropped = 0;   // for want of memory or time
};

}  // namespace wherefore::sdk
