// The figures of the process that spans may carry. Plain values.
#pragma once

#include <cstdint>
#include <optional>

namespace wherefore::sdk {

// A figure that is not known is empty.
struct RuntimeStatistics {
  struct Heap {
    std::int64_t bytes = 0;
    std::int64_t objects = 0;
  };
  std::optional<Heap> heap;             // in use, estimated; only while the heap is sampled
  std::optional<std::int64_t> threads;  // the host's, not ours
};

}  // namespace wherefore::sdk
