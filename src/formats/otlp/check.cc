// `wherefore check` for OTLP profiles: the rules of the specification, each with a short stable
// name.
//
// Reads the raw message instead of a Batch: the decoder tolerates and repairs, this must see what
// was sent.
#include <algorithm>
#include <set>
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
#include "formats/otlp/schema.h"
#include "formats/recognise.h"
#include "formats/violations.h"
#include "formats/wire/json.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace {

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;

using Table = DictionaryDecoder::Table;
using enum DictionaryDecoder::Table;
constexpr auto& kTableNames = DictionaryDecoder::kTableNames;
constexpr Tag kTableTags[kTables] = {
    dictionary::kMappings, dictionary::kLocations,  dictionary::kFunctions, dictionary::kLinks,
    dictionary::kStrings,  dictionary::kAttributes, dictionary::kStacks};

std::string Entry(Table table, std::size_t i) {
  return fmt::format("dictionary.{}[{}]", kTableNames[table], i);
}

class OtlpChecker {
 public:
  explicit OtlpChecker(std::string_view bytes) : bytes_(bytes) {}
  std::vector<Violation> Run();

 private:
  void ReadTables();
  void CheckTables();
  void CheckMapping(std::size_t i);
  void CheckLocation(std::size_t i);
  void CheckFunction(std::size_t i);
  void CheckLink(std::size_t i);
  void CheckAttribute(std::size_t i);
  void CheckStack(std::size_t i);
  void CheckNullEntry(Table table);
  void CheckDuplicates();
  void CheckOrphans();
  void CheckEnvelope();
  void CheckScopes(std::string_view bytes, const std::string& path);
  void CheckProfile(std::string_view bytes, const std::string& path);
  void CheckProfileTail(std::string_view bytes, const std::string& path);
  void CheckSamples(std::string_view bytes, const std::string& path);
  void CheckShape(std::size_t values, std::size_t times, const std::string& path);
  void CheckValueType(std::string_view bytes, const std::string& path);
  void CheckAttributes(Pbf message, Tag tag, const std::string& path);
  void CheckKeyValue(Pbf r, const std::string& path, int depth);
  void CheckValue(Pbf r, const std::string& path, int depth);
  void CheckText(std::string_view text, const std::string& path) {
    if (!IsValidUtf8(text)) out_.Error(path, "utf8", "text is not UTF-8");
  }
  // Range check; marks the entry as used.
  bool Use(Table table, std::int64_t index, const std::string& path);
  // A repeated index field, packed or not.
  static std::vector<std::int32_t> Indices(std::string_view bytes, Tag tag);
  static std::int64_t Number(std::string_view bytes, Tag tag);
  void CheckIndexList(const std::vector<std::int32_t>& list, const std::string& path);

  std::string_view bytes_;
  Violations out_;
  std::vector<std::string_view> tables_[kTables];  // entries as sent
  std::vector<bool> used_[kTables];
  bool has_dictionary_ = false;
};

std::vector<Violation> OtlpChecker::Run() {
  try {
    ReadTables();
    if (DetectLayout(bytes_, tables_[kAttribute].size()) == Layout::kOld) {
      out_.Error("request", "layout",
                 "the samples are numbered as in opentelemetry-proto 1.8/1.9; receivers of today "
                 "misread them");
      return out_.Take();
    }
    CheckTables();
    CheckEnvelope();
    CheckDuplicates();
    CheckOrphans();
  } catch (const protozero::exception& e) {
    out_.Error("request", "protobuf", fmt::format("not a protobuf message: {}", e.what()));
  }
  return out_.Take();
}

void OtlpChecker::ReadTables() {
  for (Pbf root = Reader(bytes_); root.next(envelope::kDictionary, kLen);) {
    has_dictionary_ = true;
    for (Pbf d = root.get_message(); d.next();) {
      const auto* tag = std::ranges::find(kTableTags, d.tag());
      if (tag == std::end(kTableTags) || d.wire_type() != kLen) {
        d.skip();
      } else {
        tables_[tag - std::begin(kTableTags)].push_back(GetView(d));
      }
    }
  }
  for (int t = 0; t < kTables; ++t) used_[t].resize(tables_[t].size());
}

bool OtlpChecker::Use(Table table, std::int64_t index, const std::string& path) {
  const auto size = static_cast<std::int64_t>(tables_[table].size());
  // A missing table is a violation of its own; index 0 into it is not a second one.
  if (index == 0 && size == 0) return false;
  if (index < 0 || index >= size) {
    out_.Error(path, "index",
               fmt::format("{} is outside {} ({} entries)", index, kTableNames[table], size));
    return false;
  }
  used_[table][static_cast<std::size_t>(index)] = true;
  return true;
}

