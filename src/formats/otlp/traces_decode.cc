// OTLP traces, binary -> SpanBatch. A span with an error is left out and counted.
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "formats/formats.h"
#include "formats/otlp/common.h"
#include "formats/otlp/fields.h"
#include "formats/wire/protobuf.h"
#include "formats/wire/size32.h"

namespace wherefore::formats {

namespace {

using profile::Id;

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;

class TracesDecoder {
 public:
  explicit TracesDecoder(std::string_view body)
      : body_(body), attributes_(result_.data, 0, no_bad_strings_) {}

  // Throws protozero's exceptions on broken protobuf; Where() then says how far it got.
  Result<DecodedSpans> Run();
  [[nodiscard]] std::string Where() const;

 private:
  void ReadResourceSpans(std::string_view bytes);
  void ReadScopeSpans(std::string_view bytes, Id resource_id);
  [[nodiscard]] bool ReadSpan(std::string_view bytes, profile::Span& s);
  [[nodiscard]] bool ReadLists(std::string_view bytes, profile::Span& s);
  [[nodiscard]] bool ReadEvent(Pbf r, profile::SpanEvent& e);
  [[nodiscard]] bool ReadLink(Pbf r, profile::SpanLink& l);
  [[nodiscard]] bool ReadStatus(Pbf r, profile::Span& s);
  [[nodiscard]] bool Text(Pbf& r, std::string_view field, Id& out);
  [[nodiscard]] bool Fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  template <std::size_t N>
  [[nodiscard]] bool ReadId(Pbf& r, std::string_view field, bool optional,
                            std::array<std::uint8_t, N>& out);

