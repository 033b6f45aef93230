#include "formats/registry.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/recognise.h"
#include "formats/stacks/perf_script.h"
#include "formats/trees/flamebearer.h"
#include "formats/wire/gzip.h"

namespace wherefore::formats {
namespace {

template <typename T>
Result<FileContent> Content(Result<T> decoded) {
  if (!decoded) return std::move(decoded).error();
  return FileContent(*std::move(decoded));
}

Result<FileContent> ReadPprof(const FileBytes& bytes, const FileContext& context) {
  return Content(DecodePprof(bytes, {.service = context.service,
                                     .labels = context.labels,
                                     .name = context.name,
                                     .time_ns = context.time_ns,
                                     .duration_ns = context.duration_ns}));
}
Result<std::string> WritePprof(const profile::Batch& batch) {
  return EncodePprof(batch, {.named = true});
}
Result<FileContent> ReadJfr(const FileBytes& bytes, const FileContext& context) {
  return Content(DecodeJfr(bytes, {.service = context.service,
                                   .labels = context.labels,
                                   .from_ns = context.time_ns,
                                   .until_ns = context.time_ns + context.duration_ns,
                                   .sample_rate = 0}));
}
Result<FileContent> ReadPicture(const FileBytes& bytes, const FileContext& /*context*/) {
  return Content(DecodeFlamebearer(*bytes));
}
// OTLP needs no context.
template <auto kDecode>
Result<FileContent> ReadOtlp(const FileBytes& bytes, const FileContext& /*context*/) {
  return Content(kDecode(bytes));
}
template <auto kEncode>
Result<std::string> WriteOtlp(const profile::Batch& batch) {
  return kEncode(batch);
}
template <auto kDecode>
Result<FileContent> ReadStacks(const FileBytes& bytes, const FileContext& context) {
  return Content(kDecode(bytes, context));
}

// Text formats come last, and folded at the very end: it accepts nearly every line that ends in a
// number.
constexpr std::array kFormats = {
    Format{.key = "jfr", .name = "JFR", .recognise = IsJfr, .decode = ReadJfr},
    Format{.key = "pprof",
           .name = "pprof",
           .recognise = IsPprof,
           .decode = ReadPprof,
           .check = CheckPprof,
           .encode = WritePprof},
    Format{.key = "otlp",
           .name = "OTLP profiles",
           .recognise = IsOtlpProfiles,
           .decode = ReadOtlp<DecodeOtlpProfiles>,
           .check = CheckOtlpProfiles,
           .encode = WriteOtlp<EncodeOtlpProfiles>},
    Format{.key = "otlp-json",
           .name = "OTLP profiles (JSON)",
           .recognise = IsOtlpProfilesJson,
           .decode = ReadOtlp<DecodeOtlpProfilesJson>,
           .check = CheckOtlpProfiles,
           .encode = WriteOtlp<EncodeOtlpProfilesJson>},
    Format{.key = "otlp-traces",
           .name = "OTLP traces",
           .recognise = IsOtlpTraces,
           .decode = ReadOtlp<DecodeOtlpTraces>},
    Format{.key = "otlp-traces-json",
           .name = "OTLP traces (JSON)",
           .recognise = IsOtlpTracesJson,
           .decode = ReadOtlp<DecodeOtlpTracesJson>},
    Format{.key = "flamebearer",
           .name = "flamebearer",
           .recognise = IsFlamebearer,
           .decode = ReadPicture},
    Format{.key = "speedscope",
           .name = "speedscope",
           .recognise = IsSpeedscope,
           .decode = ReadStacks<DecodeSpeedscope>,
           .bare_stacks = true},
    Format{.key = "perf-script",
           .name = "perf script",
           .recognise = IsPerfScript,
           .decode = ReadStacks<DecodePerfScript>,
           .bare_stacks = true},
    Format{.key = "folded",
           .name = "folded stacks",
           .recognise = IsFolded,
           .decode = ReadStacks<DecodeFolded>,
           .bare_stacks = true},
};

const Format* RecognisePlain(std::string_view bytes) {
  const auto* format =
      std::ranges::find_if(kFormats, [&](const Format& f) { return f.recognise(bytes); });
  return format == kFormats.end() ? nullptr : format;
}

Error NoneOfThem() {
  return {Code::kInvalid,
          fmt::format("not a profile in a format this program reads ({})", FormatNames())};
}

}  // namespace

std::span<const Format> Formats() {
  return kFormats;
}

std::string FormatNames() {
  std::vector<std::string_view> names;
  for (const Format& format : kFormats) names.push_back(format.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const Format* FormatOf(std::string_view key) {
  const auto* format = std::ranges::find(kFormats, key, &Format::key);
  return format == kFormats.end() ? nullptr : format;
}

Result<FileBytes> Unpacked(FileBytes bytes) {
  constexpr std::size_t kMaxBytes = std::size_t{256} << 20;
  if (!IsGzip(*bytes)) return bytes;
  WHEREFORE_ASSIGN_OR_RETURN(std::string plain, Gunzip(*bytes, kMaxBytes));
  return std::make_shared<const std::string>(std::move(plain));
}

const Format* Recognise(std::string_view bytes) {
  if (!IsGzip(bytes)) return RecognisePlain(bytes);
  const auto plain = Unpacked(std::make_shared<const std::string>(bytes));
  return plain ? RecognisePlain(**plain) : nullptr;
}

Result<FileContent> DecodeFile(const FileBytes& bytes, const FileContext& context) {
  WHEREFORE_ASSIGN_OR_RETURN(const FileBytes plain, Unpacked(bytes));
  const Format* const format = RecognisePlain(*plain);
  if (format == nullptr) return NoneOfThem();
  return format->decode(plain, context);
}

Error NoSamplesError() {
  return {Code::kUnsupported,
          "a saved flame graph has no samples: it can be shown, but not stored"};
}

Error OnlyTracesError() {
  return {Code::kInvalid, "this file has traces, not profiles"};
}

}  // namespace wherefore::formats
