// The tables of a pprof file.
#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/pprof/decoder.h"
#include "formats/wire/size32.h"
#include "formats/wire/utf8.h"

namespace wherefore::formats {

using profile::Attribute;
using profile::Id;
using profile::Value;

namespace {

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;

}  // namespace

bool PprofDecoder::ReadStrings() {
  profile::Batch& b = result_.data;
  // Empty and broken strings cost us many times what they cost to send.
  constexpr std::size_t kMaxEmpty = 1'000'000;
  constexpr std::size_t kMaxRepaired = 10'000;
  std::size_t empty = 0;
  std::size_t repaired = 0;
  b.strings.clear();
  at_ = "string_table";
  for (Pbf r = Reader(bytes_); r.next(pprof::profile_field::kString, kLen); ++index_) {
    const std::string_view text = GetView(r);
    if (text.size() < 2 && ++empty > kMaxEmpty) return Fail("more than a million empty strings");
    if (IsValidUtf8(text)) {
      b.strings.push_back(text);
    } else {
      if (++repaired > kMaxRepaired) return Fail("too many strings are not UTF-8");
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
  return true;
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
    // Go's own build ids are four base64 parts; all others are the GNU note in hex.
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

}  // namespace wherefore::formats
