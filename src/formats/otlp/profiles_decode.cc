// OTLP profiles, binary -> Batch. The dictionary first (it may come after what refers to it), then
// resources, scopes, profiles. If anything in a profile is wrong, all of it is rolled back.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/formats.h"
#include "formats/otlp/common.h"
#include "formats/otlp/dictionary.h"
#include "formats/otlp/fields.h"
#include "formats/otlp/layout.h"
#include "formats/wire/protobuf.h"
#include "formats/wire/size32.h"
#include "profile/observations.h"
#include "profile/type_id.h"

namespace wherefore::formats {

namespace {

using profile::Id;
using profile::Range;

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;

// The fields of a sample as sent, before any check.
struct RawSample {
  std::uint32_t stack = 0;
  std::uint32_t link = 0;
};

class ProfilesDecoder {
 public:
  explicit ProfilesDecoder(std::string_view body)
      : body_(body), dictionary_(result_.data, notes_) {}

  // Detects the layout if it is not given. Throws protozero's exceptions on broken protobuf;
  // Where() then says how far it got.
  Result<DecodedProfiles> Run(std::optional<Layout> layout);
  [[nodiscard]] std::string Where() const;

 private:
  void ReadResourceProfiles(std::string_view bytes);
  void ReadScopeProfiles(std::string_view bytes, Id resource_id);
  // False: `reason_` says why, and the caller removes what was appended.
  [[nodiscard]] bool ReadProfile(std::string_view bytes, profile::Profile& p);
  void TakeName(profile::Profile& p);
  [[nodiscard]] bool ReadProfileTail(Pbf& r, bool v18, profile::Profile& p);
  [[nodiscard]] bool ReadValueType(Pbf r, std::string_view field, profile::ValueType& out);
  [[nodiscard]] bool ReadProfileId(std::string_view bytes, profile::Profile& p);
  [[nodiscard]] bool ReadSample(Pbf r, std::size_t row);
  [[nodiscard]] bool CheckSample(const RawSample& raw, Range refs);
  [[nodiscard]] bool SetValue(std::size_t row, Range values, Range times);
  [[nodiscard]] bool CheckRefs(Range range);
  void KeepComments();
  void TakeObservations(const profile::Profile& p);
  void SetObservations();
  void MarkCpuSiblings(std::size_t first_profile);

  [[nodiscard]] bool Fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  void Reject(std::string_view reason);

  std::string_view body_;
  DecodedProfiles result_;
  Notes notes_;
  DictionaryDecoder dictionary_;
  std::optional<AttributeReader> attributes_;
  Layout layout_ = Layout::kCurrent;
  std::string reason_;
  std::optional<std::string> resource_error_, scope_error_;
  TinyMessages tiny_messages_;
  std::vector<Id> comments_;  // of the current 1.8 profile
  std::unordered_map<std::size_t, std::vector<std::uint32_t>> observations_;  // by profile

