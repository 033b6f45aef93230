// Batch -> pprof. Profiles with the same samples become the sample types of one table; samples of
// the others are appended, with zeros in columns that are not theirs.
#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "formats/formats.h"
#include "formats/otlp/common.h"
#include "formats/pprof/fields.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace {

using profile::Attribute;
using profile::Id;
using profile::Value;

std::int64_t Clamp(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(value, kMost));
}

// Profiles that share their samples, with the column of each.
struct Group {
  std::vector<std::size_t> profiles;
  std::vector<std::size_t> columns;
};

class PprofEncoder {
 public:
  PprofEncoder(const profile::Batch& batch, const PprofOptions& options)
      : b_(batch), options_(options), w_(out_) {}
  std::string Run();

 private:
  void MakeGroups();
  [[nodiscard]] Hash128 SampleKey(const profile::Profile& p) const;
  std::size_t ColumnOf(const profile::ValueType& type);
  void WriteTypes();
  void WriteSamples();
  void WriteLabels(PbfWriter& w, std::size_t row);
  void WriteLabel(PbfWriter& w, const Attribute& a);
  [[nodiscard]] std::vector<unsigned> KnownOfMappings() const;
  void WriteMappings();
  void WriteFrames();
  void WriteFunctions();
  void WriteHeader();
  void WriteComments(const profile::Profile& p);

  std::int64_t Text(std::string_view text);
  void AddString(PbfWriter& w, Tag tag, std::string_view text) {
    if (const std::int64_t id = Text(text); id != 0) w.add_int64(tag, id);
  }
  // The attribute called `key`, or null.
  [[nodiscard]] const Attribute* Find(profile::Range refs, std::string_view key) const;
  [[nodiscard]] bool Flag(profile::Range refs, std::string_view key) const {
    const Attribute* a = Find(refs, key);
    return a != nullptr && a->value.kind == Value::Kind::kBool && a->value.number != 0;
  }
  [[nodiscard]] std::string_view FindText(profile::Range refs, std::string_view key) const {
    const Attribute* a = Find(refs, key);
    return a == nullptr || a->value.kind != Value::Kind::kString ? "" : b_.Text(a->value.text);
  }

  const profile::Batch& b_;
  const PprofOptions& options_;
  std::string out_;
  PbfWriter w_;
  std::vector<Group> groups_;
  std::vector<profile::ValueType> types_;
  std::unordered_map<std::string, std::int64_t> text_ids_;
  std::vector<std::string> texts_{""};
};

std::string PprofEncoder::Run() {
  MakeGroups();
  WriteTypes();
  WriteSamples();
  WriteMappings();
  WriteFrames();
  WriteFunctions();
  WriteHeader();
  for (const std::string& text : texts_) w_.add_string(pprof::profile_field::kString, text);
  return std::move(out_);
}

std::int64_t PprofEncoder::Text(std::string_view text) {
  if (text.empty()) return 0;
  const auto [it, is_new] = text_ids_.try_emplace(std::string(text), texts_.size());
  if (is_new) texts_.emplace_back(text);
  return it->second;
}

const Attribute* PprofEncoder::Find(profile::Range refs, std::string_view key) const {
  for (const Id id : b_.AttributeRefs(refs)) {
    if (b_.Text(b_.attributes[id].key) == key) return &b_.attributes[id];
  }
  return nullptr;
}

// Equal keys: the same stacks, attributes and links in the same order.
Hash128 PprofEncoder::SampleKey(const profile::Profile& p) const {
  std::vector<std::uint32_t> key;
  key.reserve(std::size_t{p.sample_count} * 4);
  for (std::size_t i = p.first_sample; i < std::size_t{p.first_sample} + p.sample_count; ++i) {
    key.push_back(b_.samples.stack[i]);
    key.push_back(b_.samples.link[i]);
    key.push_back(b_.samples.attributes[i].count);
    for (const Id id : b_.AttributeRefs(b_.samples.attributes[i])) key.push_back(id);
  }
  return HashSpan(std::span<const std::uint32_t>(key));
}

std::size_t PprofEncoder::ColumnOf(const profile::ValueType& type) {
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (b_.Text(types_[i].type) == b_.Text(type.type) &&
        b_.Text(types_[i].unit) == b_.Text(type.unit)) {
      return i;
    }
  }
  types_.push_back(type);
  return types_.size() - 1;
}

void PprofEncoder::MakeGroups() {
  std::unordered_map<Hash128, std::size_t> open;  // by samples: the group a profile may join
  for (std::size_t i = 0; i < b_.profiles.size(); ++i) {
    const std::size_t column = ColumnOf(b_.profiles[i].sample_type);
    const auto [it, is_new] = open.try_emplace(SampleKey(b_.profiles[i]), groups_.size());
    const bool taken = !is_new && std::ranges::find(groups_[it->second].columns, column) !=
                                      groups_[it->second].columns.end();
    if (is_new || taken) {
      it->second = groups_.size();
      groups_.emplace_back();
    }
    groups_[it->second].profiles.push_back(i);
    groups_[it->second].columns.push_back(column);
  }
}

