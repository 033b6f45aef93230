// What a stored span carries beside its columns, as one opaque string (`spans.encoded`): typed
// attributes of span, scope and resource, events, links, state and counters. Written by the
// encoder, read by whoever exports or shows a span.
//
// Layout (docs/format.md, "Span extras"): varints and varint-prefixed bytes throughout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/span_batch.h"

namespace wherefore::store {

struct SpanExtras {
  struct Event {
    std::uint64_t time_ns = 0;
    std::string_view name;
    std::uint64_t dropped_attributes = 0;
    std::string_view attributes;  // typed
  };
  struct Link {
    profile::TraceId trace{};
    profile::SpanId span{};
    std::string_view trace_state;
    std::uint64_t flags = 0;
    std::uint64_t dropped_attributes = 0;
    std::string_view attributes;  // typed
  };
  std::string_view attributes;  // typed: places kSpan, kScope*, kResource, kEntityRefs
  std::string_view trace_state;
  std::uint64_t flags = 0;
  std::uint64_t dropped_attributes = 0;
  std::uint64_t dropped_events = 0;
  std::uint64_t dropped_links = 0;
  std::vector<Event> events;
  std::vector<Link> links;
};

// What all spans of one resource and scope share: written once, and part of each.
[[nodiscard]] std::string EncodeSpanOwner(const profile::SpanBatch& batch, profile::Id resource,
                                          profile::Id scope);
[[nodiscard]] std::string EncodeSpanExtras(const profile::SpanBatch& batch,
                                           const profile::Span& span, std::string_view owner);
// Views into `encoded`.
[[nodiscard]] Result<SpanExtras> ReadSpanExtras(std::string_view encoded);

}  // namespace wherefore::store
