// Sink: where decoded data goes next. The gateway calls it; the store implements it.
//
// Write() may be called from any thread and returns immediately. `done` is called exactly once,
// from any thread, and with a value only if the data is durable. After an error nothing of the
// request was kept; kUnavailable and kLimit mean "send it again later".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/hash.h"
#include "profile/batch.h"
#include "profile/counters.h"
#include "profile/span_batch.h"

namespace wherefore::profile {

// What a sender is told. Full success: nothing rejected and no message.
struct WriteAnswer {
  std::uint64_t rejected = 0;  // profiles, or spans
  std::string message;         // why; without rejections, a warning
  // The request was stored before; `rejected` and `message` repeat the first answer.
  bool repeated = false;
};

struct WriteRequest {
  std::variant<Batch, SpanBatch> data;
  // Hash of tenant, signal and decompressed body. A repeat within ten minutes is answered, not
  // stored.
  Hash128 identity;
  std::uint32_t tenant = 0;
  std::string tenant_name;  // the name behind the number; empty if the request named no tenant
  std::uint64_t body_bytes = 0;
  std::int64_t arrival_ns = 0;  // used for profiles and spans without a time
  WriteAnswer decoded;          // what the decoder rejected; the sink adds its own rejections
  // Set if its profiles are cumulative: the sink stores the differences to the base of their
  // series, and moves the bases together with what it stores (counters.h).
  std::optional<FirstReading> counters;
  // The sender's own OTLP protobuf bytes, while `data` still says exactly what they say: exporters
  // pass them on. Whoever changes `data` resets it.
  std::shared_ptr<const std::string> otlp_bytes;

  // A copy for another end of a pipeline.
  [[nodiscard]] WriteRequest Clone() const;
};

inline WriteRequest WriteRequest::Clone() const {
  return {
      .data = std::visit(
          [](const auto& batch) -> std::variant<Batch, SpanBatch> { return batch.Clone(); }, data),
      .identity = identity,
      .tenant = tenant,
      .tenant_name = tenant_name,
      .body_bytes = body_bytes,
      .arrival_ns = arrival_ns,
      .decoded = decoded,
      .counters = counters,
      .otlp_bytes = otlp_bytes};
}

class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  virtual void Write(WriteRequest request, std::function<void(Result<WriteAnswer>)> done) = 0;
};

}  // namespace wherefore::profile
