// Batch -> OTLP profiles, binary. Tables keep their order, so OTLP input comes out the same, except
// for unreferenced strings: strings of resources, scopes and values are inline and therefore left
// out of the table. What OTLP has no field for (a profile's own name, its observations) is written
// as attributes that the decoder understands.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/formats.h"
#include "formats/otlp/common.h"
#include "formats/otlp/fields.h"
#include "formats/otlp/groups.h"
#include "formats/wire/protobuf.h"
#include "profile/observations.h"
#include "profile/type_id.h"

namespace wherefore::formats {

namespace {

using profile::Id;

void AddIndex(PbfWriter& w, Tag tag, Id id) {
  if (id != 0) w.add_uint32(tag, id);
}
void AddIndices(PbfWriter& w, Tag tag, std::span<const Id> ids) {
  w.add_packed_uint32(tag, ids.begin(), ids.end());
}

// The strings that are referred to by index, in the batch's order, renumbered.
class Strings {
 public:
  explicit Strings(const profile::Batch& b) : batch_(b), ids_(b.strings.size()) {
    const auto use = [this](std::initializer_list<Id> ids) {
      for (const Id id : ids) ids_[id] = 1;
    };
    for (const auto& f : b.functions) use({f.name, f.system_name, f.filename});
    for (const auto& m : b.mappings) use({m.filename});
    for (const auto& a : b.attributes) use({a.key, a.unit});
    for (const auto& p : b.profiles) {
      use({p.sample_type.type, p.sample_type.unit, p.period_type.type, p.period_type.unit});
    }
    ids_[0] = 0;
    for (Id& id : ids_) {
      if (id != 0) id = static_cast<Id>(size_++);
    }
  }
  [[nodiscard]] Id Of(Id id) const { return ids_[id]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void Write(PbfWriter& w) const {
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const std::string_view text = batch_.strings[i];
      if (i == 0 || ids_[i] != 0) w.add_string(dictionary::kStrings, text.data(), text.size());
    }
  }

 private:
  const profile::Batch& batch_;
  std::vector<Id> ids_;   // by the batch's id; 0: left out
  std::size_t size_ = 1;  // the empty one is always present
};

void WriteValueType(PbfWriter& w, Tag tag, const profile::ValueType& type, const Strings& strings) {
  if (type.type == 0 && type.unit == 0) return;
  PbfWriter v(w, tag);
  AddIndex(v, value_type::kType, strings.Of(type.type));
  AddIndex(v, value_type::kUnit, strings.Of(type.unit));
}

void WriteSample(PbfWriter& w, const profile::Batch& b, std::size_t i) {
  const profile::Samples& s = b.samples;
  AddIndex(w, sample::kStack, s.stack[i]);
  AddIndices(w, sample::kAttributes, b.AttributeRefs(s.attributes[i]));
  // Attributes and times alone would look like values and times of the 1.9 layout. An explicit null
  // link means the same and cannot be misread.
  const bool ambiguous =
      s.values[i].count == 0 && s.times[i].count != 0 && s.attributes[i].count != 0;
  if (ambiguous || s.link[i] != 0) w.add_uint32(sample::kLink, s.link[i]);
  const auto values = std::span(b.values).subspan(s.values[i].begin, s.values[i].count);
  const auto times = std::span(b.times).subspan(s.times[i].begin, s.times[i].count);
  if (values.empty() && times.empty()) {
    w.add_packed_int64(sample::kValues, &s.value[i], &s.value[i] + 1);
  } else {
    w.add_packed_int64(sample::kValues, values.begin(), values.end());
    w.add_packed_fixed64(sample::kTimes, times.begin(), times.end());
  }
}

// Profile attributes that are not in the batch's table. They follow it, and their keys follow its
// strings.
class AddedAttributes {
 public:
  explicit AddedAttributes(const profile::Batch& batch, std::size_t strings)
      : batch_(batch), strings_(strings) {
    refs_.reserve(batch.profiles.size());
    for (const profile::Profile& p : batch.profiles) refs_.push_back(RefsOf(p));
  }
  // The attributes a profile refers to.
  [[nodiscard]] std::span<const Id> Of(const profile::Profile& p) const {
    const std::vector<Id>& own = refs_[static_cast<std::size_t>(&p - batch_.profiles.data())];
    return own.empty() ? batch_.AttributeRefs(p.attributes) : std::span<const Id>(own);
  }
  void WriteKeys(PbfWriter& w) const {
    for (const std::string_view key : keys_)
      w.add_string(dictionary::kStrings, key.data(), key.size());
  }
  void WriteTable(PbfWriter& w) const {
    for (const Added& a : added_) {
      PbfWriter e(w, dictionary::kAttributes);
      AddIndex(e, table_attribute::kKey, a.key);
      PbfWriter v(e, table_attribute::kValue);
      v.add_bytes(a.kind == Kind::kBytes ? any_value::kBytes : any_value::kString, a.text.data(),
                  a.text.size());
    }
  }

