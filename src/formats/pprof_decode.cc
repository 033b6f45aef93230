// pprof -> Batch: one profile per sample type, all with the same samples in the same order, so that
// EncodePprof can put them side by side again.
//
// A pprof file is one thing: a reference that leads nowhere makes the file corrupt, there is no
// part of it to keep. Names that are not UTF-8 are repaired (utf8.h) and noted.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "formats/formats.h"
#include "formats/gzip.h"
#include "formats/notes.h"
#include "formats/otlp_common.h"
#include "formats/pprof_fields.h"
#include "formats/utf8.h"
#include "formats/wire.h"

namespace wherefore::formats {

namespace {

using profile::Attribute;
using profile::Id;
using profile::Range;
using profile::Value;

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

std::uint32_t Size32(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

// pprof's ids are any numbers, in practice 1, 2, 3...: those need no map.
class IdMap {
 public:
  // False when the id is taken, or 0.
  bool Add(std::uint64_t id, Id index) {
    if (id == 0) return false;
    if (id == dense_ + 1 && id == index) {
      ++dense_;
      return !sparse_.contains(id);
    }
    return id > dense_ && sparse_.try_emplace(id, index).second;
  }
  [[nodiscard]] std::optional<Id> Find(std::uint64_t id) const {
    if (id <= dense_) return static_cast<Id>(id);
    const auto it = sparse_.find(id);
    return it == sparse_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  std::uint64_t dense_ = 0;  // ids up to this are their own index; 0 means "none"
  std::unordered_map<std::uint64_t, Id> sparse_;
};

struct Label {
  std::uint64_t key = 0;
  std::uint64_t str = 0;
  std::int64_t num = 0;
  std::uint64_t unit = 0;
};

class PprofDecoder {
 public:
  PprofDecoder(std::string_view bytes, const PprofContext& context)
      : bytes_(bytes), context_(context) {}

  // Throws protozero's exceptions on broken protobuf; path() says where.
  Result<DecodedProfiles> Run();
  [[nodiscard]] std::string path() const {
    return at_ == nullptr ? "profile" : fmt::format("{}[{}]", at_, index_);
  }

 private:
  struct Header {
    std::vector<profile::ValueType> types;
    profile::ValueType period_type;
    std::int64_t period = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t drop_frames = 0, keep_frames = 0, default_type = 0, doc_url = 0;
    std::vector<std::uint64_t> comments;
  };

  void ReadStrings();
  bool ReadHeader();
  bool ReadTables();
  bool ReadMapping(Pbf r, Id index);
  bool ReadFunction(Pbf r, Id index);
  bool ReadLocation(Pbf r, Id index);
  bool ReadLine(Pbf r);
  bool ReadSamples();
  bool ReadSample(Pbf r, std::size_t row, std::size_t rows);
  bool ReadLabels(const std::vector<Label>& labels, std::size_t row);
  void MakeResourceAndScope();
  void MakeProfiles();
  bool ReadValueType(Pbf r, profile::ValueType& out);
  template <typename Fn>
  bool Each(Tag tag, const char* name, Fn fn);

  // Checks a string index.
  [[nodiscard]] bool Text(std::uint64_t index, Id& out) {
    if (index >= strings_)
      return Fail(fmt::format("string {} is outside string_table ({} entries)",
                              static_cast<std::int64_t>(index), strings_));
    out = static_cast<Id>(index);
    return true;
  }
  [[nodiscard]] bool Fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  // An attribute of the table; equal ones share an entry.
  Id AttributeFor(const Attribute& attribute);
  Id TextAttribute(std::string_view key, Id text);
  Id FlagAttribute(std::string_view key);
  Id KeyText(std::string_view key);

  std::string_view bytes_;
  const PprofContext& context_;
  DecodedProfiles result_;
  Notes notes_;
  Header header_;
  std::size_t strings_ = 0;
  IdMap mappings_, functions_, locations_;
  std::unordered_map<Hash128, Id> attribute_ids_;
  std::unordered_map<std::string_view, Id> key_texts_;
  Range profile_attributes_;
  std::vector<std::uint64_t> scratch_ids_;
  std::vector<std::int64_t> scratch_values_;
  std::string reason_;
  const char* at_ = nullptr;
  std::size_t index_ = 0;
};

Result<DecodedProfiles> PprofDecoder::Run() {
  ReadStrings();
  if (!ReadHeader() || !ReadTables() || !ReadSamples()) {
    return Error(Code::kCorrupt, fmt::format("{}: {}", path(), reason_));
  }
  result_.message = notes_.Text();
  return std::move(result_);
}

// Calls fn(message, index from 1) for every entry of a table.
template <typename Fn>
bool PprofDecoder::Each(Tag tag, const char* name, Fn fn) {
  at_ = name;
  index_ = 0;
  for (Pbf r = Reader(bytes_); r.next(tag, kLen); ++index_) {
    if (!fn(r.get_message(), Size32(index_ + 1))) return false;
  }
  at_ = nullptr;
  return true;
}

void PprofDecoder::ReadStrings() {
  profile::Batch& b = result_.data;
  b.strings.clear();
  at_ = "string_table";
  for (Pbf r = Reader(bytes_); r.next(pprof::profile_field::kString, kLen); ++index_) {
    const std::string_view text = GetView(r);
    if (IsValidUtf8(text)) {
      b.strings.push_back(text);
    } else {
      notes_.Add(fmt::format("string_table[{}] is not UTF-8 and was repaired", b.strings.size()));
      b.AddText(ReplaceBadUtf8(text));
    }
  }
  if (b.strings.empty()) b.strings.emplace_back();
  if (!b.strings[0].empty()) {
    notes_.Add("string_table[0] is not empty; index 0 is read as \"not set\"");
    b.strings[0] = {};
  }
  strings_ = b.strings.size();
  at_ = nullptr;
}

bool PprofDecoder::ReadValueType(Pbf r, profile::ValueType& out) {
  std::uint64_t type = 0;
  std::uint64_t unit = 0;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(pprof::value_type::kType):
        type = r.get_uint64();
        break;
      case VarintKey(pprof::value_type::kUnit):
        unit = r.get_uint64();
        break;
      default:
        r.skip();
    }
  }
  return Text(type, out.type) && Text(unit, out.unit);
}

bool PprofDecoder::ReadHeader() {
  namespace f = pprof::profile_field;
  const auto positive = [](std::int64_t v) { return v < 0 ? 0 : static_cast<std::uint64_t>(v); };
  for (Pbf r = Reader(bytes_); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(f::kSampleType):
        if (!ReadValueType(r.get_message(), header_.types.emplace_back())) return false;
        break;
      case LenKey(f::kPeriodType):
        if (!ReadValueType(r.get_message(), header_.period_type)) return false;
        break;
      case VarintKey(f::kDropFrames):
        header_.drop_frames = r.get_uint64();
        break;
      case VarintKey(f::kKeepFrames):
        header_.keep_frames = r.get_uint64();
        break;
      case VarintKey(f::kTime):
        header_.time_ns = positive(r.get_int64());
        break;
      case VarintKey(f::kDuration):
        header_.duration_ns = positive(r.get_int64());
        break;
      case VarintKey(f::kPeriod):
        header_.period = r.get_int64();
        break;
      case VarintKey(f::kComment):
        header_.comments.push_back(r.get_uint64());
        break;
      case LenKey(f::kComment):
        AppendPackedVarints(GetView(r), header_.comments);
        break;
      case VarintKey(f::kDefaultSampleType):
        header_.default_type = r.get_uint64();
        break;
      case VarintKey(f::kDocUrl):
        header_.doc_url = r.get_uint64();
        break;
      default:
        r.skip();
    }
  }
  constexpr std::size_t kMostTypes = 100;  // each sample costs a row per type
  if (header_.types.empty()) return Fail("no sample_type: not a pprof file");
  if (header_.types.size() > kMostTypes) return Fail("more than 100 sample types");
  Id unused = 0;
  for (const std::uint64_t s :
       {header_.drop_frames, header_.keep_frames, header_.default_type, header_.doc_url}) {
    if (!Text(s, unused)) return false;
  }
  return std::ranges::all_of(header_.comments, [&](std::uint64_t s) { return Text(s, unused); });
}

bool PprofDecoder::ReadTables() {
  namespace f = pprof::profile_field;
  return Each(f::kMapping, "mapping", [this](Pbf r, Id i) { return ReadMapping(r, i); }) &&
         Each(f::kFunction, "function", [this](Pbf r, Id i) { return ReadFunction(r, i); }) &&
         Each(f::kLocation, "location", [this](Pbf r, Id i) { return ReadLocation(r, i); });
}

bool PprofDecoder::ReadMapping(Pbf r, Id index) {
  profile::Batch& b = result_.data;
  profile::Mapping m;
  std::uint64_t id = 0;
  std::uint64_t filename = 0;
  std::uint64_t build_id = 0;
  m.attributes.begin = Size32(b.attribute_refs.size());
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(pprof::mapping::kId):
        id = r.get_uint64();
        break;
      case VarintKey(pprof::mapping::kStart):
        m.start = r.get_uint64();
        break;
      case VarintKey(pprof::mapping::kLimit):
        m.limit = r.get_uint64();
        break;
      case VarintKey(pprof::mapping::kOffset):
        m.file_offset = r.get_uint64();
        break;
      case VarintKey(pprof::mapping::kFilename):
        filename = r.get_uint64();
        break;
      case VarintKey(pprof::mapping::kBuildId):
        build_id = r.get_uint64();
        break;
      case VarintKey(pprof::mapping::kHasFunctions):
      case VarintKey(pprof::mapping::kHasFilenames):
      case VarintKey(pprof::mapping::kHasLineNumbers):
      case VarintKey(pprof::mapping::kHasInlineFrames): {
        const std::string_view key =
            pprof::kMappingFlagKeys[r.tag() - pprof::mapping::kHasFunctions];
        if (GetBool(r)) b.attribute_refs.push_back(FlagAttribute(key));
        break;
      }
      default:
        r.skip();
    }
  }
  Id build = 0;
  if (!Text(filename, m.filename) || !Text(build_id, build)) return false;
  if (build != 0) {
    // Go's own build ids are four base64 pieces; everybody else writes the GNU note in hex.
    const bool go = b.Text(build).find('/') != std::string_view::npos;
    b.attribute_refs.push_back(
        TextAttribute(go ? pprof::kGoBuildIdKey : pprof::kGnuBuildIdKey, build));
  }
  m.attributes.count = Size32(b.attribute_refs.size()) - m.attributes.begin;
  b.mappings.push_back(m);
  return mappings_.Add(id, index) || Fail(fmt::format("id {} is 0 or not unique", id));
}