std::vector<std::int32_t> OtlpChecker::Indices(std::string_view bytes, Tag tag) {
  std::vector<std::int32_t> out;
  for (Pbf r = Reader(bytes); r.next(tag);) {
    if (r.wire_type() == kLen) {
      AppendPackedVarints(GetView(r), out);
    } else if (r.wire_type() == protozero::pbf_wire_type::varint) {
      out.push_back(static_cast<std::int32_t>(GetIndex(r)));
    } else {
      r.skip();
    }
  }
  return out;
}

std::int64_t OtlpChecker::Number(std::string_view bytes, Tag tag) {
  std::int64_t value = 0;
  for (Pbf r = Reader(bytes); r.next(tag, protozero::pbf_wire_type::varint);) value = r.get_int64();
  return value;
}

void OtlpChecker::CheckTables() {
  if (!has_dictionary_) {
    out_.Error("dictionary", "dictionary", "the dictionary is missing");
    return;
  }
  for (int t = 0; t < kTables; ++t) CheckNullEntry(static_cast<Table>(t));
  for (std::size_t i = 0; i < tables_[kString].size(); ++i)
    CheckText(tables_[kString][i], Entry(kString, i));
  for (std::size_t i = 1; i < tables_[kMapping].size(); ++i) CheckMapping(i);
  for (std::size_t i = 1; i < tables_[kLocation].size(); ++i) CheckLocation(i);
  for (std::size_t i = 1; i < tables_[kFunction].size(); ++i) CheckFunction(i);
  for (std::size_t i = 1; i < tables_[kLink].size(); ++i) CheckLink(i);
  for (std::size_t i = 1; i < tables_[kAttribute].size(); ++i) CheckAttribute(i);
  for (std::size_t i = 1; i < tables_[kStack].size(); ++i) CheckStack(i);
}

void OtlpChecker::CheckNullEntry(Table table) {
  if (tables_[table].empty()) {
    out_.Error(fmt::format("dictionary.{}", kTableNames[table]), "null-entry",
               "the table is empty; element 0 must be there");
    return;
  }
  const std::string_view entry = tables_[table][0];
  // Fields that are present but zero count as zero; a null link may consist of zero bytes.
  bool zero = table != kString || entry.empty();
  if (table != kString) {
    for (Pbf r = Reader(entry); r.next();) {
      switch (r.wire_type()) {
        case protozero::pbf_wire_type::varint:
          zero = zero && r.get_uint64() == 0;
          break;
        case protozero::pbf_wire_type::length_delimited: {
          const std::string_view v = GetView(r);
          zero = zero && (v.empty() || (table == kLink && v.find_first_not_of('\0') == v.npos));
          break;
        }
        default:
          r.skip();
      }
    }
  }
  if (!zero) out_.Error(Entry(table, 0), "null-entry", "element 0 must be the zero value");
}

void OtlpChecker::CheckIndexList(const std::vector<std::int32_t>& list, const std::string& path) {
  std::set<std::string_view> keys;
  for (const std::int32_t index : list) {
    if (!Use(kAttribute, index, path + ".attribute_indices")) continue;
    const std::int64_t key =
        Number(tables_[kAttribute][static_cast<std::size_t>(index)], table_attribute::kKey);
    if (key < 0 || static_cast<std::size_t>(key) >= tables_[kString].size()) continue;
    const std::string_view text = tables_[kString][static_cast<std::size_t>(key)];
    if (!keys.insert(text).second) {
      out_.Error(path + ".attribute_indices", "attribute-keys",
                 fmt::format("the key \"{}\" occurs twice", text));
    }
  }
}

void OtlpChecker::CheckMapping(std::size_t i) {
  const std::string_view m = tables_[kMapping][i];
  const std::string path = Entry(kMapping, i);
  const auto start = static_cast<std::uint64_t>(Number(m, mapping::kStart));
  const auto limit = static_cast<std::uint64_t>(Number(m, mapping::kLimit));
  if (start >= limit && (start != 0 || limit != 0)) {
    out_.Error(path, "mapping-range",
               fmt::format("memory_start {:#x} is not below memory_limit {:#x}", start, limit));
  }
  Use(kString, static_cast<std::int32_t>(Number(m, mapping::kFilename)),
      path + ".filename_strindex");
  const std::vector<std::int32_t> attributes = Indices(m, mapping::kAttributes);
  CheckIndexList(attributes, path);
  const bool has_build_id = std::ranges::any_of(attributes, [this](std::int32_t index) {
    if (index < 0 || static_cast<std::size_t>(index) >= tables_[kAttribute].size()) return false;
    const std::int64_t key =
        Number(tables_[kAttribute][static_cast<std::size_t>(index)], table_attribute::kKey);
    return key >= 0 && static_cast<std::size_t>(key) < tables_[kString].size() &&
           tables_[kString][static_cast<std::size_t>(key)].starts_with(
               "process.executable.build_id.");
  });
  if (!has_build_id) out_.Warn(path, "build-id", "no process.executable.build_id.* attribute");
}