 private:
  using Kind = profile::Value::Kind;
  struct Added {
    Id key;
    Kind kind;
    std::string text;
  };

  // Empty: only the profile's own.
  std::vector<Id> RefsOf(const profile::Profile& p) {
    std::vector<Id> refs;
    Put(p, refs, profile::kProfileNameKey, Kind::kString, std::string(profile::OwnName(batch_, p)));
    Put(p, refs, profile::kObservationsKey, Kind::kBytes, profile::PackedObservations(batch_, p));
    return refs;
  }
  // Replaces the profile's attribute `key` by `text`; an empty text removes it.
  void Put(const profile::Profile& p, std::vector<Id>& refs, std::string_view key, Kind kind,
           std::string text) {
    const std::span own =
        refs.empty() ? batch_.AttributeRefs(p.attributes) : std::span<const Id>(refs);
    const auto has_key = [&](Id id) {
      return id < batch_.attributes.size() && batch_.Text(batch_.attributes[id].key) == key;
    };
    const auto found = std::ranges::find_if(own, has_key);
    if (text.empty() || (found != own.end() && Says(*found, kind, text))) return;
    std::vector<Id> with(own.begin(), own.end());
    std::erase_if(with, has_key);
    with.push_back(IdOf(key, kind, std::move(text)));
    refs = std::move(with);
  }
  [[nodiscard]] bool Says(Id id, Kind kind, std::string_view text) const {
    const profile::Value& value = batch_.attributes[id].value;
    return value.kind == kind && batch_.Text(value.text) == text;
  }
  Id IdOf(std::string_view key, Kind kind, std::string text) {
    const auto [known, fresh] = ids_.try_emplace(
        std::pair(key, text), static_cast<Id>(batch_.attributes.size() + added_.size()));
    if (fresh) added_.push_back({KeyOf(key), kind, std::move(text)});
    return known->second;
  }
  Id KeyOf(std::string_view key) {
    const auto at = std::ranges::find(keys_, key);
    const auto place = static_cast<std::size_t>(at - keys_.begin());
    if (at == keys_.end()) keys_.push_back(key);
    return static_cast<Id>(strings_ + place);
  }

