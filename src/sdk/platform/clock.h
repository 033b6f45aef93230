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

// The kernel's number for the CPU clock of one thread (include/linux/posix-timers.h: per thread,
// scheduler's count).
inline clockid_t ThreadCpuClock(std::uint32_t tid) {
  return static_cast<clockid_t>((~tid << 3) | 6);
}

}  // namespace wherefore::sdk
