// Batch: the decoded samples of one request, in the form every part of the server passes on.
//
// The tables mirror OTLP's dictionary. Each is a vector whose element 0 is the null entry; a
// reference is an index (`Id`) into a table of the same Batch, and 0 means "none". A decoder keeps
// the sender's own indices, so nothing is looked up twice. Samples are stored as columns.
//
// Memory:  strings are views into buffers the Batch keeps alive (Own: the request's body) or into
//          its own arena (AddText). Moving a Batch keeps them valid. Clone() copies the tables and
//          shares the text; original and copy then live and change independently.
// Always:  every index in a Batch that a decoder returned is in range. Decoders' tests and fuzzers
//          check it with Validate(); consumers rely on it.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wherefore::profile {

using Id = std::uint32_t;
using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;
using ProfileId = std::array<std::uint8_t, 16>;  // all zero: none

// The part of a pool vector that belongs to one entry.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

// An attribute value with the type the sender gave it.
struct Value {
  enum class Kind : std::uint8_t { kEmpty, kString, kBool, kInt, kDouble, kBytes, kArray, kMap };
  Kind kind = Kind::kEmpty;
  // kString, kBytes: the content. kArray, kMap: OTLP AnyValue bytes with all strings inline.
  Id text = 0;
  std::int64_t number = 0;  // kInt; kBool as 0 or 1; kDouble as its bits
};

struct Attribute {
  Id key = 0;  // string
  Id unit = 0;
  Value value;
};

// Strings, and the attributes of resources, scopes and spans: the part profiles and spans share.
class TextPool {
 public:
  TextPool() : strings(1) {}
  TextPool(TextPool&&) = default;  // NOLINT(performance-noexcept-move-constructor): as std::deque
  TextPool& operator=(TextPool&&) = default;  // NOLINT(performance-noexcept-move-constructor)
  TextPool& operator=(const TextPool&) = delete;
  ~TextPool() = default;

  std::vector<std::string_view> strings;  // [0] = ""
  // Attributes outside the dictionary's table: those of resources, scopes, spans and events.
  std::vector<Attribute> own_attributes;

  // Copies `text` into the arena and returns a new id (0 for the empty string). Does not
  // deduplicate.
  Id AddText(std::string_view text);
  // Same without a copy. `text` must point into a buffer given to Own().
  Id AddView(std::string_view text);
  // Keeps a buffer alive as long as this object lives.
  void Own(std::shared_ptr<const std::string> buffer) { buffers_.push_back(std::move(buffer)); }
  // Size of the buffers and of all strings: roughly what came over the wire, each string once.
  [[nodiscard]] std::size_t SourceBytes() const;

  [[nodiscard]] std::string_view Text(Id id) const { return strings[id]; }
  [[nodiscard]] std::span<const Attribute> OwnAttributes(Range r) const {
    return std::span(own_attributes).subspan(r.begin, r.count);
  }

 protected:
  TextPool(const TextPool& other);  // for Clone() of those derived from it

 private:
  using Arena = std::deque<std::string>;  // its strings never move
  std::vector<std::shared_ptr<const std::string>> buffers_;
  std::shared_ptr<Arena> arena_;                        // null until the first AddText
  std::vector<std::shared_ptr<const Arena>> borrowed_;  // arenas of what this is a clone of
};

struct Resource {
  Range attributes;  // into own_attributes
  std::uint32_t dropped_attributes = 0;
  Id schema_url = 0;
  // Encoded EntityRef messages, field 3 tags included; passed through, not interpreted.
  Id entity_refs = 0;
};

struct Scope {
  Id name = 0;
  Id version = 0;
  Range attributes;  // into own_attributes
  std::uint32_t dropped_attributes = 0;
  Id schema_url = 0;
};

struct ValueType {
  Id type = 0;
  Id unit = 0;
};

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t limit = 0;
  std::uint64_t file_offset = 0;
  Id filename = 0;
  Range attributes;  // into attribute_refs; build ids are attributes (docs/format.md)
};

struct Function {
  Id name = 0;
  Id system_name = 0;  // mangled
  Id filename = 0;
  std::int64_t start_line = 0;
};

// One source position. A frame with several lines contains inlined calls: [0] is the innermost, the
// last is the function whose machine code it is.
struct Line {
  Id function = 0;
  std::int64_t line = 0;
  std::int64_t column = 0;
};

// One physical frame ("location" on the wire): an address with its inline levels.
struct Frame {
  Id mapping = 0;
  std::uint64_t address = 0;
  Range lines;       // into Batch::lines
  Range attributes;  // into attribute_refs
};

struct Link {
  TraceId trace{};
  SpanId span{};
};