bool PprofDecoder::ReadFunction(Pbf r, Id index) {
  profile::Function f;
  std::uint64_t id = 0;
  std::uint64_t name = 0;
  std::uint64_t system_name = 0;
  std::uint64_t filename = 0;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(pprof::function::kId):
        id = r.get_uint64();
        break;
      case VarintKey(pprof::function::kName):
        name = r.get_uint64();
        break;
      case VarintKey(pprof::function::kSystemName):
        system_name = r.get_uint64();
        break;
      case VarintKey(pprof::function::kFilename):
        filename = r.get_uint64();
        break;
      case VarintKey(pprof::function::kStartLine):
        f.start_line = r.get_int64();
        break;
      default:
        r.skip();
    }
  }
  if (!Text(name, f.name) || !Text(system_name, f.system_name) || !Text(filename, f.filename)) {
    return false;
  }
  result_.data.functions.push_back(f);
  return functions_.Add(id, index) || Fail(fmt::format("id {} is 0 or not unique", id));
}

bool PprofDecoder::ReadLocation(Pbf r, Id index) {
  profile::Batch& b = result_.data;
  profile::Frame f;
  std::uint64_t id = 0;
  std::uint64_t mapping_id = 0;
  bool folded = false;
  f.lines.begin = Size32(b.lines.size());
  f.attributes.begin = Size32(b.attribute_refs.size());
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(pprof::location::kId):
        id = r.get_uint64();
        break;
      case VarintKey(pprof::location::kMapping):
        mapping_id = r.get_uint64();
        break;
      case VarintKey(pprof::location::kAddress):
        f.address = r.get_uint64();
        break;
      case LenKey(pprof::location::kLine):
        if (!ReadLine(r.get_message())) return false;
        break;
      case VarintKey(pprof::location::kIsFolded):
        folded = GetBool(r);
        break;
      default:
        r.skip();
    }
  }
  const std::optional<Id> m = mappings_.Find(mapping_id);
  if (!m) return Fail(fmt::format("mapping_id: there is no mapping {}", mapping_id));
  f.mapping = *m;
  f.lines.count = Size32(b.lines.size()) - f.lines.begin;
  if (folded) b.attribute_refs.push_back(FlagAttribute(pprof::kIsFoldedKey));
  f.attributes.count = Size32(b.attribute_refs.size()) - f.attributes.begin;
  b.frames.push_back(f);
  return locations_.Add(id, index) || Fail(fmt::format("id {} is 0 or not unique", id));
}

