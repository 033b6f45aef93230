#include "profile/batch.h"

#include <bit>

#include <fmt/format.h>

#include "base/text.h"
#include "profile/span_batch.h"
#include "profile/type_id.h"

namespace wherefore::profile {
namespace {

Error Bad(std::string what) {
  return {Code::kInternal, "batch: " + std::move(what)};
}

template <typename T>
bool Inside(Range r, const std::vector<T>& pool) {
  return r.begin <= pool.size() && r.count <= pool.size() - r.begin;
}

Result<> ValidateText(const TextPool& pool, std::initializer_list<Id> ids, const char* where) {
  for (const Id id : ids) {
    if (id >= pool.strings.size()) return Bad(fmt::format("{}: string {} out of range", where, id));
  }
  return {};
}

Result<> ValidateAttributes(const TextPool& pool, const std::vector<Attribute>& attributes) {
  for (const Attribute& a : attributes) {
    WHEREFORE_RETURN_IF_ERROR(ValidateText(pool, {a.key, a.unit, a.value.text}, "attribute"));
  }
  return {};
}

template <typename B>
Result<> ValidateOwners(const B& batch) {
  for (const Resource& r : batch.resources) {
    WHEREFORE_RETURN_IF_ERROR(ValidateText(batch, {r.schema_url, r.entity_refs}, "resource"));
    if (!Inside(r.attributes, batch.own_attributes)) return Bad("resource attributes");
  }
  for (const Scope& s : batch.scopes) {
    WHEREFORE_RETURN_IF_ERROR(ValidateText(batch, {s.name, s.version, s.schema_url}, "scope"));
    if (!Inside(s.attributes, batch.own_attributes)) return Bad("scope attributes");
  }
  return ValidateAttributes(batch, batch.own_attributes);
}

Result<> ValidateDictionary(const Batch& b) {
  for (const Mapping& m : b.mappings) {
    WHEREFORE_RETURN_IF_ERROR(ValidateText(b, {m.filename}, "mapping"));
    if (!Inside(m.attributes, b.attribute_refs)) return Bad("mapping attributes");
  }
  for (const Function& f : b.functions) {
    WHEREFORE_RETURN_IF_ERROR(ValidateText(b, {f.name, f.system_name, f.filename}, "function"));
  }
  for (const Line& l : b.lines) {
    if (l.function >= b.functions.size()) return Bad("line function");
  }
  for (const Frame& f : b.frames) {
    if (f.mapping >= b.mappings.size()) return Bad("frame mapping");
    if (!Inside(f.lines, b.lines)) return Bad("frame lines");
    if (!Inside(f.attributes, b.attribute_refs)) return Bad("frame attributes");
  }
  for (const Id frame : b.stack_frames) {
    if (frame >= b.frames.size()) return Bad("stack frame");
  }
  for (const Range r : b.stacks) {
    if (!Inside(r, b.stack_frames)) return Bad("stack");
  }
  for (const Id a : b.attribute_refs) {
    if (a >= b.attributes.size()) return Bad("attribute reference");
  }
  return ValidateAttributes(b, b.attributes);
}

Result<> ValidateSamples(const Batch& b) {
  const Samples& s = b.samples;
  const std::size_t n = s.size();
  if (s.attributes.size() != n || s.link.size() != n || s.value.size() != n ||
      s.times.size() != n || s.values.size() != n) {
    return Bad("sample columns differ in length");
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (s.stack[i] >= b.stacks.size()) return Bad("sample stack");
    if (s.link[i] >= b.links.size()) return Bad("sample link");
    if (!Inside(s.attributes[i], b.attribute_refs)) return Bad("sample attributes");
    if (!Inside(s.times[i], b.times)) return Bad("sample times");
    if (!Inside(s.values[i], b.values)) return Bad("sample values");
  }
  return {};
}

}  // namespace

// The other may go on adding to its arena: that moves no string, and nothing else of it is used.
TextPool::TextPool(const TextPool& other)
    : strings(other.strings),
      own_attributes(other.own_attributes),
      buffers_(other.buffers_),
      borrowed_(other.borrowed_) {
  if (other.arena_) borrowed_.push_back(other.arena_);
}

Id TextPool::AddText(std::string_view text) {
  if (text.empty()) return 0;
  if (!arena_) arena_ = std::make_shared<Arena>();
  arena_->emplace_back(text);
  return AddView(arena_->back());
}

Id TextPool::AddView(std::string_view text) {
  if (text.empty()) return 0;
  strings.push_back(text);
  return static_cast<Id>(strings.size() - 1);
}

std::size_t TextPool::SourceBytes() const {
  std::size_t bytes = 0;
  for (const auto& buffer : buffers_) bytes += buffer->size();
  for (const std::string_view text : strings) bytes += text.size();
  return bytes;
}

Result<> Batch::Validate() const {
  WHEREFORE_RETURN_IF_ERROR(ValidateOwners(*this));
  WHEREFORE_RETURN_IF_ERROR(ValidateDictionary(*this));
  WHEREFORE_RETURN_IF_ERROR(ValidateSamples(*this));
  for (const Profile& p : profiles) {
    WHEREFORE_RETURN_IF_ERROR(
        ValidateText(*this,
                     {p.name, p.sample_type.type, p.sample_type.unit, p.period_type.type,
                      p.period_type.unit, p.payload_format},
                     "profile"));
    if (p.resource >= resources.size() || p.scope >= scopes.size()) return Bad("profile owner");
    if (!Inside(p.attributes, attribute_refs)) return Bad("profile attributes");
    if (!Inside({p.first_sample, p.sample_count}, samples.stack)) return Bad("profile samples");
  }
  return {};
}

std::size_t Batch::ApproximateBytes() const {
  return strings.size() * sizeof(std::string_view) + frames.size() * sizeof(Frame) +
         lines.size() * sizeof(Line) + functions.size() * sizeof(Function) +
         stack_frames.size() * sizeof(Id) + stacks.size() * sizeof(Range) + samples.size() * 44 +
         times.size() * 8 + values.size() * 8 + links.size() * sizeof(Link) +
         profiles.size() * sizeof(Profile) +
         (attributes.size() + own_attributes.size()) * sizeof(Attribute);
}

Result<> SpanBatch::Validate() const {
  WHEREFORE_RETURN_IF_ERROR(ValidateOwners(*this));
  for (const Span& s : spans) {
    WHEREFORE_RETURN_IF_ERROR(
        ValidateText(*this, {s.trace_state, s.name, s.status_message}, "span"));
    if (s.resource >= resources.size() || s.scope >= scopes.size()) return Bad("span owner");
    if (!Inside(s.attributes, own_attributes)) return Bad("span attributes");
    if (!Inside(s.events, events) || !Inside(s.links, links)) return Bad("span events or links");
  }
  for (const SpanEvent& e : events) {
    WHEREFORE_RETURN_IF_ERROR(ValidateText(*this, {e.name}, "event"));
    if (!Inside(e.attributes, own_attributes)) return Bad("event attributes");
  }
  for (const SpanLink& l : links) {
    WHEREFORE_RETURN_IF_ERROR(ValidateText(*this, {l.trace_state}, "link"));
    if (!Inside(l.attributes, own_attributes)) return Bad("link attributes");
  }
  return {};
}

std::size_t SpanBatch::ApproximateBytes() const {
  return strings.size() * sizeof(std::string_view) + spans.size() * sizeof(Span) +
         events.size() * sizeof(SpanEvent) + links.size() * sizeof(SpanLink) +
         own_attributes.size() * sizeof(Attribute);
}

void RemoveSamples(Batch& batch, const std::vector<bool>& marked) {
  Samples kept;
  const Samples& s = batch.samples;
  for (Profile& p : batch.profiles) {
    const auto first = static_cast<std::uint32_t>(kept.size());
    for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      if (marked[i]) continue;
      kept.Append(s.stack[i], s.attributes[i], s.link[i], s.value[i], s.times[i], s.values[i]);
      if (!s.count.empty()) kept.count.push_back(s.count[i]);
    }
    p.first_sample = first;
    p.sample_count = static_cast<std::uint32_t>(kept.size()) - first;
  }
  batch.samples = std::move(kept);
}

std::string_view ServiceName(const TextPool& pool, const Resource& resource) {
  for (const std::string_view wanted : {"service.name", "service_name"}) {
    for (const Attribute& a : pool.OwnAttributes(resource.attributes)) {
      if (pool.Text(a.key) == wanted && a.value.kind == Value::Kind::kString && a.value.text != 0) {
        return pool.Text(a.value.text);
      }
    }
  }
  return "unknown_service";
}

std::string ValueText(const TextPool& pool, const Value& value) {
  switch (value.kind) {
    case Value::Kind::kEmpty:
      return {};
    case Value::Kind::kString:
      return std::string(pool.Text(value.text));
    case Value::Kind::kBool:
      return value.number != 0 ? "true" : "false";
    case Value::Kind::kInt:
      return fmt::format("{}", value.number);
    case Value::Kind::kDouble:
      return fmt::format("{}", std::bit_cast<double>(value.number));
    case Value::Kind::kBytes:
      return ToHex(pool.Text(value.text));
    case Value::Kind::kArray:
    case Value::Kind::kMap:
      return ToBase64(pool.Text(value.text));
  }
  return {};
}

}  // namespace wherefore::profile
