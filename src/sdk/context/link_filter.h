// LinkFilter: the `conditional:` block. Which requests' samples keep their link to the trace.
//
// The rule is the gateway's. A request is a span without a parent, with a parent in another
// process, or of kind server or consumer (Tracer::Begin). It qualifies when it was slow, failed or
// busy, as the options say; busy is the CPU time of all samples of its trace here, compared with
// how long it took. A trace may have several requests, at once or one after the other, and a sample
// says which trace it is of, not which request: one that qualified keeps the links of all. Samples
// of a trace none of whose requests did are still counted, only their link goes. Requests that have
// not ended yet, and traces the tracer knows nothing of (opentelemetry-cpp's), keep theirs.
//
// Any thread, not in signal handlers. Remembers the last kRemembered traces that were judged.
#pragma once

#include <algorithm>
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
    ++running_[trace].requests;
  }
  // `qualifies`: it was slow or failed.
  void End(const TraceId& trace, bool qualifies, std::int64_t took_ns = INT64_MAX) {
    const MutexLock lock(mutex_);
    const auto [judged, added] = judged_.try_emplace(trace);
    const auto running = running_.find(trace);
    if (added && running != running_.end()) judged->second.cpu_ns = running->second.cpu_ns;
    judged->second.qualified |= qualifies;
    judged->second.shortest_ns = std::min(judged->second.shortest_ns, took_ns);
    if (running != running_.end() && --running->second.requests == 0) running_.erase(running);
    if (added) Remember(trace);
  }
  // CPU time of samples of that trace. Count each sample once, before its trace is asked for.
  void AddCpu(const TraceId& trace, std::int64_t cpu_ns) {
    const MutexLock lock(mutex_);
    if (const auto it = running_.find(trace); it != running_.end()) it->second.cpu_ns += cpu_ns;
    if (const auto it = judged_.find(trace); it != judged_.end()) it->second.cpu_ns += cpu_ns;
  }
  // `busy`: the share of one CPU from which on a request qualifies; 0: none does by that.
  [[nodiscard]] bool Keeps(const TraceId& trace, double busy = 0) const {
    const MutexLock lock(mutex_);
    const auto found = judged_.find(trace);
    if (found == judged_.end() || running_.contains(trace)) return true;
    const Judged& judged = found->second;
    return judged.qualified || (busy > 0 && static_cast<double>(judged.cpu_ns) >=
                                                busy * static_cast<double>(judged.shortest_ns));
  }

 private:
  struct Hash {
    std::size_t operator()(const TraceId& trace) const {
      std::uint64_t words[2];
      std::memcpy(words, trace.data(), sizeof(words));
      return words[0] * 0x9e3779b97f4a7c15 ^ words[1];
    }
  };
  struct Running {
    std::uint32_t requests = 0;
    std::int64_t cpu_ns = 0;  // of the trace, since the first of these began
  };
  struct Judged {
    bool qualified = false;                // one of its requests did
    std::int64_t shortest_ns = INT64_MAX;  // of those that ended
    std::int64_t cpu_ns = 0;               // of the trace
  };
  // A trace that is new to judged_: the oldest makes room for it.
  void Remember(const TraceId& trace) REQUIRES(mutex_) {
    if (order_.size() < kRemembered) {
      order_.push_back(trace);
      return;
    }
    judged_.erase(order_[next_]);
    order_[next_] = trace;
    next_ = (next_ + 1) % kRemembered;
  }

  mutable Mutex mutex_;
  std::unordered_map<TraceId, Running, Hash> running_ GUARDED_BY(mutex_);
  std::unordered_map<TraceId, Judged, Hash> judged_ GUARDED_BY(mutex_);
  std::vector<TraceId> order_ GUARDED_BY(mutex_);  // the keys of judged_, each once
  std::size_t next_ GUARDED_BY(mutex_) = 0;
};

}  // namespace wherefore::sdk