bool PprofDecoder::ReadLine(Pbf r) {
  profile::Line l;
  std::uint64_t function_id = 0;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case VarintKey(pprof::line::kFunction):
        function_id = r.get_uint64();
        break;
      case VarintKey(pprof::line::kLine):
        l.line = r.get_int64();
        break;
      case VarintKey(pprof::line::kColumn):
        l.column = r.get_int64();
        break;
      default:
        r.skip();
    }
  }
  const std::optional<Id> f = functions_.Find(function_id);
  if (!f) return Fail(fmt::format("line.function_id: there is no function {}", function_id));
  l.function = *f;
  result_.data.lines.push_back(l);
  return true;
}

bool PprofDecoder::ReadSamples() {
  std::size_t rows = 0;
  for (Pbf r = Reader(bytes_); r.next(pprof::profile_field::kSample, kLen);) {
    // Room for an empty sample costs us far more than it costs to send.
    if (GetView(r).size() < header_.types.size()) {
      at_ = "sample";
      index_ = rows;
      return Fail("fewer values than sample types");
    }
    ++rows;
  }
  constexpr std::size_t kRowBytes = 48;
  constexpr std::size_t kAlwaysFine = std::size_t{16} << 20;
  if (rows * header_.types.size() * kRowBytes > kAlwaysFine + 24 * bytes_.size()) {
    return Fail("too many sample types for samples this small");
  }
  profile::Batch& b = result_.data;
  b.samples.Resize(rows * header_.types.size());
  b.values.resize(rows * header_.types.size());
  const bool ok = Each(pprof::profile_field::kSample, "sample",
                       [&](Pbf r, Id i) { return ReadSample(r, i - 1, rows); });
  if (!ok) return false;
  MakeResourceAndScope();
  MakeProfiles();
  return true;
}

