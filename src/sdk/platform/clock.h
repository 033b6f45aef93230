// Clocks, in nanoseconds. Any thread; ordinary context.
#pragma once

#include <cstdint>
#include <ctime>

namespace wherefore::sdk {

inline std::int64_t ClockNow(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return (now.tv_sec * 1'000'000'000LL) + now.tv_nsec;
}
inline std::int64_t MonotonicNow() {
  return ClockNow(CLOCK_MONOTONIC);
}
inline std::uint64_t WallClockNow() {
  return static_cast<std::uint64_t>(ClockNow(CLOCK_REALTIME));
}

}  // namespace wherefore::sdk