void OtlpChecker::CheckLocation(std::size_t i) {
  const std::string_view l = tables_[kLocation][i];
  const std::string path = Entry(kLocation, i);
  Use(kMapping, static_cast<std::int32_t>(Number(l, location::kMapping)), path + ".mapping_index");
  CheckIndexList(Indices(l, location::kAttributes), path);
  std::size_t n = 0;
  for (Pbf r = Reader(l); r.next(location::kLines, kLen); ++n) {
    const std::string_view line_bytes = GetView(r);
    const std::string line_path = fmt::format("{}.lines[{}]", path, n);
    Use(kFunction, static_cast<std::int32_t>(Number(line_bytes, line::kFunction)),
        line_path + ".function_index");
    if (Number(line_bytes, line::kLine) < 0)
      out_.Error(line_path + ".line", "line-number", "negative");
    if (Number(line_bytes, line::kColumn) < 0)
      out_.Error(line_path + ".column", "line-number", "negative");
  }
}

void OtlpChecker::CheckFunction(std::size_t i) {
  const std::string_view f = tables_[kFunction][i];
  const std::string path = Entry(kFunction, i);
  bool named = false;
  for (const auto& [tag, name] : {std::pair{function::kName, ".name_strindex"},
                                  std::pair{function::kSystemName, ".system_name_strindex"},
                                  std::pair{function::kFilename, ".filename_strindex"}}) {
    const auto index = static_cast<std::int32_t>(Number(f, tag));
    named |= Use(kString, index, path + name) && index != 0;
  }
  if (!named) out_.Error(path, "function-name", "none of name, system name and file name is set");
  if (Number(f, function::kStartLine) < 0)
    out_.Error(path + ".start_line", "line-number", "negative");
}

void OtlpChecker::CheckLink(std::size_t i) {
  std::string_view trace;
  std::string_view span_id;
  for (Pbf r = Reader(tables_[kLink][i]); r.next();) {
    if (r.tag_and_type() == LenKey(link::kTraceId)) {
      trace = GetView(r);
    } else if (r.tag_and_type() == LenKey(link::kSpanId)) {
      span_id = GetView(r);
    } else {
      r.skip();
    }
  }
  if (trace.size() != 16)
    out_.Error(Entry(kLink, i) + ".trace_id", "link-ids",
               fmt::format("{} bytes instead of 16", trace.size()));
  if (span_id.size() != 8)
    out_.Error(Entry(kLink, i) + ".span_id", "link-ids",
               fmt::format("{} bytes instead of 8", span_id.size()));
}

void OtlpChecker::CheckAttribute(std::size_t i) {
  const std::string_view a = tables_[kAttribute][i];
  const std::string path = Entry(kAttribute, i);
  Use(kString, static_cast<std::int32_t>(Number(a, table_attribute::kKey)), path + ".key_strindex");
  Use(kString, static_cast<std::int32_t>(Number(a, table_attribute::kUnit)),
      path + ".unit_strindex");
  for (Pbf r = Reader(a); r.next(table_attribute::kValue, kLen);)
    CheckValue(r.get_message(), path + ".value", 0);
}

void OtlpChecker::CheckStack(std::size_t i) {
  for (const std::int32_t index : Indices(tables_[kStack][i], stack::kLocations)) {
    Use(kLocation, index, Entry(kStack, i) + ".location_indices");
  }
}

void OtlpChecker::CheckValue(Pbf r, const std::string& path, int depth) {
  if (depth >= kMaxValueDepth) {
    out_.Error(path, "value-depth", fmt::format("nested deeper than {}", kMaxValueDepth));
    return;
  }
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(any_value::kString):
        CheckText(GetView(r), path);
        break;
      case VarintKey(any_value::kStringRef):
        Use(kString, static_cast<std::int32_t>(GetIndex(r)), path + ".string_value_strindex");
        break;
      case LenKey(any_value::kArray):
        for (Pbf list = r.get_message(); list.next(value_list::kValues, kLen);) {
          CheckValue(list.get_message(), path, depth + 1);
        }
        break;
      case LenKey(any_value::kMap):
        for (Pbf list = r.get_message(); list.next(value_list::kValues, kLen);) {
          CheckKeyValue(list.get_message(), path, depth + 1);
        }
        break;
      default:
        r.skip();
    }
  }
}

