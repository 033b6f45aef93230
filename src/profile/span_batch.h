// SpanBatch: the spans of one trace request. Same rules as Batch (batch.h).
#pragma once

#include <vector>

#include "profile/batch.h"

namespace wherefore::profile {

struct SpanEvent {
  std::uint64_t time_ns = 0;
  Id name = 0;
  Range attributes;  // into own_attributes
  std::uint32_t dropped_attributes = 0;
};

struct SpanLink {
  TraceId trace{};
  SpanId span{};
  Id trace_state = 0;
  Range attributes;
  std::uint32_t dropped_attributes = 0;
  std::uint32_t flags = 0;
};

struct Span {
  Id resource = 0;
  Id scope = 0;
  TraceId trace{};
  SpanId id{};
  SpanId parent{};  // all zero: root
  Id trace_state = 0;
  Id name = 0;
  std::uint8_t kind = 0;  // OTLP numbers: 1 internal, 2 server, 3 client, 4 producer, 5 consumer
  std::uint8_t status_code = 0;  // 0 unset, 1 ok, 2 error
  Id status_message = 0;
  std::uint32_t flags = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  Range attributes;  // into own_attributes
  std::uint32_t dropped_attributes = 0;
  Range events;  // into SpanBatch::events
  std::uint32_t dropped_events = 0;
  Range links;  // into SpanBatch::links
  std::uint32_t dropped_links = 0;
};

class SpanBatch : public TextPool {
 public:
  SpanBatch() : resources(1), scopes(1) {}
  SpanBatch(SpanBatch&&) = default;  // NOLINT(performance-noexcept-move-constructor): as std::deque
  SpanBatch& operator=(SpanBatch&&) = default;  // NOLINT(performance-noexcept-move-constructor)
  SpanBatch& operator=(const SpanBatch&) = delete;
  ~SpanBatch() = default;
  // A copy that another thread may have.
  [[nodiscard]] SpanBatch Clone() const { return *this; }

  std::vector<Resource> resources;
  std::vector<Scope> scopes;
  std::vector<Span> spans;
  std::vector<SpanEvent> events;
  std::vector<SpanLink> links;

  [[nodiscard]] Result<> Validate() const;
  [[nodiscard]] std::size_t ApproximateBytes() const;

 private:
  SpanBatch(const SpanBatch&) = default;
};

}  // namespace wherefore::profile
