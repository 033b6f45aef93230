// LinkFilter: the `conditional:` block. Which requests' samples keep their link to the trace.
//
// A request is what the tracer saw begin and end in this process: the first span of a trace here.
// It qualifies when it was slow, busy or failed, as the options say. A trace may come in several
// times, at once or one after the other, and a sample says which trace it is of, not which request:
// one that qualified keeps the links of all. Samples of a trace none of whose requests did are
// still counted, only their link goes. Requests that have not ended yet, and traces the tracer
// knows nothing of (opentelemetry-cpp's), keep theirs.
//
// Any thread, not in signal handlers. Remembers the last kRemembered traces that were judged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"

namespace wherefore::sdk {

class LinkFilter {
 public:
  static constexpr std::size_t kRemembered = 1 << 16;
  using TraceId = std::array<std::uint8_t, 16>;

  void Begin(const TraceId& trace) {
    const MutexLock lock(mutex_);
    ++running_[trace];
  }
  void End(const TraceId& trace, bool qualifies) {
    const MutexLock lock(mutex_);
    if (const auto it = running_.find(trace); it != running_.end() && --it->second == 0)
      running_.erase(it);
    const auto [judged, added] = qualified_.try_emplace(trace, qualifies);
    judged->second |= qualifies;
    if (added) Remember(trace);
  }
  [[nodiscard]] bool Keeps(const TraceId& trace) const {
    const MutexLock lock(mutex_);
    const auto judged = qualified_.find(trace);
    return judged == qualified_.end() || judged->second || running_.contains(trace);
  }

 private:
  struct Hash {
    std::size_t operator()(const TraceId& trace) const {
      std::uint64_t words[2];
      std::memcpy(words, trace.data(), sizeof(words));
      return words[0] * 0x9e3779b97f4a7c15 ^ words[1];
    }
  };
  // A trace that is new to qualified_: the oldest makes room for it.
  void Remember(const TraceId& trace) REQUIRES(mutex_) {
    if (order_.size() < kRemembered) {
      order_.push_back(trace);
      return;
    }
    qualified_.erase(order_[next_]);
    order_[next_] = trace;
    next_ = (next_ + 1) % kRemembered;
  }

  mutable Mutex mutex_;
  std::unordered_map<TraceId, std::uint32_t, Hash> running_ GUARDED_BY(mutex_);  // requests of it
  std::unordered_map<TraceId, bool, Hash> qualified_ GUARDED_BY(mutex_);
  std::vector<TraceId> order_ GUARDED_BY(mutex_);  // the keys of qualified_, each once
  std::size_t next_ GUARDED_BY(mutex_) = 0;
};

}  // namespace wherefore::sdk