  const profile::Batch& batch_;
  const std::size_t strings_;  // number of the batch's strings that are written
  std::vector<std::string_view> keys_;
  std::vector<Added> added_;
  std::map<std::pair<std::string_view, std::string>, Id> ids_;
  std::vector<std::vector<Id>> refs_;  // by profile
};

void WriteProfile(PbfWriter& w, const profile::Batch& b, const profile::Profile& p,
                  const Strings& strings, const AddedAttributes& added) {
  WriteValueType(w, profile_field::kSampleType, p.sample_type, strings);
  for (std::size_t i = 0; i < p.sample_count; ++i) {
    PbfWriter s(w, profile_field::kSamples);
    WriteSample(s, b, p.first_sample + i);
  }
  if (p.time_ns != 0) w.add_fixed64(profile_field::kTime, p.time_ns);
  AddUint(w, profile_field::kDuration, p.duration_ns);
  WriteValueType(w, profile_field::kPeriodType, p.period_type, strings);
  AddInt(w, profile_field::kPeriod, p.period);
  if (p.id != profile::ProfileId{}) {
    w.add_bytes(profile_field::kId, reinterpret_cast<const char*>(p.id.data()), p.id.size());
  }
  AddUint(w, profile_field::kDropped, p.dropped_attributes);
  AddText(w, profile_field::kPayloadFormat, b.Text(p.payload_format));
  if (!p.payload.empty()) w.add_bytes(profile_field::kPayload, p.payload.data(), p.payload.size());
  AddIndices(w, profile_field::kAttributes, added.Of(p));
}

void WriteFrame(PbfWriter& w, const profile::Batch& b, const profile::Frame& f) {
  AddIndex(w, location::kMapping, f.mapping);
  AddUint(w, location::kAddress, f.address);
  for (const profile::Line& l : b.FrameLines(f)) {
    PbfWriter m(w, location::kLines);
    AddIndex(m, line::kFunction, l.function);
    AddInt(m, line::kLine, l.line);
    AddInt(m, line::kColumn, l.column);
  }
  AddIndices(w, location::kAttributes, b.AttributeRefs(f.attributes));
}

void WriteMappingsAndFrames(PbfWriter& w, const profile::Batch& b, const Strings& strings) {
  for (const profile::Mapping& m : b.mappings) {
    PbfWriter e(w, dictionary::kMappings);
    AddUint(e, mapping::kStart, m.start);
    AddUint(e, mapping::kLimit, m.limit);
    AddUint(e, mapping::kFileOffset, m.file_offset);
    AddIndex(e, mapping::kFilename, strings.Of(m.filename));
    AddIndices(e, mapping::kAttributes, b.AttributeRefs(m.attributes));
  }
  for (const profile::Frame& f : b.frames) {
    PbfWriter e(w, dictionary::kLocations);
    WriteFrame(e, b, f);
  }
  for (const profile::Function& f : b.functions) {
    PbfWriter e(w, dictionary::kFunctions);
    AddIndex(e, function::kName, strings.Of(f.name));
    AddIndex(e, function::kSystemName, strings.Of(f.system_name));
    AddIndex(e, function::kFilename, strings.Of(f.filename));
    AddInt(e, function::kStartLine, f.start_line);
  }
}

void WriteDictionary(PbfWriter& w, const profile::Batch& b, const Strings& strings,
                     const AddedAttributes& added) {
  WriteMappingsAndFrames(w, b, strings);
  for (std::size_t i = 0; i < b.links.size(); ++i) {
    PbfWriter e(w, dictionary::kLinks);
    if (i == 0)
      continue;  // empty, not zero-filled: both are legal, but some checkers accept only this
    const profile::Link& l = b.links[i];
    e.add_bytes(link::kTraceId, reinterpret_cast<const char*>(l.trace.data()), l.trace.size());
    e.add_bytes(link::kSpanId, reinterpret_cast<const char*>(l.span.data()), l.span.size());
  }
  strings.Write(w);
  added.WriteKeys(w);
  for (std::size_t i = 0; i < b.attributes.size(); ++i) {
    const profile::Attribute& a = b.attributes[i];
    PbfWriter e(w, dictionary::kAttributes);
    if (i == 0) continue;
    AddIndex(e, table_attribute::kKey, strings.Of(a.key));
    WriteValue(e, table_attribute::kValue, b, a.value);
    AddIndex(e, table_attribute::kUnit, strings.Of(a.unit));
  }
  added.WriteTable(w);
  for (std::size_t i = 0; i < b.stacks.size(); ++i) {
    PbfWriter e(w, dictionary::kStacks);
    AddIndices(e, stack::kLocations, b.StackFrames(static_cast<Id>(i)));
  }
}

}  // namespace

std::string EncodeOtlpProfiles(const profile::Batch& batch) {
  const Strings strings(batch);
  const AddedAttributes added(batch, strings.size());
  std::string out;
  PbfWriter root(out);
  WriteEnvelope(root, batch, batch.profiles, [&](PbfWriter& w, const profile::Profile& p) {
    WriteProfile(w, batch, p, strings, added);
  });
  PbfWriter d(root, envelope::kDictionary);
  WriteDictionary(d, batch, strings, added);
  d.commit();
  return out;
}

}  // namespace wherefore::formats
