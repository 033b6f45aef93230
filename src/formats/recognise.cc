// What kind of file is this? By content only: names and media types lie.
#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "formats/formats.h"
#include "formats/gzip.h"
#include "formats/wire.h"

namespace wherefore::formats {

namespace {

constexpr auto kLen = protozero::pbf_wire_type::length_delimited;

FileFormat RecogniseJson(std::string_view text) {
  // The first key of either kind decides; both are among the first things in the file.
  const auto first = [text](std::string_view a, std::string_view b) {
    return std::min(text.find(a), text.find(b));
  };
  const std::size_t profiles = std::min(first("\"resourceProfiles\"", "\"resource_profiles\""),
                                        first("\"dictionary\"", "\"dictionary\""));
  const std::size_t spans = first("\"resourceSpans\"", "\"resource_spans\"");
  if (profiles == spans) return FileFormat::kUnknown;  // neither
  return profiles < spans ? FileFormat::kOtlpProfilesJson : FileFormat::kOtlpTracesJson;
}

// Only field 1 at the top: is the first thing inside a span (it begins with a 16-byte id)?
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

FileFormat RecogniseProtobuf(std::string_view bytes) try {
  bool dictionary = false;
  bool resources = false;
  bool strings = false;
  for (Pbf r = Reader(bytes); r.next(); r.skip()) {
    const bool len = r.wire_type() == kLen;
    if (r.tag() > 15) return FileFormat::kUnknown;
    if (r.tag() == envelope::kResources && len) resources = true;
    if (r.tag() == envelope::kDictionary && len) dictionary = true;
    if (r.tag() == 6 && len) strings = true;  // pprof's string table
  }
  if (strings) return FileFormat::kPprof;
  if (!resources) return FileFormat::kUnknown;
  if (dictionary) return FileFormat::kOtlpProfiles;
  return HoldsSpans(bytes) ? FileFormat::kOtlpTraces : FileFormat::kUnknown;
} catch (const protozero::exception&) {
  return FileFormat::kUnknown;
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

}  // namespace

FileFormat Recognise(std::string_view bytes) {
  if (IsGzip(bytes)) {
    constexpr std::size_t kEnough = std::size_t{256} << 20;
    const Result<std::string> plain = Gunzip(bytes, kEnough);
    if (!plain || IsGzip(*plain)) return FileFormat::kUnknown;
    return Recognise(*plain);
  }
  if (bytes.starts_with(std::string_view("FLR\0", 4))) return FileFormat::kJfr;
  std::string_view text = bytes;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (text.starts_with('{')) return RecogniseJson(text);
  if (const FileFormat format = RecogniseProtobuf(bytes); format != FileFormat::kUnknown)
    return format;
  return IsFolded(bytes) ? FileFormat::kFolded : FileFormat::kUnknown;
}

std::string_view FormatName(FileFormat format) {
  switch (format) {
    case FileFormat::kUnknown:
      return "unknown";
    case FileFormat::kPprof:
      return "pprof";
    case FileFormat::kOtlpProfiles:
      return "OTLP profiles";
    case FileFormat::kOtlpProfilesJson:
      return "OTLP profiles (JSON)";
    case FileFormat::kOtlpTraces:
      return "OTLP traces";
    case FileFormat::kOtlpTracesJson:
      return "OTLP traces (JSON)";
    case FileFormat::kFolded:
      return "folded stacks";
    case FileFormat::kJfr:
      return "JFR";
  }
  return "unknown";
}

}  // namespace wherefore::formats