  std::string_view body_;
  DecodedSpans result_;
  const std::vector<std::uint8_t> no_bad_strings_;
  AttributeReader attributes_;
  Notes notes_;
  std::string reason_;
  std::optional<std::string> resource_error_, scope_error_;
  TinyMessages tiny_messages_;
  std::int64_t at_resource_ = -1, at_scope_ = -1, at_span_ = -1;
};

Result<DecodedSpans> TracesDecoder::Run() {
  for (Pbf root = Reader(body_); root.next(envelope::kResources, kLen);) {
    const std::string_view bytes = GetView(root);
    ++at_resource_;
    if (tiny_messages_.Admit(bytes)) ReadResourceSpans(bytes);
    if (tiny_messages_.too_many())
      return Error::At(Code::kLimit, Where(), "too many empty messages");
  }
  result_.message = notes_.Text();
  return std::move(result_);
}

std::string TracesDecoder::Where() const {
  std::string path;
  const auto add = [&path](std::string_view name, std::int64_t index) {
    if (index >= 0) path += fmt::format("{}{}[{}]", path.empty() ? "" : ".", name, index);
  };
  add("resource_spans", at_resource_);
  add("scope_spans", at_scope_);
  add("spans", at_span_);
  return path.empty() ? "request" : path;
}

void TracesDecoder::ReadResourceSpans(std::string_view bytes) {
  profile::SpanBatch& b = result_.data;
  const Id id = Size32(b.resources.size());
  profile::Resource res;
  resource_error_ = ReadResourceOf(bytes, attributes_, b, res);
  b.resources.push_back(res);
  for (Pbf r = Reader(bytes); r.next(envelope::kScopes, kLen);) {
    const std::string_view scope_bytes = GetView(r);
    if (!tiny_messages_.Admit(scope_bytes)) return;
    ++at_scope_;
    ReadScopeSpans(scope_bytes, id);
  }
  at_scope_ = -1;
}

void TracesDecoder::ReadScopeSpans(std::string_view bytes, Id resource_id) {
  profile::SpanBatch& b = result_.data;
  const Id id = Size32(b.scopes.size());
  profile::Scope sc;
  scope_error_ = ReadScopeOf(bytes, attributes_, sc);
  b.scopes.push_back(sc);
  for (Pbf r = Reader(bytes); r.next(envelope::kItems, kLen);) {
    const std::string_view span_bytes = GetView(r);
    if (!tiny_messages_.Admit(span_bytes)) return;
    ++at_span_;
    const std::size_t events = b.events.size();
    const std::size_t links = b.links.size();
    const std::size_t own = b.own_attributes.size();
    profile::Span s;
    s.resource = resource_id;
    s.scope = id;
    const bool kept = ReadSpan(span_bytes, s);
    if (kept && !resource_error_ && !scope_error_) {
      b.spans.push_back(s);
      continue;
    }
    const std::string& why = !kept ? reason_ : resource_error_ ? *resource_error_ : *scope_error_;
    ++result_.rejected;
    if (notes_.full()) {
      notes_.AddUnseen();
    } else {
      notes_.Add(fmt::format("{}{}{}", Where(), why.starts_with('.') ? "" : ": ", why));
    }
    b.events.resize(events);
    b.links.resize(links);
    b.own_attributes.resize(own);
  }
  at_span_ = -1;
}

bool TracesDecoder::Text(Pbf& r, std::string_view field, Id& out) {
  return attributes_.ReadText(GetView(r), out) ||
         Fail(fmt::format("{}: {}", field, attributes_.error()));
}

// `optional`: may be empty (a root's parent).
template <std::size_t N>
bool TracesDecoder::ReadId(Pbf& r, std::string_view field, bool optional,
                           std::array<std::uint8_t, N>& out) {
  const std::string_view bytes = GetView(r);
  if (bytes.empty() && optional) return true;
  if (bytes.size() != N) {
    return Fail(fmt::format("{}: {} bytes ({} expected)", field, bytes.size(), N));
  }
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return true;
}

bool TracesDecoder::ReadSpan(std::string_view bytes, profile::Span& s) {
  for (Pbf r = Reader(bytes); r.next();) {
    bool ok = true;
    switch (r.tag_and_type()) {
      case LenKey(span::kTraceId):
        ok = ReadId(r, ".trace_id", false, s.trace);
        break;
      case LenKey(span::kSpanId):
        ok = ReadId(r, ".span_id", false, s.id);
        break;
      case LenKey(span::kParent):
        ok = ReadId(r, ".parent_span_id", true, s.parent);
        break;
      case LenKey(span::kTraceState):
        ok = Text(r, ".trace_state", s.trace_state);
        break;
      case LenKey(span::kName):
        ok = Text(r, ".name", s.name);
        break;
      case VarintKey(span::kKind): {
        const std::uint64_t kind = r.get_uint64();
        s.kind =
            kind <= 5 ? static_cast<std::uint8_t>(kind) : 0;  // unknown kinds read as unspecified
        break;
      }
      case Fixed64Key(span::kStart):
        s.start_ns = r.get_fixed64();
        break;
      case Fixed64Key(span::kEnd):
        s.end_ns = r.get_fixed64();
        break;
      case VarintKey(span::kDroppedAttributes):
        s.dropped_attributes = r.get_uint32();
        break;
      case VarintKey(span::kDroppedEvents):
        s.dropped_events = r.get_uint32();
        break;
      case VarintKey(span::kDroppedLinks):
        s.dropped_links = r.get_uint32();
        break;
      case LenKey(span::kStatus):
        ok = ReadStatus(r.get_message(), s);
        break;
      case Fixed32Key(span::kFlags):
        s.flags = r.get_fixed32();
        break;
      default:
        r.skip();
    }
    if (!ok) return false;
  }
  if (s.trace == profile::TraceId{}) return Fail(".trace_id: missing or all zero");
  if (s.id == profile::SpanId{}) return Fail(".span_id: missing or all zero");
  return ReadLists(bytes, s);
}

// Each list in a pass of its own, so that it is one range even if the sender interleaved them.
bool TracesDecoder::ReadLists(std::string_view bytes, profile::Span& s) {
  profile::SpanBatch& b = result_.data;
  for (Pbf r = Reader(bytes); r.next(span::kAttributes, kLen);) {
    if (!attributes_.ReadKeyValue(r.get_message(), s.attributes)) {
      return Fail(".attributes: " + attributes_.error());
    }
  }
  s.events.begin = Size32(b.events.size());
  for (Pbf r = Reader(bytes); r.next(span::kEvents, kLen);) {
    const std::string_view event = GetView(r);
    profile::SpanEvent e;
    if (!tiny_messages_.Admit(event) || !ReadEvent(Reader(event), e)) return false;
    b.events.push_back(e);
  }
  s.events.count = Size32(b.events.size()) - s.events.begin;
  s.links.begin = Size32(b.links.size());
  for (Pbf r = Reader(bytes); r.next(span::kLinks, kLen);) {
    profile::SpanLink l;
    if (!ReadLink(r.get_message(), l)) return false;
    b.links.push_back(l);
  }
  s.links.count = Size32(b.links.size()) - s.links.begin;
  return true;
}

bool TracesDecoder::ReadEvent(Pbf r, profile::SpanEvent& e) {
  while (r.next()) {
    switch (r.tag_and_type()) {
      case Fixed64Key(span_event::kTime):
        e.time_ns = r.get_fixed64();
        break;
      case LenKey(span_event::kName):
        if (!Text(r, ".events.name", e.name)) return false;
        break;
      case LenKey(span_event::kAttributes):
        if (!attributes_.ReadKeyValue(r.get_message(), e.attributes)) {
          return Fail(".events.attributes: " + attributes_.error());
        }
        break;
      case VarintKey(span_event::kDropped):
        e.dropped_attributes = r.get_uint32();
        break;
      default:
        r.skip();
    }
  }
  return true;
}

bool TracesDecoder::ReadLink(Pbf r, profile::SpanLink& l) {
  while (r.next()) {
    bool ok = true;
    switch (r.tag_and_type()) {
      case LenKey(span_link::kTraceId):
        ok = ReadId(r, ".links.trace_id", false, l.trace);
        break;
      case LenKey(span_link::kSpanId):
        ok = ReadId(r, ".links.span_id", false, l.span);
        break;
      case LenKey(span_link::kTraceState):
        ok = Text(r, ".links.trace_state", l.trace_state);
        break;
      case LenKey(span_link::kAttributes):
        ok = attributes_.ReadKeyValue(r.get_message(), l.attributes) ||
             Fail(".links.attributes: " + attributes_.error());
        break;
      case VarintKey(span_link::kDropped):
        l.dropped_attributes = r.get_uint32();
        break;
      case Fixed32Key(span_link::kFlags):
        l.flags = r.get_fixed32();
        break;
      default:
        r.skip();
    }
    if (!ok) return false;
  }
  const bool complete = l.trace != profile::TraceId{} && l.span != profile::SpanId{};
  return complete || Fail(".links: an id is missing or all zero");
}

bool TracesDecoder::ReadStatus(Pbf r, profile::Span& s) {
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(span_status::kMessage):
        if (!Text(r, ".status.message", s.status_message)) return false;
        break;
      case VarintKey(span_status::kCode): {
        const std::uint64_t code = r.get_uint64();
        s.status_code = code <= 2 ? static_cast<std::uint8_t>(code) : 0;
        break;
      }
      default:
        r.skip();
    }
  }
  return true;
}

}  // namespace

Result<DecodedSpans> DecodeOtlpTraces(std::shared_ptr<const std::string> body) {
  if (body->size() > std::numeric_limits<std::uint32_t>::max()) {
    return Error::At(Code::kLimit, "request", "more than 4 GiB");
  }
  TracesDecoder decoder(*body);
  try {
    Result<DecodedSpans> result = decoder.Run();
    if (result) result->data.Own(std::move(body));
    return result;
  } catch (const protozero::exception& e) {
    return Error::At(Code::kCorrupt, decoder.Where(), e.what());
  }
}

}  // namespace wherefore::formats