bool PprofDecoder::ReadSample(Pbf r, std::size_t row, std::size_t rows) {
  profile::Batch& b = result_.data;
  scratch_ids_.clear();
  scratch_values_.clear();
  std::vector<Label> labels;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(pprof::sample::kLocation):
        AppendPackedVarints(GetView(r), scratch_ids_);
        break;
      case VarintKey(pprof::sample::kLocation):
        scratch_ids_.push_back(r.get_uint64());
        break;
      case LenKey(pprof::sample::kValue):
        AppendPackedVarints(GetView(r), scratch_values_);
        break;
      case VarintKey(pprof::sample::kValue):
        scratch_values_.push_back(r.get_int64());
        break;
      case LenKey(pprof::sample::kLabel): {
        Label& l = labels.emplace_back();
        for (Pbf m = r.get_message(); m.next();) {
          switch (m.tag_and_type()) {
            case VarintKey(pprof::label::kKey):
              l.key = m.get_uint64();
              break;
            case VarintKey(pprof::label::kStr):
              l.str = m.get_uint64();
              break;
            case VarintKey(pprof::label::kNum):
              l.num = m.get_int64();
              break;
            case VarintKey(pprof::label::kUnit):
              l.unit = m.get_uint64();
              break;
            default:
              m.skip();
          }
        }
        break;
      }
      default:
        r.skip();
    }
  }
  const std::size_t types = header_.types.size();
  if (scratch_values_.size() != types) {
    return Fail(fmt::format("{} values for {} sample types", scratch_values_.size(), types));
  }
  const Range stack_range{Size32(b.stack_frames.size()), Size32(scratch_ids_.size())};
  for (const std::uint64_t id : scratch_ids_) {
    const std::optional<Id> frame = locations_.Find(id);
    if (!frame || *frame == 0) return Fail(fmt::format("location_id: there is no location {}", id));
    b.stack_frames.push_back(*frame);
  }
  b.stacks.push_back(stack_range);
  if (!ReadLabels(labels, row)) return false;
  for (std::size_t t = 0; t < types; ++t) {
    const std::size_t at = t * rows + row;
    b.samples.stack[at] = Size32(b.stacks.size() - 1);
    b.samples.attributes[at] = b.samples.attributes[row];
    b.samples.link[at] = b.samples.link[row];
    b.samples.value[at] = scratch_values_[t];
    b.samples.values[at] = {Size32(at), 1};
    b.values[at] = scratch_values_[t];
  }
  return true;
}