void OtlpChecker::CheckKeyValue(Pbf r, const std::string& path, int depth) {
  std::string_view key;
  std::int32_t ref = 0;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(key_value::kKey):
        key = GetView(r);
        break;
      case VarintKey(key_value::kKeyRef):
        ref = static_cast<std::int32_t>(GetIndex(r));
        break;
      case LenKey(key_value::kValue):
        CheckValue(r.get_message(), path, depth);
        break;
      default:
        r.skip();
    }
  }
  CheckText(key, path);
  if (ref != 0) Use(kString, ref, path + ".key_strindex");
  if (ref != 0 && !key.empty()) out_.Error(path, "key", "key and key_strindex are both set");
  if (ref == 0 && key.empty()) out_.Error(path, "key", "an attribute without a key");
}

void OtlpChecker::CheckAttributes(Pbf message, Tag tag, const std::string& path) {
  std::size_t i = 0;
  for (; message.next(tag, kLen); ++i) {
    CheckKeyValue(message.get_message(), fmt::format("{}.attributes[{}]", path, i), 0);
  }
}

void OtlpChecker::CheckEnvelope() {
  std::size_t i = 0;
  for (Pbf root = Reader(bytes_); root.next(envelope::kResources, kLen); ++i) {
    const std::string path = fmt::format("resource_profiles[{}]", i);
    const std::string_view rp = GetView(root);
    for (Pbf r = Reader(rp); r.next(envelope::kResource, kLen);) {
      CheckAttributes(r.get_message(), resource::kAttributes, path + ".resource");
    }
    CheckScopes(rp, path);
  }
  if (i == 0) out_.Error("resource_profiles", "not-empty", "there is no resource");
}

void OtlpChecker::CheckScopes(std::string_view bytes, const std::string& path) {
  std::size_t scopes = 0;
  for (Pbf r = Reader(bytes); r.next(envelope::kScopes, kLen); ++scopes) {
    const std::string scope_path = fmt::format("{}.scope_profiles[{}]", path, scopes);
    const std::string_view sp = GetView(r);
    for (Pbf s = Reader(sp); s.next(envelope::kScope, kLen);) {
      CheckAttributes(s.get_message(), scope::kAttributes, scope_path + ".scope");
    }
    std::size_t profiles = 0;
    for (Pbf s = Reader(sp); s.next(envelope::kItems, kLen); ++profiles) {
      CheckProfile(GetView(s), fmt::format("{}.profiles[{}]", scope_path, profiles));
    }
    if (profiles == 0) out_.Error(scope_path + ".profiles", "not-empty", "there is no profile");
  }
  if (scopes == 0) out_.Error(path + ".scope_profiles", "not-empty", "there is no scope");
}

void OtlpChecker::CheckValueType(std::string_view bytes, const std::string& path) {
  Use(kString, static_cast<std::int32_t>(Number(bytes, value_type::kType)),
      path + ".type_strindex");
  Use(kString, static_cast<std::int32_t>(Number(bytes, value_type::kUnit)),
      path + ".unit_strindex");
}

void OtlpChecker::CheckProfile(std::string_view bytes, const std::string& path) {
  for (Pbf r = Reader(bytes); r.next(profile_field::kSampleType, kLen);)
    CheckValueType(GetView(r), path + ".sample_type");
  for (Pbf r = Reader(bytes); r.next(profile_field::kPeriodType, kLen);)
    CheckValueType(GetView(r), path + ".period_type");
  CheckIndexList(Indices(bytes, profile_field::kAttributes), path);
  CheckProfileTail(bytes, path);
  CheckSamples(bytes, path);
}

void OtlpChecker::CheckProfileTail(std::string_view bytes, const std::string& path) {
  std::string_view id;
  std::string_view format;
  std::string_view payload;
  for (Pbf r = Reader(bytes); r.next();) {
    switch (r.tag_and_type()) {
      case LenKey(profile_field::kId):
        id = GetView(r);
        break;
      case LenKey(profile_field::kPayloadFormat):
        format = GetView(r);
        break;
      case LenKey(profile_field::kPayload):
        payload = GetView(r);
        break;
      default:
        r.skip();
    }
  }
  if (!id.empty() && id.size() != 16) {
    out_.Error(path + ".profile_id", "profile-id",
               fmt::format("{} bytes instead of 16 or none", id.size()));
  } else if (!id.empty() && id.find_first_not_of('\0') == id.npos) {
    out_.Error(path + ".profile_id", "profile-id", "all zero");
  }
  CheckText(format, path + ".original_payload_format");
  if (format.empty() != payload.empty()) {
    out_.Error(path + ".original_payload", "payload",
               "original_payload and its format belong together");
  }
}