// One profile: samples [first_sample, first_sample + sample_count) of one type over one time
// window.
struct Profile {
  Id resource = 0;
  Id scope = 0;
  // First part of the five-part type id ("process_cpu", "memory"). 0: derive it (type_id.h).
  Id name = 0;
  ValueType sample_type;
  ValueType period_type;
  std::int64_t period = 0;
  std::uint64_t time_ns = 0;  // start; 0: not known
  std::uint64_t duration_ns = 0;
  ProfileId id{};
  std::uint32_t dropped_attributes = 0;
  Id payload_format = 0;
  std::string_view payload;  // the original file, if the sender attached it
  Range attributes;          // into attribute_refs
  std::uint32_t first_sample = 0;
  std::uint32_t sample_count = 0;
  // The sender also sends this data as cpu/nanoseconds (Go's pprof has both), so counts must not be
  // converted to CPU time again.
  bool has_cpu_sibling = false;
  // A sample may add up any number of observations, and is present if any type of its file has a
  // value (pprof).
  bool summed = false;
};

// Columns, one entry per sample. `value` is the number to add up: the sum of the values sent, or
// the number of timestamps if there were no values.
struct Samples {
  std::vector<Id> stack;
  std::vector<Range> attributes;  // into attribute_refs
  std::vector<Id> link;
  std::vector<std::int64_t> value;
  std::vector<Range> times;   // into Batch::times; empty for aggregates
  std::vector<Range> values;  // into Batch::values: as sent; empty when only times were sent
  // Observations per sample, where the decoder knows them better than observations.h can derive.
  // Empty, or one entry per sample.
  std::vector<std::uint32_t> count;

  [[nodiscard]] std::size_t size() const { return stack.size(); }
  void Append(Id stack_id, Range attribute_range, Id link_id, std::int64_t v, Range t, Range vs) {
    stack.push_back(stack_id);
    attributes.push_back(attribute_range);
    link.push_back(link_id);
    value.push_back(v);
    times.push_back(t);
    values.push_back(vs);
  }
  void Resize(std::size_t n) {
    stack.resize(n);
    attributes.resize(n);
    link.resize(n);
    value.resize(n);
    times.resize(n);
    values.resize(n);
    if (!count.empty()) count.resize(n);
  }
};

class Batch : public TextPool {
 public:
  Batch()
      : resources(1),
        scopes(1),
        mappings(1),
        functions(1),
        frames(1),
        stacks(1),
        links(1),
        attributes(1) {}
  Batch(Batch&&) = default;  // NOLINT(performance-noexcept-move-constructor): as std::deque
  Batch& operator=(Batch&&) = default;  // NOLINT(performance-noexcept-move-constructor)
  Batch& operator=(const Batch&) = delete;
  ~Batch() = default;
  // A copy that another thread may have.
  [[nodiscard]] Batch Clone() const { return *this; }

  std::vector<Resource> resources;
  std::vector<Scope> scopes;
  std::vector<Mapping> mappings;
  std::vector<Function> functions;
  std::vector<Line> lines;  // pool
  std::vector<Frame> frames;
  std::vector<Id> stack_frames;  // pool
  std::vector<Range> stacks;     // into stack_frames, leaf first
  std::vector<Link> links;
  std::vector<Attribute> attributes;  // the dictionary's attribute table
  std::vector<Id> attribute_refs;     // pool of ids into `attributes`

  std::vector<Profile> profiles;
  Samples samples;
  std::vector<std::uint64_t> times;
  std::vector<std::int64_t> values;

  [[nodiscard]] std::span<const Id> StackFrames(Id stack) const {
    return std::span(stack_frames).subspan(stacks[stack].begin, stacks[stack].count);
  }
  [[nodiscard]] std::span<const Line> FrameLines(const Frame& frame) const {
    return std::span(lines).subspan(frame.lines.begin, frame.lines.count);
  }
  [[nodiscard]] std::span<const Id> AttributeRefs(Range r) const {
    return std::span(attribute_refs).subspan(r.begin, r.count);
  }

  // Checks that every index is in range and every range inside its pool. For tests and fuzzers.
  [[nodiscard]] Result<> Validate() const;
  // Approximate memory held, for queue limits.
  [[nodiscard]] std::size_t ApproximateBytes() const;

 private:
  Batch(const Batch&) = default;
};

// Removes the marked samples and those that belong to no profile.
void RemoveSamples(Batch& batch, const std::vector<bool>& marked);

// "service.name" of a resource (or "service_name"); "unknown_service" when it has none.
[[nodiscard]] std::string_view ServiceName(const TextPool& pool, const Resource& resource);
// The value as text, as label selectors and people see it.
[[nodiscard]] std::string ValueText(const TextPool& pool, const Value& value);

}  // namespace wherefore::profile