  // The current position, for paths. -1: not inside one.
  bool in_dictionary_ = false;
  std::int64_t at_resource_ = -1, at_scope_ = -1, at_profile_ = -1, at_sample_ = -1;
};

Result<DecodedProfiles> ProfilesDecoder::Run(std::optional<Layout> layout) {
  in_dictionary_ = true;
  for (Pbf root = Reader(body_); root.next(envelope::kDictionary, kLen);) {
    if (!dictionary_.Read(root.get_message())) {
      return Error::At(Code::kLimit, dictionary_.where(), "more than a million empty entries");
    }
  }
  dictionary_.Finish();
  in_dictionary_ = false;
  attributes_.emplace(result_.data, dictionary_.dictionary_strings(), dictionary_.bad_strings());
  layout_ = layout ? *layout : DetectLayout(body_, result_.data.attributes.size());
  for (Pbf root = Reader(body_); root.next(envelope::kResources, kLen);) {
    ++at_resource_;
    const std::string_view resource_bytes = GetView(root);
    if (tiny_messages_.Admit(resource_bytes)) ReadResourceProfiles(resource_bytes);
    if (tiny_messages_.too_many()) {
      return Error::At(Code::kLimit, Where(), "too many empty messages");
    }
  }
  SetObservations();
  result_.message = notes_.Text();
  return std::move(result_);
}

std::string ProfilesDecoder::Where() const {
  if (in_dictionary_) return dictionary_.where();
  std::string path;
  const auto add = [&path](std::string_view name, std::int64_t index) {
    if (index >= 0) path += fmt::format("{}{}[{}]", path.empty() ? "" : ".", name, index);
  };
  add("resource_profiles", at_resource_);
  add("scope_profiles", at_scope_);
  add("profiles", at_profile_);
  add("samples", at_sample_);
  return path.empty() ? "request" : path;
}

void ProfilesDecoder::Reject(std::string_view reason) {
  ++result_.rejected;
  if (notes_.full()) return notes_.AddUnseen();
  notes_.Add(fmt::format("{}{}{}", Where(), reason.starts_with('.') ? "" : ": ", reason));
}

void ProfilesDecoder::ReadResourceProfiles(std::string_view bytes) {
  profile::Batch& b = result_.data;
  const Id id = Size32(b.resources.size());
  profile::Resource res;
  resource_error_ = ReadResourceOf(bytes, *attributes_, b, res);
  b.resources.push_back(res);
  at_scope_ = -1;
  for (Pbf r = Reader(bytes); r.next(envelope::kScopes, kLen);) {
    const std::string_view scope_bytes = GetView(r);
    if (!tiny_messages_.Admit(scope_bytes)) return;
    ++at_scope_;
    ReadScopeProfiles(scope_bytes, id);
  }
  at_scope_ = -1;
}

void ProfilesDecoder::ReadScopeProfiles(std::string_view bytes, Id resource_id) {
  profile::Batch& b = result_.data;
  const Id id = Size32(b.scopes.size());
  profile::Scope sc;
  scope_error_ = ReadScopeOf(bytes, *attributes_, sc);
  b.scopes.push_back(sc);
  const std::size_t first = b.profiles.size();
  at_profile_ = -1;
  for (Pbf r = Reader(bytes); r.next(envelope::kItems, kLen);) {
    const std::string_view profile_bytes = GetView(r);
    if (!tiny_messages_.Admit(profile_bytes)) return;
    ++at_profile_;
    const std::size_t refs = b.attribute_refs.size();
    const std::size_t values = b.values.size();
    const std::size_t times = b.times.size();
    profile::Profile p;
    p.resource = resource_id;
    p.scope = id;
    p.first_sample = Size32(b.samples.size());
    const bool kept = ReadProfile(profile_bytes, p);
    if (kept && !resource_error_ && !scope_error_) {
      TakeObservations(p);
      b.profiles.push_back(p);
    } else {
      Reject(!kept ? reason_ : resource_error_ ? *resource_error_ : *scope_error_);
      b.samples.Resize(p.first_sample);
      b.attribute_refs.resize(refs);
      b.values.resize(values);
      b.times.resize(times);
    }
    at_sample_ = -1;
  }
  at_profile_ = -1;
  MarkCpuSiblings(first);
}

bool ProfilesDecoder::ReadProfile(std::string_view bytes, profile::Profile& p) {
  profile::Batch& b = result_.data;
  const bool v18 = layout_ == Layout::kOld && IsLayout18(Reader(bytes));
  // Everything except samples first: their attributes must not interleave with the profile's own.
  p.attributes.begin = Size32(b.attribute_refs.size());
  comments_.clear();
  std::uint32_t samples = 0;
  bool ok = true;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(profile_field::kSamples):
        // Checked before allocating: an empty sample costs us twenty times what it costs to send.
        if (GetView(r).size() < 2) return Fail(fmt::format(".samples[{}]: empty", samples));
        ++samples;
        break;
      case LenKey(profile_field::kSampleType):
        ok = ReadValueType(r.get_message(), ".sample_type", p.sample_type) && ok;
        break;
      case Fixed64Key(profile_field::kTime):
        p.time_ns = r.get_fixed64();
        break;
      case VarintKey(profile_field::kDuration):
        p.duration_ns = r.get_uint64();
        break;
      case LenKey(profile_field::kPeriodType):
        ok = ReadValueType(r.get_message(), ".period_type", p.period_type) && ok;
        break;
      case VarintKey(profile_field::kPeriod):
        p.period = r.get_int64();
        break;
      default:
        ok = ReadProfileTail(r, v18, p) && ok;
    }
  }
  KeepComments();
  p.attributes.count = Size32(b.attribute_refs.size()) - p.attributes.begin;
  if (!ok || !CheckRefs(p.attributes)) return false;
  TakeName(p);
  p.sample_count = samples;
  b.samples.Resize(p.first_sample + samples);
  std::size_t row = p.first_sample;
  at_sample_ = -1;
  for (Pbf r = Reader(bytes); r.next(profile_field::kSamples, kLen); ++row) {
    ++at_sample_;
    if (!ReadSample(r.get_message(), row)) return false;
  }
  at_sample_ = -1;
  return true;
}