void OtlpChecker::CheckShape(std::size_t values, std::size_t times, const std::string& path) {
  if (values == 0 && times == 0) {
    out_.Error(path, "sample-shape", "neither values nor timestamps_unix_nano");
  } else if (values != 0 && times != 0 && values != times) {
    out_.Error(path, "sample-shape",
               fmt::format("{} values but {} timestamps_unix_nano", values, times));
  } else if (times == 0 && values != 1) {
    out_.Error(path, "sample-shape",
               fmt::format("{} values without timestamps; exactly one is expected", values));
  }
}

void OtlpChecker::CheckSamples(std::string_view bytes, const std::string& path) {
  std::uint64_t begin = 0;
  for (Pbf r = Reader(bytes); r.next(profile_field::kTime, protozero::pbf_wire_type::fixed64);)
    begin = r.get_fixed64();
  const auto duration = static_cast<std::uint64_t>(Number(bytes, profile_field::kDuration));
  std::set<std::vector<std::int32_t>> seen;  // stack, link, sorted attributes
  std::set<std::pair<bool, bool>> shapes;
  std::size_t i = 0;
  for (Pbf r = Reader(bytes); r.next(profile_field::kSamples, kLen); ++i) {
    const std::string_view s = GetView(r);
    const std::string at = fmt::format("{}.samples[{}]", path, i);
    const auto stack_index = static_cast<std::int32_t>(Number(s, sample::kStack));
    const auto link_index = static_cast<std::int32_t>(Number(s, sample::kLink));
    std::vector<std::int32_t> key = Indices(s, sample::kAttributes);
    Use(kStack, stack_index, at + ".stack_index");
    Use(kLink, link_index, at + ".link_index");
    CheckIndexList(key, at);
    std::ranges::sort(key);
    key.insert(key.begin(), {stack_index, link_index});
    if (!seen.insert(std::move(key)).second) {
      out_.Warn(at, "sample-unique",
                "an earlier sample has the same stack, attributes and link; merge them");
    }
    std::vector<std::uint64_t> times;
    for (Pbf t = Reader(s); t.next(sample::kTimes);) {
      if (t.wire_type() == kLen) {
        AppendPackedFixed64(GetView(t), times);
      } else if (t.wire_type() == protozero::pbf_wire_type::fixed64) {
        times.push_back(t.get_fixed64());
      } else {
        t.skip();
      }
    }
    const std::size_t values = Indices(s, sample::kValues).size();
    CheckShape(values, times.size(), at);
    shapes.insert({values != 0, !times.empty()});
    for (const std::uint64_t t : times) {
      if (t >= begin && t - begin < duration) continue;
      out_.Error(at + ".timestamps_unix_nano", "timestamp-range",
                 fmt::format("{} is outside the profile's time window", t));
      break;
    }
  }
  if (shapes.size() > 1)
    out_.Warn(path + ".samples", "one-shape", "samples of different shapes in one profile");
}

void OtlpChecker::CheckDuplicates() {
  for (int t = 0; t < kTables; ++t) {
    std::unordered_map<std::string_view, std::size_t> first;
    for (std::size_t i = 1; i < tables_[t].size(); ++i) {
      const auto [it, is_new] = first.try_emplace(tables_[t][i], i);
      if (!is_new) {
        out_.Warn(Entry(static_cast<Table>(t), i), "duplicate",
                  fmt::format("same as entry {}", it->second));
      }
    }
  }
}

void OtlpChecker::CheckOrphans() {
  for (int t = 0; t < kTables; ++t) {
    for (std::size_t i = 1; i < used_[t].size(); ++i) {
      if (!used_[t][i])
        out_.Warn(Entry(static_cast<Table>(t), i), "orphan", "nothing refers to this entry");
    }
  }
}

}  // namespace

std::vector<Violation> CheckOtlpProfiles(std::string_view bytes) {
  if (IsOtlpProfilesJson(bytes)) {
    const Result<std::string> binary = JsonToBinary(bytes, ProfilesSchema());
    if (!binary) return {{"request", "json", binary.error().message(), false}};
    return OtlpChecker(*binary).Run();
  }
  return OtlpChecker(bytes).Run();
}

}  // namespace wherefore::formats
