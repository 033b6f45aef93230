// The two clocks: wall time for data, monotonic time for durations. Any thread.
#pragma once

#include <cstdint>

namespace wherefore {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;
inline constexpr std::int64_t kNsPerDay = 86'400 * kNsPerSecond;

[[nodiscard]] std::int64_t NowUnixNs();
[[nodiscard]] std::int64_t MonotonicNs();
// CPU time this process has used so far, user and system.
[[nodiscard]] std::int64_t ProcessCpuNs();

}  // namespace wherefore