// OTLP has no field for a profile's name, and mutex and block profiles have the same types.
void ProfilesDecoder::TakeName(profile::Profile& p) {
  const profile::Batch& b = result_.data;
  for (const Id id : b.AttributeRefs(p.attributes)) {
    const profile::Attribute& a = b.attributes[id];
    if (a.value.kind == profile::Value::Kind::kString && b.Text(a.key) == profile::kProfileNameKey)
      p.name = a.value.text;
  }
}

// Observations that the sender gives beside its samples. Others are derived at the end.
void ProfilesDecoder::TakeObservations(const profile::Profile& p) {
  const profile::Batch& b = result_.data;
  for (const Id id : b.AttributeRefs(p.attributes)) {
    const profile::Attribute& a = b.attributes[id];
    if (b.Text(a.key) != profile::kObservationsKey) continue;
    std::vector<std::uint32_t> counts;
    if (a.value.kind == profile::Value::Kind::kBytes &&
        profile::UnpackObservations(b.Text(a.value.text), p.sample_count, counts)) {
      observations_.emplace(b.profiles.size(), std::move(counts));
    } else {
      notes_.Add(fmt::format("{}: {} is not one number for each of {} samples, left out", Where(),
                             profile::kObservationsKey, p.sample_count));
    }
    return;  // the first one wins
  }
}

void ProfilesDecoder::SetObservations() {
  if (observations_.empty()) return;
  profile::Batch& b = result_.data;
  std::vector<std::uint32_t> all(b.samples.size());
  for (std::size_t at = 0; at < b.profiles.size(); ++at) {
    const profile::Profile& p = b.profiles[at];
    const auto given = observations_.find(at);
    for (std::uint32_t i = 0; i < p.sample_count; ++i) {
      all[p.first_sample + i] =
          given != observations_.end()
              ? given->second[i]
              : static_cast<std::uint32_t>(std::clamp<std::int64_t>(
                    profile::ImpliedObservations(b, p, p.first_sample + i), 0, UINT32_MAX));
    }
  }
  b.samples.count = std::move(all);
}

// The fields from 7 up, whose numbers moved.
bool ProfilesDecoder::ReadProfileTail(Pbf& r, bool v18, profile::Profile& p) {
  profile::Batch& b = result_.data;
  const bool packed = r.wire_type() == kLen;
  if (!packed && r.wire_type() != protozero::pbf_wire_type::varint) {
    r.skip();
    return true;
  }
  if (v18 && r.tag() == old_profile::kComments) {
    if (packed) {
      AppendPackedVarints(GetView(r), comments_);
    } else {
      comments_.push_back(GetIndex(r));
    }
    return true;
  }
  switch (v18 ? r.tag() - 1 : r.tag()) {
    case profile_field::kId:
      if (packed) return ReadProfileId(GetView(r), p);
      break;
    case profile_field::kDropped:
      if (packed) break;
      p.dropped_attributes = r.get_uint32();
      return true;
    case profile_field::kPayloadFormat:
      if (!packed) break;
      return attributes_->ReadText(GetView(r), p.payload_format) ||
             Fail(".original_payload_format: " + attributes_->error());
    case profile_field::kPayload:
      if (!packed) break;
      p.payload = GetView(r);
      return true;
    case profile_field::kAttributes:
      if (packed) {
        AppendPackedVarints(GetView(r), b.attribute_refs);
      } else {
        b.attribute_refs.push_back(GetIndex(r));
      }
      return true;
    default:
      break;
  }
  r.skip();
  return true;
}