void PprofEncoder::WriteTypes() {
  for (const profile::ValueType& type : types_) {
    PbfWriter t(w_, pprof::profile_field::kSampleType);
    AddString(t, pprof::value_type::kType, b_.Text(type.type));
    AddString(t, pprof::value_type::kUnit, b_.Text(type.unit));
  }
}

void PprofEncoder::WriteSamples() {
  std::vector<std::uint64_t> locations;
  std::vector<std::int64_t> values(types_.size());
  for (const Group& group : groups_) {
    const profile::Profile& first = b_.profiles[group.profiles[0]];
    for (std::size_t i = 0; i < first.sample_count; ++i) {
      const std::size_t row = first.first_sample + i;
      locations.clear();
      for (const Id frame : b_.StackFrames(b_.samples.stack[row])) {
        if (frame != 0) locations.push_back(frame);  // pprof has no unknown location
      }
      std::ranges::fill(values, 0);
      for (std::size_t n = 0; n < group.profiles.size(); ++n) {
        values[group.columns[n]] =
            b_.samples.value[b_.profiles[group.profiles[n]].first_sample + i];
      }
      PbfWriter s(w_, pprof::profile_field::kSample);
      s.add_packed_uint64(pprof::sample::kLocation, locations.begin(), locations.end());
      s.add_packed_int64(pprof::sample::kValue, values.begin(), values.end());
      WriteLabels(s, row);
    }
  }
}

void PprofEncoder::WriteLabels(PbfWriter& w, std::size_t row) {
  for (const Id id : b_.AttributeRefs(b_.samples.attributes[row])) {
    PbfWriter l(w, pprof::sample::kLabel);
    WriteLabel(l, b_.attributes[id]);
  }
  const Id link = b_.samples.link[row];
  if (link == 0) return;
  const auto add = [&](std::string_view key, const std::string& hex) {
    PbfWriter l(w, pprof::sample::kLabel);
    AddString(l, pprof::label::kKey, key);
    AddString(l, pprof::label::kStr, hex);
  };
  const profile::Link& k = b_.links[link];
  if (k.trace != profile::TraceId{}) add(pprof::kTraceIdLabel, ToHex(k.trace));
  if (k.span != profile::SpanId{}) add(pprof::kSpanIdLabel, ToHex(k.span));
}

void PprofEncoder::WriteLabel(PbfWriter& w, const Attribute& a) {
  AddString(w, pprof::label::kKey, b_.Text(a.key));
  if (a.value.kind == Value::Kind::kInt) {
    AddInt(w, pprof::label::kNum, a.value.number);
    AddString(w, pprof::label::kUnit, b_.Text(a.unit));
  } else {
    AddString(w, pprof::label::kStr, profile::ValueText(b_, a.value));
  }
}

// Per mapping, the flags (bits in the order of kMappingFlagKeys) that hold for each of its frames
// (inlined: for any). Where a mapping lacks a flag, tools symbolize it themselves and replace our
// names.
std::vector<unsigned> PprofEncoder::KnownOfMappings() const {
  constexpr unsigned kFunctions = 1;
  constexpr unsigned kFilenames = 2;
  constexpr unsigned kLineNumbers = 4;
  constexpr unsigned kInlined = 8;
  std::vector<unsigned> missing(b_.mappings.size());
  std::vector<unsigned> there(b_.mappings.size());
  for (std::size_t i = 1; i < b_.frames.size(); ++i) {
    const profile::Frame& f = b_.frames[i];
    const auto lines = b_.FrameLines(f);
    unsigned without = lines.empty() ? kFunctions | kFilenames | kLineNumbers : 0;
    for (const profile::Line& l : lines) {
      const profile::Function& function = b_.functions[l.function];
      if (b_.Text(function.name).empty()) without |= kFunctions;
      if (b_.Text(function.filename).empty()) without |= kFilenames;
      if (l.line == 0) without |= kLineNumbers;
    }
    missing[f.mapping] |= without;
    there[f.mapping] |= kFunctions | kFilenames | kLineNumbers | (lines.size() > 1 ? kInlined : 0);
  }
  for (std::size_t i = 0; i < there.size(); ++i) there[i] &= ~missing[i];
  return there;
}

