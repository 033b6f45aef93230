// LinkFilter: the `conditional:` block. Which requests' samples keep their link to the trace.
//
// A request is what the tracer saw begin and end in this process: the first span of a trace here.
// It qualifies when it was slow, busy or failed, as the options say. Samples of a request that did
// not are still counted, only their link goes. Requests that have not ended yet, and traces the
// tracer knows nothing of (opentelemetry-cpp's), keep theirs.
//
// Any thread, not in signal handlers. Remembers the last kRemembered requests that did not qualify.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"

namespace wherefore::sdk {

class LinkFilter {
 public:
  static constexpr std::size_t kRemembered = 1 << 16;
  using TraceId = std::array<std::uint8_t, 16>;

  void Refuse(const TraceId& trace) {
    const MutexLock lock(mutex_);
    if (!refused_.insert(trace).second) return;
    if (order_.size() < kRemembered) {
      order_.push_back(trace);
      return;
    }
    refused_.erase(order_[next_]);
    order_[next_] = trace;
    next_ = (next_ + 1) % kRemembered;
  }
  // A later request of the same trace did qualify.
  void Keep(const TraceId& trace) {
    const MutexLock lock(mutex_);
    refused_.erase(trace);
  }
  [[nodiscard]] bool Keeps(const TraceId& trace) const {
    const MutexLock lock(mutex_);
    return !refused_.contains(trace);
  }

 private:
  struct Hash {
    std::size_t operator()(const TraceId& trace) const {
      std::uint64_t words[2];
      std::memcpy(words, trace.data(), sizeof(words));
      return words[0] * 0x9e3779b97f4a7c15 ^ words[1];
    }
  };
  mutable Mutex mutex_;
  std::unordered_set<TraceId, Hash> refused_ GUARDED_BY(mutex_);
  std::vector<TraceId> order_ GUARDED_BY(mutex_);
  std::size_t next_ GUARDED_BY(mutex_) = 0;
};

}  // namespace wherefore::sdk