template <std::size_t N>
bool ParseId(std::string_view hex, std::array<std::uint8_t, N>& out) {
  if (hex.size() != 2 * N) return false;
  const std::optional<std::string> bytes = FromHex(hex);
  if (!bytes) return false;
  std::memcpy(out.data(), bytes->data(), N);
  return out != std::array<std::uint8_t, N>{};
}

// Labels become attributes, except those that tie the sample to a span: they become its link.
bool PprofDecoder::ReadLabels(const std::vector<Label>& labels, std::size_t row) {
  profile::Batch& b = result_.data;
  Range refs{Size32(b.attribute_refs.size()), 0};
  profile::Link found;
  for (const Label& l : labels) {
    Attribute a;
    Id str = 0;
    if (!Text(l.key, a.key) || !Text(l.str, str) || !Text(l.unit, a.unit)) return false;
    const std::string_view key = b.Text(a.key);
    if (key == pprof::kTraceIdLabel && ParseId(b.Text(str), found.trace)) continue;
    if (key == pprof::kSpanIdLabel && ParseId(b.Text(str), found.span)) continue;
    a.value = str != 0 ? Value{Value::Kind::kString, str, 0} : Value{Value::Kind::kInt, 0, l.num};
    b.attribute_refs.push_back(AttributeFor(a));
  }
  refs.count = Size32(b.attribute_refs.size()) - refs.begin;
  b.samples.attributes[row] = refs;
  if (found.trace != profile::TraceId{} || found.span != profile::SpanId{}) {
    const bool same = b.links.back().trace == found.trace && b.links.back().span == found.span;
    if (!same) b.links.push_back(found);
    b.samples.link[row] = Size32(b.links.size() - 1);
  }
  return true;
}

Id PprofDecoder::AttributeFor(const Attribute& a) {
  const std::uint64_t parts[] = {a.key, a.unit, static_cast<std::uint64_t>(a.value.kind),
                                 a.value.text, static_cast<std::uint64_t>(a.value.number)};
  std::vector<Attribute>& table = result_.data.attributes;
  const auto [it, is_new] = attribute_ids_.try_emplace(
      HashSpan(std::span<const std::uint64_t>(parts)), Size32(table.size()));
  if (is_new) table.push_back(a);
  return it->second;
}

Id PprofDecoder::KeyText(std::string_view key) {
  const auto [it, is_new] = key_texts_.try_emplace(key, 0);
  if (is_new) it->second = result_.data.AddText(key);
  return it->second;
}
Id PprofDecoder::TextAttribute(std::string_view key, Id text) {
  return AttributeFor({KeyText(key), 0, {Value::Kind::kString, text, 0}});
}
Id PprofDecoder::FlagAttribute(std::string_view key) {
  return AttributeFor({KeyText(key), 0, {Value::Kind::kBool, 0, 1}});
}