void PprofEncoder::WriteMappings() {
  const std::vector<unsigned> known =
      options_.named ? KnownOfMappings() : std::vector<unsigned>(b_.mappings.size());
  for (std::size_t i = 1; i < b_.mappings.size(); ++i) {
    const profile::Mapping& m = b_.mappings[i];
    PbfWriter w(w_, pprof::profile_field::kMapping);
    w.add_uint64(pprof::mapping::kId, i);
    AddUint(w, pprof::mapping::kStart, m.start);
    AddUint(w, pprof::mapping::kLimit, m.limit);
    AddUint(w, pprof::mapping::kOffset, m.file_offset);
    AddString(w, pprof::mapping::kFilename, b_.Text(m.filename));
    std::string_view build = FindText(m.attributes, pprof::kGnuBuildIdKey);
    if (build.empty()) build = FindText(m.attributes, pprof::kGoBuildIdKey);
    AddString(w, pprof::mapping::kBuildId, build);
    for (Tag flag = 0; flag < std::size(pprof::kMappingFlagKeys); ++flag) {
      if ((known[i] >> flag & 1U) != 0 || Flag(m.attributes, pprof::kMappingFlagKeys[flag])) {
        w.add_bool(pprof::mapping::kHasFunctions + flag, true);
      }
    }
  }
}

void PprofEncoder::WriteFrames() {
  for (std::size_t i = 1; i < b_.frames.size(); ++i) {
    const profile::Frame& f = b_.frames[i];
    PbfWriter w(w_, pprof::profile_field::kLocation);
    w.add_uint64(pprof::location::kId, i);
    AddUint(w, pprof::location::kMapping, f.mapping);
    AddUint(w, pprof::location::kAddress, f.address);
    for (const profile::Line& l : b_.FrameLines(f)) {
      PbfWriter m(w, pprof::location::kLine);
      AddUint(m, pprof::line::kFunction, l.function);
      AddInt(m, pprof::line::kLine, l.line);
      AddInt(m, pprof::line::kColumn, l.column);
    }
    if (Flag(f.attributes, pprof::kIsFoldedKey)) w.add_bool(pprof::location::kIsFolded, true);
  }
}

void PprofEncoder::WriteFunctions() {
  for (std::size_t i = 1; i < b_.functions.size(); ++i) {
    const profile::Function& f = b_.functions[i];
    PbfWriter w(w_, pprof::profile_field::kFunction);
    w.add_uint64(pprof::function::kId, i);
    AddString(w, pprof::function::kName, b_.Text(f.name));
    AddString(w, pprof::function::kSystemName, b_.Text(f.system_name));
    AddString(w, pprof::function::kFilename, b_.Text(f.filename));
    AddInt(w, pprof::function::kStartLine, f.start_line);
  }
}

void PprofEncoder::WriteHeader() {
  namespace f = pprof::profile_field;
  std::uint64_t begin = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t end = 0;
  const profile::Profile* period = nullptr;
  for (const profile::Profile& p : b_.profiles) {
    begin = std::min(begin, p.time_ns);
    end = std::max(end, p.time_ns + p.duration_ns);
    if (period == nullptr && (p.period != 0 || p.period_type.type != 0)) period = &p;
  }
  const profile::Profile& p = b_.profiles[0];
  AddString(w_, f::kDropFrames, FindText(p.attributes, pprof::kDropFramesKey));
  AddString(w_, f::kKeepFrames, FindText(p.attributes, pprof::kKeepFramesKey));
  AddInt(w_, f::kTime, Clamp(begin));
  AddInt(w_, f::kDuration, Clamp(end > begin ? end - begin : 0));
  if (period != nullptr) {
    PbfWriter t(w_, f::kPeriodType);
    AddString(t, pprof::value_type::kType, b_.Text(period->period_type.type));
    AddString(t, pprof::value_type::kUnit, b_.Text(period->period_type.unit));
    t.commit();
    AddInt(w_, f::kPeriod, period->period);
  }
  WriteComments(p);
  std::string_view shown = options_.shown;
  for (const Attribute& a : b_.OwnAttributes(b_.scopes[p.scope].attributes)) {
    if (b_.Text(a.key) == pprof::kDefaultSampleTypeKey && a.value.kind == Value::Kind::kString) {
      shown = b_.Text(a.value.text);
    }
  }
  AddString(w_, f::kDefaultSampleType, shown);
  AddString(w_, f::kDocUrl, FindText(p.attributes, pprof::kDocUrlKey));
}

void PprofEncoder::WriteComments(const profile::Profile& p) {
  const Attribute* a = Find(p.attributes, pprof::kCommentKey);
  if (a == nullptr || a->value.kind != Value::Kind::kArray) return;
  std::vector<std::int64_t> comments;
  for (const std::string_view text : StringArrayItems(b_.Text(a->value.text))) {
    comments.push_back(Text(text));
  }
  w_.add_packed_int64(pprof::profile_field::kComment, comments.begin(), comments.end());
}

}  // namespace

Result<std::string> EncodePprof(const profile::Batch& batch, const PprofOptions& options) {
  if (batch.profiles.empty()) return Error(Code::kInvalid, "no profile to write as pprof");
  return PprofEncoder(batch, options).Run();
}

}  // namespace wherefore::formats
