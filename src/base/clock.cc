#include "base/clock.h"

#include <time.h>

namespace wherefore {
namespace {

std::int64_t Read(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return ts.tv_sec * kNsPerSecond + ts.tv_nsec;
}

}  // namespace

std::int64_t NowUnixNs() {
  return Read(CLOCK_REALTIME);
}
std::int64_t MonotonicNs() {
  return Read(CLOCK_MONOTONIC);
}
std::int64_t ProcessCpuNs() {
  return Read(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace wherefore
