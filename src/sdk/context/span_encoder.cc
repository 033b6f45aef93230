#include "sdk/context/span_encoder.h"

#include <bit>
#include <cstring>

#include "formats/formats.h"
#include "formats/wire/utf8.h"

namespace wherefore::sdk {
namespace {

using profile::Value;

// A text of the host, which may be anything.
profile::Id AddText(profile::SpanBatch& batch, std::string_view text) {
  return batch.AddText(formats::ReplaceBadUtf8(text));
}

Value ToValue(profile::SpanBatch& batch, const SpanValue& value) {
  if (const auto* const text = std::get_if<std::string>(&value))
    return {Value::Kind::kString, AddText(batch, *text), 0};
  if (const auto* const number = std::get_if<std::int64_t>(&value))
    return {Value::Kind::kInt, 0, *number};
  if (const auto* const real = std::get_if<double>(&value))
    return {Value::Kind::kDouble, 0, std::bit_cast<std::int64_t>(*real)};
  return {Value::Kind::kBool, 0, std::get<bool>(value) ? 1 : 0};
}

profile::Range AddAttributes(profile::SpanBatch& batch,
                             const std::vector<SpanAttribute>& attributes) {
  const auto begin = static_cast<std::uint32_t>(batch.own_attributes.size());
  for (const SpanAttribute& a : attributes) {
    const profile::Id key = AddText(batch, a.key);
    batch.own_attributes.push_back({key, 0, ToValue(batch, a.value)});
  }
  return {begin, static_cast<std::uint32_t>(attributes.size())};
}

// Of OTLP: the parent's place is known; it is another process.
std::uint32_t ParentFlags(ParentPlace place) {
  constexpr std::uint32_t kKnown = 0x100;
  constexpr std::uint32_t kRemote = 0x200;
  if (place == ParentPlace::kUnknown) return 0;
  return place == ParentPlace::kElsewhere ? kKnown | kRemote : kKnown;
}

void AddSpan(profile::SpanBatch& batch, const wherefore_span& from) {
  profile::Span span;
  span.resource = 1;
  span.scope = 1;
  std::memcpy(span.trace.data(), from.ids.trace_id, span.trace.size());
  std::memcpy(span.id.data(), from.ids.span_id, span.id.size());
  std::memcpy(span.parent.data(), from.parent, span.parent.size());
  span.name = AddText(batch, from.name);
  span.kind = static_cast<std::uint8_t>(from.kind);
  span.status_code = static_cast<std::uint8_t>(from.status);
  span.status_message = AddText(batch, from.status_message);
  span.flags = from.ids.flags | ParentFlags(from.parent_place);
  span.start_ns = from.start_ns;
  span.end_ns = from.end_ns;
  span.attributes = AddAttributes(batch, from.attributes);
  span.dropped_attributes = from.dropped_attributes;
  span.events = {static_cast<std::uint32_t>(batch.events.size()),
                 static_cast<std::uint32_t>(from.events.size())};
  for (const SpanEventRecord& e : from.events) {
    const profile::Id name = AddText(batch, e.name);
    batch.events.push_back({e.time_ns, name, AddAttributes(batch, e.attributes), 0});
  }
  span.dropped_events = from.dropped_events;
  batch.spans.push_back(span);
}

}  // namespace

std::string EncodeSpans(const std::vector<std::unique_ptr<wherefore_span>>& spans,
                        const ResourceAttributes& resource) {
  profile::SpanBatch batch;
  batch.resources.push_back(AddResource(batch, resource));
  profile::Scope scope;
  scope.name = batch.AddText("wherefore");
  scope.version = batch.AddText(LibraryVersion());
  batch.scopes.push_back(scope);
  for (const auto& span : spans) AddSpan(batch, *span);
  return formats::EncodeOtlpTraces(batch);
}

}  // namespace wherefore::sdk
