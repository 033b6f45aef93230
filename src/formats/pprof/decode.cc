// pprof -> Batch: one profile per sample type, all with the same samples in the same order, so that
// EncodePprof can combine them again. For what always holds see pprof/decoder.h.
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
#include "formats/link_labels.h"
#include "formats/otlp/common.h"
#include "formats/pprof/decoder.h"
#include "formats/wire/gzip.h"
#include "formats/wire/protobuf.h"
#include "formats/wire/size32.h"
#include "profile/limits.h"

namespace wherefore::formats {

using profile::Attribute;
using profile::Id;
using profile::Range;
using profile::Value;

namespace {

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

}  // namespace

Result<DecodedProfiles> PprofDecoder::Run() {
  if (!ReadStrings() || !ReadHeader() || !ReadTables() || !ReadSamples()) {
    return Error(Code::kCorrupt, fmt::format("{}: {}", path(), reason_));
  }
  result_.message = notes_.Text();
  return std::move(result_);
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
  constexpr std::size_t kMaxTypes = 100;  // each sample costs a row per type
  if (header_.types.empty()) return Fail("no sample_type: not a pprof file");
  if (header_.types.size() > kMaxTypes) return Fail("more than 100 sample types");
  Id unused = 0;
  for (const std::uint64_t s :
       {header_.drop_frames, header_.keep_frames, header_.default_type, header_.doc_url}) {
    if (!Text(s, unused)) return false;
  }
  std::size_t comment_bytes = 0;
  for (const std::uint64_t s : header_.comments) {
    if (!Text(s, unused)) return false;
    comment_bytes += result_.data.strings[s].size();
  }
  // One string may be used as any number of comments.
  return comment_bytes <= kMaxReferredBytes || Fail("more than 16 MiB of comments");
}

bool PprofDecoder::ReadSamples() {
  std::size_t rows = 0;
  for (Pbf r = Reader(bytes_); r.next(pprof::profile_field::kSample, kLen);) {
    // An empty sample costs us far more than it costs to send.
    if (GetView(r).size() < header_.types.size()) {
      at_ = "sample";
      index_ = rows;
      return Fail("fewer values than sample types");
    }
    ++rows;
  }
  constexpr std::size_t kRowBytes = 48;
  constexpr std::size_t kAlwaysFine = std::size_t{64} << 20;
  if (rows * header_.types.size() * kRowBytes > kAlwaysFine + 4 * bytes_.size()) {
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
  if (context_.file_in_names) PutFilesIntoNames();
  if (context_.dash_to_underscore) ReplaceDashes();
  return true;
}

bool PprofDecoder::ReadSample(Pbf r, std::size_t row, std::size_t rows) {
  profile::Batch& b = result_.data;
  scratch_ids_.clear();
  scratch_values_.clear();
  std::vector<Label> labels;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(pprof::sample::kLocation): {
        const std::string_view packed = GetView(r);
        const std::size_t frames = scratch_ids_.size() + CountVarints(packed);
        if (frames > profile::kMaxStackFrames) {
          return Fail(
              fmt::format("{} frames, a stack may have {}", frames, profile::kMaxStackFrames));
        }
        AppendPackedVarints(packed, scratch_ids_);
        break;
      }
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

// Labels become attributes, except those that tie the sample to a span: they become its link.
bool PprofDecoder::ReadLabels(const std::vector<Label>& labels, std::size_t row) {
  profile::Batch& b = result_.data;
  Range refs{Size32(b.attribute_refs.size()), 0};
  LinkReader found;
  for (const Label& l : labels) {
    Attribute a;
    Id str = 0;
    if (!Text(l.key, a.key) || !Text(l.str, str) || !Text(l.unit, a.unit)) return false;
    const std::string number =
        str == 0 && l.num != 0 ? fmt::to_string(static_cast<std::uint64_t>(l.num)) : std::string();
    if (found.Read(b.Text(a.key), str == 0 ? number : b.Text(str))) continue;
    a.value = str != 0 ? Value{Value::Kind::kString, str, 0} : Value{Value::Kind::kInt, 0, l.num};
    b.attribute_refs.push_back(AttributeFor(a));
  }
  refs.count = Size32(b.attribute_refs.size()) - refs.begin;
  b.samples.attributes[row] = refs;
  const profile::Link& link = found.found() ? found.link() : context_.link;
  if (link.trace != profile::TraceId{} || link.span != profile::SpanId{}) {
    const bool same = b.links.back().trace == link.trace && b.links.back().span == link.span;
    if (!same) b.links.push_back(link);
    b.samples.link[row] = Size32(b.links.size() - 1);
  }
  return true;
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
    comments.reserve(header_.comments.size());
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
  const Id name = b.AddText(context_.name);
  for (std::size_t t = 0; t < header_.types.size(); ++t) {
    profile::Profile& p = b.profiles.emplace_back();
    p.resource = 1;
    p.scope = 1;
    p.sample_type = header_.types[t];
    p.period_type = header_.period_type;
    p.period = header_.period;
    p.name = name;
    p.id = context_.id;
    p.time_ns = header_.time_ns;
    p.duration_ns = header_.duration_ns != 0 ? header_.duration_ns : context_.duration_ns;
    constexpr std::uint64_t kYear = 365ULL * 86'400 * 1'000'000'000;
    if (p.time_ns < kYear && context_.time_ns != 0) p.time_ns = context_.time_ns;
    p.attributes = profile_attributes_;
    p.first_sample = Size32(t * rows);
    p.sample_count = Size32(rows);
    p.summed = true;
    p.has_cpu_sibling = has_cpu && is(p.sample_type, "samples", "count");
  }
}

// Functions of scripts have no module, so two `handle` differ by file: "app.py handle". Absolute
// paths are left out, as their senders expect.
void PprofDecoder::PutFilesIntoNames() {
  const std::size_t most = kMaxReferredBytes + 4 * bytes_.size();
  std::size_t made = 0;
  profile::Batch& b = result_.data;
  for (profile::Function& f : b.functions) {
    const std::string_view file = b.Text(f.filename);
    if (file.empty() || file.starts_with('/')) continue;
    made += file.size() + b.Text(f.name).size();
    if (made > most) return;  // one long name may be shared by any number of functions
    f.name = b.AddText(fmt::format("{} {}", file, b.Text(f.name)));
  }
}

// "inuse-space" is "inuse_space" everywhere else.
void PprofDecoder::ReplaceDashes() {
  profile::Batch& b = result_.data;
  for (profile::Profile& p : b.profiles) {
    std::string type(b.Text(p.sample_type.type));
    std::ranges::replace(type, '-', '_');
    p.sample_type.type = b.AddText(type);
  }
}

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