bool ProfilesDecoder::ReadProfileId(std::string_view bytes, profile::Profile& p) {
  if (bytes.empty()) return true;
  if (bytes.size() != p.id.size()) {
    return Fail(fmt::format(".profile_id: {} bytes (16 or none expected)", bytes.size()));
  }
  std::memcpy(p.id.data(), bytes.data(), p.id.size());
  if (p.id == profile::ProfileId{}) notes_.Add(Where() + ".profile_id: all zero, read as none");
  return true;
}

bool ProfilesDecoder::ReadValueType(Pbf r, std::string_view field, profile::ValueType& out) {
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(value_type::kType):
        out.type = GetIndex(r);
        break;
      case VarintKey(value_type::kUnit):
        out.unit = GetIndex(r);
        break;
      default:
        r.skip();
    }
  }
  for (Id* id : {&out.type, &out.unit}) {
    const std::string_view name = id == &out.type ? "type_strindex" : "unit_strindex";
    if (*id >= dictionary_.dictionary_strings()) {
      return Fail(fmt::format("{}.{}: {} is outside string_table ({} entries)", field, name,
                              static_cast<std::int32_t>(*id), dictionary_.dictionary_strings()));
    }
    if (dictionary_.IsBad(DictionaryDecoder::kString, *id)) {
      return Fail(
          fmt::format("{}.{}: {}", field, name, dictionary_.Why(DictionaryDecoder::kString, *id)));
    }
  }
  return true;
}

bool ProfilesDecoder::ReadSample(Pbf r, std::size_t row) {
  profile::Batch& b = result_.data;
  RawSample raw;
  Range refs{Size32(b.attribute_refs.size()), 0};
  Range values{Size32(b.values.size()), 0};
  Range times{Size32(b.times.size()), 0};
  const bool old = layout_ == Layout::kOld;
  while (r.next()) {
    std::uint32_t key = r.tag_and_type();
    if (old) {  // to today's numbers: 2 -> 4, 3 -> 2, 4 -> 3
      const Tag tag = r.tag();
      if (tag == old_sample::kValues) key += (sample::kValues - old_sample::kValues) << 3;
      if (tag == old_sample::kAttributes || tag == old_sample::kLink) key -= 1U << 3;
    }
    switch (key) {
      case VarintKey(sample::kStack):
        raw.stack = GetIndex(r);
        break;
      case VarintKey(sample::kLink):
        raw.link = GetIndex(r);
        break;
      case LenKey(sample::kAttributes):
        AppendPackedVarints(GetView(r), b.attribute_refs);
        break;
      case VarintKey(sample::kAttributes):
        b.attribute_refs.push_back(GetIndex(r));
        break;
      case LenKey(sample::kValues):
        AppendPackedVarints(GetView(r), b.values);
        break;
      case VarintKey(sample::kValues):
        b.values.push_back(r.get_int64());
        break;
      case LenKey(sample::kTimes):
        AppendPackedFixed64(GetView(r), b.times);
        break;
      case Fixed64Key(sample::kTimes):
        b.times.push_back(r.get_fixed64());
        break;
      default:
        r.skip();
    }
  }
  refs.count = Size32(b.attribute_refs.size()) - refs.begin;
  values.count = Size32(b.values.size()) - values.begin;
  times.count = Size32(b.times.size()) - times.begin;
  b.samples.stack[row] = raw.stack;
  b.samples.link[row] = raw.link;
  b.samples.attributes[row] = refs;
  b.samples.values[row] = values;
  b.samples.times[row] = times;
  return CheckSample(raw, refs) && SetValue(row, values, times);
}

bool ProfilesDecoder::CheckSample(const RawSample& raw, Range refs) {
  const profile::Batch& b = result_.data;
  if (raw.stack >= b.stacks.size()) {
    return Fail(fmt::format(".stack_index: {} is outside stack_table ({} entries)",
                            static_cast<std::int32_t>(raw.stack), b.stacks.size()));
  }
  if (raw.link >= b.links.size()) {
    return Fail(fmt::format(".link_index: {} is outside link_table ({} entries)",
                            static_cast<std::int32_t>(raw.link), b.links.size()));
  }
  if (dictionary_.any_bad()) {
    if (dictionary_.IsBad(DictionaryDecoder::kStack, raw.stack)) {
      return Fail(".stack_index: " + dictionary_.Why(DictionaryDecoder::kStack, raw.stack));
    }
    if (dictionary_.IsBad(DictionaryDecoder::kLink, raw.link)) {
      return Fail(".link_index: " + dictionary_.Why(DictionaryDecoder::kLink, raw.link));
    }
  }
  return CheckRefs(refs);
}

