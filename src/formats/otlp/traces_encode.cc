// SpanBatch -> OTLP traces, binary.
#include <array>
#include <span>
#include <string_view>

#include "formats/formats.h"
#include "formats/otlp/common.h"
#include "formats/otlp/fields.h"
#include "formats/otlp/groups.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace {

using profile::Attribute;

void AddCount(PbfWriter& w, Tag tag, std::uint32_t count) {
  if (count != 0) w.add_uint32(tag, count);
}
template <std::size_t N>
void AddId(PbfWriter& w, Tag tag, const std::array<std::uint8_t, N>& id) {
  if (id == std::array<std::uint8_t, N>{}) return;
  w.add_bytes(tag, reinterpret_cast<const char*>(id.data()), N);
}
void AddAttributes(PbfWriter& w, Tag tag, const profile::TextPool& pool, profile::Range range) {
  for (const Attribute& a : pool.OwnAttributes(range)) {
    PbfWriter kv(w, tag);
    WriteKeyValue(kv, pool, a);
  }
}

void WriteEvent(PbfWriter& w, const profile::SpanBatch& b, const profile::SpanEvent& e) {
  if (e.time_ns != 0) w.add_fixed64(span_event::kTime, e.time_ns);
  AddText(w, span_event::kName, b.Text(e.name));
  AddAttributes(w, span_event::kAttributes, b, e.attributes);
  AddCount(w, span_event::kDropped, e.dropped_attributes);
}

void WriteLink(PbfWriter& w, const profile::SpanBatch& b, const profile::SpanLink& l) {
  AddId(w, span_link::kTraceId, l.trace);
  AddId(w, span_link::kSpanId, l.span);
  AddText(w, span_link::kTraceState, b.Text(l.trace_state));
  AddAttributes(w, span_link::kAttributes, b, l.attributes);
  AddCount(w, span_link::kDropped, l.dropped_attributes);
  if (l.flags != 0) w.add_fixed32(span_link::kFlags, l.flags);
}

void WriteSpan(PbfWriter& w, const profile::SpanBatch& b, const profile::Span& s) {
  AddId(w, span::kTraceId, s.trace);
  AddId(w, span::kSpanId, s.id);
  AddText(w, span::kTraceState, b.Text(s.trace_state));
  AddId(w, span::kParent, s.parent);
  AddText(w, span::kName, b.Text(s.name));
  AddCount(w, span::kKind, s.kind);
  if (s.start_ns != 0) w.add_fixed64(span::kStart, s.start_ns);
  if (s.end_ns != 0) w.add_fixed64(span::kEnd, s.end_ns);
  AddAttributes(w, span::kAttributes, b, s.attributes);
  AddCount(w, span::kDroppedAttributes, s.dropped_attributes);
  for (const auto& e : std::span(b.events).subspan(s.events.begin, s.events.count)) {
    PbfWriter m(w, span::kEvents);
    WriteEvent(m, b, e);
  }
  AddCount(w, span::kDroppedEvents, s.dropped_events);
  for (const auto& l : std::span(b.links).subspan(s.links.begin, s.links.count)) {
    PbfWriter m(w, span::kLinks);
    WriteLink(m, b, l);
  }
  AddCount(w, span::kDroppedLinks, s.dropped_links);
  if (s.status_code != 0 || s.status_message != 0) {
    PbfWriter m(w, span::kStatus);
    AddText(m, span_status::kMessage, b.Text(s.status_message));
    AddCount(m, span_status::kCode, s.status_code);
  }
  if (s.flags != 0) w.add_fixed32(span::kFlags, s.flags);
}

}  // namespace

std::string EncodeOtlpTraces(const profile::SpanBatch& batch) {
  std::string out;
  PbfWriter root(out);
  WriteEnvelope(root, batch, batch.spans,
                [&](PbfWriter& w, const profile::Span& span) { WriteSpan(w, batch, span); });
  return out;
}

}  // namespace wherefore::formats