void PprofDecoder::MakeResourceAndScope() {
  profile::Batch& b = result_.data;
  const auto own = [&b](std::string_view key, Id text, Range& range) {
    if (range.count == 0) range.begin = Size32(b.own_attributes.size());
    const Id key_id = b.AddText(key);
    b.own_attributes.push_back({key_id, 0, {Value::Kind::kString, text, 0}});
    ++range.count;
  };
  profile::Resource res;
  if (!context_.service.empty()) own("service.name", b.AddText(context_.service), res.attributes);
  for (const auto& [key, value] : context_.labels) own(key, b.AddText(value), res.attributes);
  b.resources.push_back(res);
  profile::Scope sc;
  if (header_.default_type != 0) {
    own(pprof::kDefaultSampleTypeKey, static_cast<Id>(header_.default_type), sc.attributes);
  }
  b.scopes.push_back(sc);

  profile_attributes_.begin = Size32(b.attribute_refs.size());
  const auto text = [&](std::string_view key, std::uint64_t s) {
    if (s != 0) b.attribute_refs.push_back(TextAttribute(key, static_cast<Id>(s)));
  };
  text(pprof::kDropFramesKey, header_.drop_frames);
  text(pprof::kKeepFramesKey, header_.keep_frames);
  text(pprof::kDocUrlKey, header_.doc_url);
  if (!header_.comments.empty()) {
    std::vector<std::string_view> comments;
    for (const std::uint64_t s : header_.comments) comments.push_back(b.strings[s]);
    const Id array = b.AddText(StringArrayValue(comments));
    const Id key = KeyText(pprof::kCommentKey);
    b.attribute_refs.push_back(AttributeFor({key, 0, {Value::Kind::kArray, array, 0}}));
  }
  profile_attributes_.count = Size32(b.attribute_refs.size()) - profile_attributes_.begin;
}

void PprofDecoder::MakeProfiles() {
  profile::Batch& b = result_.data;
  const std::size_t rows = b.samples.size() / header_.types.size();
  const auto is = [&b](const profile::ValueType& t, std::string_view type, std::string_view unit) {
    return b.Text(t.type) == type && b.Text(t.unit) == unit;
  };
  const bool has_cpu = std::ranges::any_of(
      header_.types, [&](const profile::ValueType& t) { return is(t, "cpu", "nanoseconds"); });
  for (std::size_t t = 0; t < header_.types.size(); ++t) {
    profile::Profile& p = b.profiles.emplace_back();
    p.resource = 1;
    p.scope = 1;
    p.sample_type = header_.types[t];
    p.period_type = header_.period_type;
    p.period = header_.period;
    p.time_ns = header_.time_ns;
    p.duration_ns = header_.duration_ns;
    p.attributes = profile_attributes_;
    p.first_sample = Size32(t * rows);
    p.sample_count = Size32(rows);
    p.has_cpu_sibling = has_cpu && is(p.sample_type, "samples", "count");
  }
}

}  // namespace

Result<DecodedProfiles> DecodePprof(std::shared_ptr<const std::string> bytes,
                                    const PprofContext& context) {
  if (IsGzip(*bytes)) {
    WHEREFORE_ASSIGN_OR_RETURN(std::string plain, Gunzip(*bytes, kMaxBytes));
    bytes = std::make_shared<const std::string>(std::move(plain));
  }
  if (bytes->size() > kMaxBytes) return Error(Code::kLimit, "pprof: more than 256 MiB");
  PprofDecoder decoder(*bytes, context);
  try {
    Result<DecodedProfiles> result = decoder.Run();
    if (result) result->data.Own(std::move(bytes));
    return result;
  } catch (const protozero::exception& e) {
    return Error(Code::kCorrupt, fmt::format("{}: {}", decoder.path(), e.what()));
  }
}

}  // namespace wherefore::formats