bool ProfilesDecoder::CheckRefs(Range range) {
  const profile::Batch& b = result_.data;
  for (const Id id : b.AttributeRefs(range)) {
    if (id >= b.attributes.size()) {
      return Fail(fmt::format(".attribute_indices: {} is outside attribute_table ({} entries)",
                              static_cast<std::int32_t>(id), b.attributes.size()));
    }
    if (dictionary_.IsBad(DictionaryDecoder::kAttribute, id)) {
      return Fail(".attribute_indices: " + dictionary_.Why(DictionaryDecoder::kAttribute, id));
    }
  }
  return true;
}

bool ProfilesDecoder::SetValue(std::size_t row, Range values, Range times) {
  profile::Batch& b = result_.data;
  if (values.count == 0) {
    if (times.count == 0) return Fail(": neither values nor timestamps_unix_nano");
    b.samples.value[row] = times.count;
    return true;
  }
  if (times.count != 0 && times.count != values.count) {
    return Fail(fmt::format(": {} values but {} timestamps_unix_nano", values.count, times.count));
  }
  std::int64_t sum = 0;
  for (std::uint32_t i = 0; i < values.count; ++i) {
    if (__builtin_add_overflow(sum, b.values[values.begin + i], &sum)) {
      return Fail(".values: their sum does not fit 64 bits");
    }
  }
  b.samples.value[row] = sum;
  return true;
}

// 1.8 had a field for comments; since then they are the attribute that the pprof mapping defines.
void ProfilesDecoder::KeepComments() {
  profile::Batch& b = result_.data;
  std::vector<std::string_view> texts;
  for (const Id id : comments_) {
    if (id < dictionary_.dictionary_strings()) texts.push_back(b.strings[id]);
  }
  if (texts.size() != comments_.size())
    notes_.Add(Where() + ".comment_strindices: outside string_table");
  if (texts.empty()) return;
  const Id key = b.AddText("pprof.profile.comment");
  const Id text = b.AddText(StringArrayValue(texts));
  b.attribute_refs.push_back(Size32(b.attributes.size()));
  b.attributes.push_back({key, 0, {profile::Value::Kind::kArray, text, 0}});
}

void ProfilesDecoder::MarkCpuSiblings(std::size_t first_profile) {
  profile::Batch& b = result_.data;
  const auto is = [&b](const profile::Profile& p, std::string_view type, std::string_view unit) {
    return b.Text(p.sample_type.type) == type && b.Text(p.sample_type.unit) == unit;
  };
  const std::span profiles = std::span(b.profiles).subspan(first_profile);
  const bool has_cpu = std::ranges::any_of(
      profiles, [&](const profile::Profile& p) { return is(p, "cpu", "nanoseconds"); });
  if (!has_cpu) return;
  for (profile::Profile& p : profiles) p.has_cpu_sibling = is(p, "samples", "count");
}

}  // namespace

Result<DecodedProfiles> DecodeOtlpProfiles(std::shared_ptr<const std::string> body) {
  return DecodeOtlpProfilesAs(std::move(body), std::nullopt);
}

Result<DecodedProfiles> DecodeOtlpProfilesAs(std::shared_ptr<const std::string> body,
                                             std::optional<Layout> layout) {
  if (body->size() > std::numeric_limits<std::uint32_t>::max()) {
    return Error::At(Code::kLimit, "request", "more than 4 GiB");
  }
  ProfilesDecoder decoder(*body);
  try {
    Result<DecodedProfiles> result = decoder.Run(layout);
    if (result) result->data.Own(std::move(body));
    return result;
  } catch (const protozero::exception& e) {
    return Error::At(Code::kCorrupt, decoder.Where(), e.what());
  }
}

}  // namespace wherefore::formats
