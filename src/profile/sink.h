// Sink: where decoded data goes next. The gateway calls it, the store (and later exporters)
// implement it.
//
// Contract: Write() may be called from any thread and returns at once. `done` is called exactly
// once, from any thread, and with a value only when the data is durable. After an error nothing of
// the request was kept; kUnavailable and kLimit mean "send it again later".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "base/hash.h"
#include "profile/batch.h"
#include "profile/counters.h"
#include "profile/span_batch.h"

namespace wherefore::profile {

// What a sender is told: nothing rejected and no message is a full success.
struct WriteAnswer {
  std::uint64_t rejected = 0;  // profiles, or spans
  std::string message;         // why; also a warning when nothing was rejected
  bool repeated =
      false;  // this request had been stored before; `rejected` and `message` are the first answer
};

struct WriteRequest {
  std::variant<Batch, SpanBatch> data;
  // Tenant, signal and decompressed body; a repeat within ten minutes is answered, not stored.
  Hash128 identity;
  std::uint32_t tenant = 0;
  std::string tenant_name;  // that the number was made of; empty where nobody named one
  std::uint64_t body_bytes = 0;
  std::int64_t arrival_ns = 0;  // stands in for profiles and spans without a time
  WriteAnswer decoded;          // what the decoder already rejected; the sink adds its own
  // Its counters count since their process began: the sink stores the differences to the last ones
  // of their series, and moves those on together with what it stores.
  std::optional<FirstReading> counters;
};

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual void Write(WriteRequest request, std::function<void(Result<WriteAnswer>)> done) = 0;
};

}  // namespace wherefore::profile
