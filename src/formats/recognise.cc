#include "formats/recognise.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "formats/otlp/fields.h"
#include "formats/pprof/fields.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace {

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;

enum class Kind : std::uint8_t {
  kUnknown,
  kPprof,
  kOtlpProfiles,
  kOtlpTraces,
  kFlamebearer,
  kSpeedscope
};

constexpr std::array<std::pair<std::string_view, Kind>, 8> kKeys = {
    {{"resourceProfiles", Kind::kOtlpProfiles},
     {"resource_profiles", Kind::kOtlpProfiles},
     {"dictionary", Kind::kOtlpProfiles},
     {"resourceSpans", Kind::kOtlpTraces},
     {"resource_spans", Kind::kOtlpTraces},
     {"flamebearer", Kind::kFlamebearer},
     {"shared", Kind::kSpeedscope},
     {"profiles", Kind::kSpeedscope}}};

// The first key of the outermost object that belongs to a format decides. Values are skipped, not
// parsed: a file that is damaged further on is still recognised.
Kind KindOfJson(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const auto skip_blanks = [](std::string_view from) {
    return from.substr(std::min(from.find_first_not_of(" \t\r\n"), from.size()));
  };
  text = skip_blanks(text);
  if (!text.starts_with('{')) return Kind::kUnknown;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) break;
    if (c != '"') continue;
    const std::size_t begin = ++i;
    while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
    if (i >= text.size()) break;
    if (depth != 1 || !skip_blanks(text.substr(i + 1)).starts_with(':')) continue;
    const std::string_view key = text.substr(begin, i - begin);
    const auto* known = std::ranges::find(kKeys, key, &decltype(kKeys)::value_type::first);
    if (known != kKeys.end()) return known->second;
  }
  return Kind::kUnknown;
}

// With only field 1 at the top: whether the first thing inside is a span (begins with a 16-byte
// id).
bool HoldsSpans(std::string_view bytes) {
  for (Pbf root = Reader(bytes); root.next(envelope::kResources, kLen);) {
    for (Pbf r = root.get_message(); r.next(envelope::kScopes, kLen);) {
      for (Pbf s = r.get_message(); s.next(envelope::kItems, kLen);) {
        for (Pbf item = s.get_message(); item.next(span::kTraceId, kLen);) {
          return GetView(item).size() == 16;
        }
      }
    }
  }
  return false;
}

Kind KindOfProtobuf(std::string_view bytes) try {
  constexpr Tag kLastOfPprof = pprof::profile_field::kDocUrl;
  bool dictionary = false;
  bool resources = false;
  bool strings = false;
  for (Pbf r = Reader(bytes); r.next(); r.skip()) {
    const bool len = r.wire_type() == kLen;
    if (r.tag() > kLastOfPprof) return Kind::kUnknown;
    if (r.tag() == envelope::kResources && len) resources = true;
    if (r.tag() == envelope::kDictionary && len) dictionary = true;
    if (r.tag() == pprof::profile_field::kString && len) strings = true;
  }
  if (strings) return Kind::kPprof;
  if (!resources) return Kind::kUnknown;
  if (dictionary) return Kind::kOtlpProfiles;
  return HoldsSpans(bytes) ? Kind::kOtlpTraces : Kind::kUnknown;
} catch (const protozero::exception&) {
  return Kind::kUnknown;
}

}  // namespace

bool IsJfr(std::string_view bytes) {
  return bytes.starts_with(std::string_view("FLR\0", 4));
}
bool IsPprof(std::string_view bytes) {
  return KindOfProtobuf(bytes) == Kind::kPprof;
}
bool IsOtlpProfiles(std::string_view bytes) {
  return KindOfProtobuf(bytes) == Kind::kOtlpProfiles;
}
bool IsOtlpProfilesJson(std::string_view bytes) {
  return KindOfJson(bytes) == Kind::kOtlpProfiles;
}
bool IsOtlpTraces(std::string_view bytes) {
  return KindOfProtobuf(bytes) == Kind::kOtlpTraces;
}
bool IsOtlpTracesJson(std::string_view bytes) {
  return KindOfJson(bytes) == Kind::kOtlpTraces;
}
bool IsFlamebearer(std::string_view bytes) {
  return KindOfJson(bytes) == Kind::kFlamebearer;
}
bool IsSpeedscope(std::string_view bytes) {
  return KindOfJson(bytes) == Kind::kSpeedscope;
}

bool IsFolded(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t space = line.find_last_of(" \t");
    const bool plain = std::ranges::none_of(
        line, [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; });
    return plain && space != std::string_view::npos && space > 0 &&
           ParseInt(line.substr(space + 1)).has_value();
  }
  return false;
}

}  // namespace wherefore::formats
