// See span_extras.h.
#include "store/write/span_extras.h"

#include <cstring>

#include "profile/typed_attributes.h"
#include "store/write/rows.h"

namespace wherefore::store {

using profile::AttributePlace;
using profile::SpanBatch;

namespace {

void AppendText(std::string& out, std::string_view text) {
  AppendVarint(out, text.size());
  out += text;
}

std::string Typed(const SpanBatch& batch, profile::Range range, AttributePlace place) {
  std::string out;
  for (const auto& attribute : batch.OwnAttributes(range)) {
    profile::AppendTyped(out, place, batch, attribute);
  }
  return out;
}

void AppendNamed(std::string& out, AttributePlace place, std::string_view text) {
  if (text.empty()) return;
  profile::AppendTyped(out, {.place = place, .kind = profile::Value::Kind::kString, .text = text});
}

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  bool Number(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes_[0]);
      bytes_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }
  bool Text(std::string_view& text) {
    std::uint64_t size = 0;
    return Number(size) && Raw(size, text);
  }
  bool Raw(std::uint64_t size, std::string_view& text) {
    if (size > bytes_.size()) return false;
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }
  template <std::size_t N>
  bool Id(std::array<std::uint8_t, N>& id) {
    std::string_view raw;
    if (!Raw(N, raw)) return false;
    raw.copy(reinterpret_cast<char*>(id.data()), N);
    return true;
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string EncodeSpanOwner(const SpanBatch& batch, profile::Id resource_id, profile::Id scope_id) {
  const profile::Resource& resource = batch.resources[resource_id];
  const profile::Scope& scope = batch.scopes[scope_id];
  std::string out;
  AppendNamed(out, AttributePlace::kScopeName, batch.Text(scope.name));
  AppendNamed(out, AttributePlace::kScopeVersion, batch.Text(scope.version));
  out += Typed(batch, scope.attributes, AttributePlace::kScope);
  out += Typed(batch, resource.attributes, AttributePlace::kResource);
  AppendNamed(out, AttributePlace::kEntityRefs, batch.Text(resource.entity_refs));
  return out;
}

std::string EncodeSpanExtras(const SpanBatch& batch, const profile::Span& span,
                             std::string_view owner) {
  const std::string attributes = Typed(batch, span.attributes, AttributePlace::kSpan);
  std::string out;
  AppendVarint(out, attributes.size() + owner.size());
  out += attributes;
  out += owner;
  AppendText(out, batch.Text(span.trace_state));
  AppendVarint(out, span.flags);
  AppendVarint(out, span.dropped_attributes);
  AppendVarint(out, span.dropped_events);
  AppendVarint(out, span.dropped_links);
  AppendVarint(out, span.events.count);
  for (std::uint32_t i = 0; i < span.events.count; ++i) {
    const profile::SpanEvent& event = batch.events[span.events.begin + i];
    AppendVarint(out, event.time_ns);
    AppendText(out, batch.Text(event.name));
    AppendVarint(out, event.dropped_attributes);
    AppendText(out, Typed(batch, event.attributes, AttributePlace::kSpan));
  }
  AppendVarint(out, span.links.count);
  for (std::uint32_t i = 0; i < span.links.count; ++i) {
    const profile::SpanLink& link = batch.links[span.links.begin + i];
    out.append(reinterpret_cast<const char*>(link.trace.data()), link.trace.size());
    out.append(reinterpret_cast<const char*>(link.span.data()), link.span.size());
    AppendText(out, batch.Text(link.trace_state));
    AppendVarint(out, link.flags);
    AppendVarint(out, link.dropped_attributes);
    AppendText(out, Typed(batch, link.attributes, AttributePlace::kSpan));
  }
  return out;
}

Result<SpanExtras> ReadSpanExtras(std::string_view encoded) {
  SpanExtras extras;
  Input in(encoded);
  std::uint64_t count = 0;
  bool ok = in.Text(extras.attributes) && in.Text(extras.trace_state) && in.Number(extras.flags) &&
            in.Number(extras.dropped_attributes) && in.Number(extras.dropped_events) &&
            in.Number(extras.dropped_links) && in.Number(count);
  for (std::uint64_t i = 0; ok && i < count; ++i) {
    SpanExtras::Event event;
    ok = in.Number(event.time_ns) && in.Text(event.name) && in.Number(event.dropped_attributes) &&
         in.Text(event.attributes);
    if (ok) extras.events.push_back(event);
  }
  ok = ok && in.Number(count);
  for (std::uint64_t i = 0; ok && i < count; ++i) {
    SpanExtras::Link link;
    ok = in.Id(link.trace) && in.Id(link.span) && in.Text(link.trace_state) &&
         in.Number(link.flags) && in.Number(link.dropped_attributes) && in.Text(link.attributes);
    if (ok) extras.links.push_back(link);
  }
  if (!ok || in.left() != 0) return Error(Code::kCorrupt, "span extras: damaged");
  return extras;
}

}  // namespace wherefore::store
