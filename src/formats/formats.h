// Bytes <-> Batch: the one place that knows field numbers and file layouts.
//
// Decoders take bytes nobody vouches for. They never crash, never allocate more than a small
// multiple of the input, and refuse with kCorrupt and the path of the field
// ("resource_profiles[0].scope_profiles[1] .profiles[2].samples[7].stack_index: 12 is outside
// stack_table (5 entries)"). What is wrong in one profile costs that profile only: it is counted in
// Decoded::rejected, the others are kept. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/batch.h"
#include "profile/flame_tree.h"
#include "profile/span_batch.h"

namespace wherefore::formats {

template <typename T>
struct Decoded {
  T data;
  std::uint64_t rejected = 0;  // profiles, or spans
  std::string message;  // the first reasons, English, with paths; empty when nothing was wrong
};
using DecodedProfiles = Decoded<profile::Batch>;
using DecodedSpans = Decoded<profile::SpanBatch>;

// OTLP profiles: current layout and that of 1.8/1.9 (told apart per request). The Batch keeps
// `body`.
[[nodiscard]] Result<DecodedProfiles> DecodeOtlpProfiles(std::shared_ptr<const std::string> body);
[[nodiscard]] Result<DecodedProfiles> DecodeOtlpProfilesJson(
    std::shared_ptr<const std::string> body);
[[nodiscard]] std::string EncodeOtlpProfiles(const profile::Batch& batch);
[[nodiscard]] std::string EncodeOtlpProfilesJson(const profile::Batch& batch);

[[nodiscard]] Result<DecodedSpans> DecodeOtlpTraces(std::shared_ptr<const std::string> body);
[[nodiscard]] Result<DecodedSpans> DecodeOtlpTracesJson(std::shared_ptr<const std::string> body);
[[nodiscard]] std::string EncodeOtlpTraces(const profile::SpanBatch& batch);
[[nodiscard]] std::string EncodeOtlpTracesJson(const profile::SpanBatch& batch);

// Responses (docs/api.md): Export*ServiceResponse and google.rpc.Status, binary or JSON.
enum class Signal : std::uint8_t { kProfiles, kTraces };
[[nodiscard]] std::string EncodeExportResponse(Signal signal, bool json, std::uint64_t rejected,
                                               std::string_view message);
struct RpcStatus {
  int code = 0;
  std::string message;
  std::string field;                 // BadRequest: where
  std::int64_t retry_delay_ms = -1;  // RetryInfo when >= 0
};
[[nodiscard]] std::string EncodeRpcStatus(const RpcStatus& status, bool json);

using TextLabels = std::vector<std::pair<std::string, std::string>>;

// What a pprof file does not say itself.
struct PprofContext {
  std::string service;  // empty: none
  TextLabels labels;    // become resource attributes
  std::string name;     // first part of the type id; empty: derived
  // Stand in where the file has no time, or one of 1970 (old senders wrote microseconds).
  std::uint64_t time_ns = 0;
  std::uint64_t duration_ns = 0;
  profile::ProfileId id{};
  profile::Link link;  // for samples that name no span themselves
  // py-spy and rbspy name functions without their file: "file.py function".
  bool file_in_names = false;
  bool dash_to_underscore = false;  // .NET's sample types
};
// `bytes` may be gzip-compressed. One profile per sample type, same order of samples in each.
[[nodiscard]] Result<DecodedProfiles> DecodePprof(std::shared_ptr<const std::string> bytes,
                                                  const PprofContext& context);
// All profiles of the Batch as one file: profiles with the same samples become its sample types,
// the rest is appended. Uncompressed protobuf; the caller gzips.
struct PprofOptions {
  // The sample type that tools open it with, where the Batch does not say (a pprof file it came
  // from did).
  std::string_view shown;
  // Names are looked up as well as they will be: mappings say what all their frames have, and tools
  // look for no others. Without it mappings say what the Batch does.
  bool named = false;
};
[[nodiscard]] Result<std::string> EncodePprof(const profile::Batch& batch,
                                              const PprofOptions& options = {});

// What a JFR recording does not say itself.
struct JfrContext {
  std::string service;        // empty: none
  TextLabels labels;          // become resource attributes
  std::uint64_t from_ns = 0;  // 0: the recording's own time
  std::uint64_t until_ns = 0;
  // CPU and wall samples are worth 1 s / rate. 0: as the recording says, 100 when it does not.
  std::int64_t sample_rate = 100;
  std::string_view labels_snapshot;  // the agent's `labels` part, gzip or not; may be empty
};
// JDK recorder, async-profiler and its forks; `bytes` may be gzip-compressed. One profile per type
// id, equal samples added up; the time of single events is not kept. Batches keep none of `bytes`.
[[nodiscard]] Result<DecodedProfiles> DecodeJfr(std::shared_ptr<const std::string> bytes,
                                                const JfrContext& context);

// What stacks of bare names do not say: everything else.
struct StacksContext {
  std::string service;
  TextLabels labels;
  std::string name;  // as in PprofContext
  std::string type = "samples";
  std::string unit = "count";
  std::string period_type;
  std::string period_unit;
  std::int64_t period = 0;
  std::int64_t multiplier = 1;  // from what is sent to what is stored
  bool skip_odd_lines = false;  // folded lines without a number are left out, not an error
  std::uint64_t time_ns = 0;
  std::uint64_t duration_ns = 0;
};
// Folded stacks: "root;child;leaf 12".
[[nodiscard]] Result<DecodedProfiles> DecodeFolded(const std::shared_ptr<const std::string>& text,
                                                   const StacksContext& context);
// One stack per line, each counts once.
[[nodiscard]] Result<DecodedProfiles> DecodeLines(const std::shared_ptr<const std::string>& text,
                                                  const StacksContext& context);
// Pyroscope's binary forms (stacks_decode.cc): a radix tree over folded text, a tree of frames.
[[nodiscard]] Result<DecodedProfiles> DecodeTrie(const std::shared_ptr<const std::string>& bytes,
                                                 const StacksContext& context);
[[nodiscard]] Result<DecodedProfiles> DecodeTree(const std::shared_ptr<const std::string>& bytes,
                                                 const StacksContext& context);
// speedscope's JSON: one profile for each of its profiles. Times become nanoseconds of the
// context's type, bytes memory; the context's multiplier applies to values without a unit only.
[[nodiscard]] Result<DecodedProfiles> DecodeSpeedscope(
    const std::shared_ptr<const std::string>& json, const StacksContext& context);
// `before` (one value per node): each stack gets two numbers, before and after.
[[nodiscard]] std::string EncodeFolded(const profile::FlameTree& tree,
                                       std::span<const std::int64_t> before = {});

// Exports of a tree.
[[nodiscard]] std::string EncodeSpeedscope(const profile::FlameTree& tree, std::string_view title);
struct SvgOptions {
  std::string title;
  std::string subtitle;
  int width = 1200;
};
// Standalone SVG: no script from elsewhere; hover titles, works as an image too.
[[nodiscard]] std::string EncodeSvg(const profile::FlameTree& tree, const SvgOptions& options);

// Recognises a file by its content.
enum class FileFormat : std::uint8_t {
  kUnknown,
  kPprof,
  kOtlpProfiles,
  kOtlpProfilesJson,
  kOtlpTraces,
  kOtlpTracesJson,
  kFolded,
  kJfr
};
[[nodiscard]] FileFormat Recognise(std::string_view bytes);
[[nodiscard]] std::string_view FormatName(FileFormat format);
// Any profile file that is recognised (decode_file.cc); `service` where the file does not say.
[[nodiscard]] Result<DecodedProfiles> DecodeProfileFile(
    const std::shared_ptr<const std::string>& bytes, const std::string& service);

// Conformance: every rule of profcheck and the ones it misses.
struct Violation {
  std::string path;      // "dictionary.function_table[3]"
  std::string rule;      // short name, stable
  std::string text;      // a sentence
  bool warning = false;  // SHOULD rather than MUST
};
[[nodiscard]] std::vector<Violation> CheckOtlpProfiles(std::string_view bytes);
[[nodiscard]] std::vector<Violation> CheckPprof(std::string_view bytes);

}  // namespace wherefore::formats
