// CPU time of the profiler's own threads, in nanoseconds. Plain values.
#pragma once

#include <cstdint>

namespace wherefore::sdk {

struct OwnCpu {
  std::int64_t collector = 0;
  std::int64_t wall = 0;
  std::int64_t exporter = 0;
};

}  // namespace wherefore::sdk
