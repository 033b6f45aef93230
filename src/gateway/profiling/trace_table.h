// TraceTable: which traces have a request that qualifies for `profiling.conditional`: slow, failed,
// or busy on a CPU.
//
// A request is a span without parent, with a remote parent, or of kind server or consumer. One that
// qualifies makes its whole trace qualify, in every service, for good. CPU time is what samples
// linked to the trace add up to in that service, compared with its longest request there.
//
// Threads: any.
// Bounds:  100,000 traces and 400,000 spans, oldest out. What was forgotten is as if never seen.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "gateway/config/profiling_settings.h"
#include "profile/batch.h"
#include "profile/span_batch.h"

namespace wherefore::gateway {

class TraceTable {
 public:
  enum class Verdict : std::uint8_t {
    kNoRequest,  // none was seen: it still runs, or is not sent here
    kOrdinary,   // a request has ended, and none qualified
    kQualifies
  };
  // CPU time of samples linked to one trace in one service.
  struct LinkedCpu {
    profile::Link link;
    std::uint64_t service = 0;  // hash
    std::int64_t ns = 0;
  };

  explicit TraceTable(std::size_t most_traces = 100'000) : most_traces_(most_traces) {}

  // What qualifies from now on; none: nothing does.
  void SetRules(const std::optional<ProfilingConditional>& rules);
  void NoteSpans(std::uint32_t tenant, const profile::SpanBatch& batch);
  void NoteCpu(std::uint32_t tenant, const std::vector<LinkedCpu>& cpu);
  // By link of the batch; links without trace id go by their span.
  [[nodiscard]] std::vector<Verdict> Ask(std::uint32_t tenant, const profile::Batch& batch) const;

 private:
  using Key = std::array<std::uint8_t, 20>;  // tenant and trace id
  struct HashOfKey {
    std::size_t operator()(const Key& key) const {
      std::size_t low = 0;
      std::memcpy(&low, key.data() + key.size() - sizeof(low), sizeof(low));
      return low * 0x9e3779b97f4a7c15;  // ids may be counted up
    }
  };
  struct InService {
    std::uint64_t service = 0;
    std::int64_t longest_ns = 0;
    std::int64_t cpu_ns = 0;
  };
  struct Trace {
    bool request = false;
    bool qualifies = false;
    std::vector<InService> services;
  };

  static Key KeyOf(std::uint32_t tenant, const profile::TraceId& trace);
  static std::uint64_t SpanKey(std::uint32_t tenant, const profile::SpanId& span);
  Trace& TraceOf(const Key& key) REQUIRES(mutex_);
  void NoteSpan(std::uint32_t tenant, const profile::Span& span, std::uint64_t service)
      REQUIRES(mutex_);
  // Finds a link's trace; null if it is not known.
  [[nodiscard]] const Key* KeyOf(std::uint32_t tenant, const profile::Link& link, Key& room) const
      REQUIRES(mutex_);
  static InService& ServiceOf(Trace& trace, std::uint64_t service);
  void CompareCpu(Trace& trace, const InService& in) const REQUIRES(mutex_);

  const std::size_t most_traces_;
  mutable Mutex mutex_;
  std::optional<ProfilingConditional> rules_ GUARDED_BY(mutex_);
  std::unordered_map<Key, Trace, HashOfKey> traces_ GUARDED_BY(mutex_);
  std::deque<Key> by_age_ GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Key> trace_of_span_ GUARDED_BY(mutex_);
  std::deque<std::uint64_t> spans_by_age_ GUARDED_BY(mutex_);
};

// What the samples of a batch say, one entry per link and service.
[[nodiscard]] std::vector<TraceTable::LinkedCpu> LinkedCpuOf(const profile::Batch& batch);

}  // namespace wherefore::gateway
