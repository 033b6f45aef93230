// Bytes <-> Batch: the one place that knows field numbers and file layouts.
//
// Decoders take untrusted bytes. They never crash, never allocate more than a small multiple of the
// input, and report kCorrupt with the path of the field
// ("resource_profiles[0].scope_profiles[1].profiles[2].samples[7].stack_index: 12 is outside
// stack_table (5 entries)"). An error inside one profile costs that profile only: it is counted in
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
  std::string message;         // the first reasons, with paths; empty if nothing was wrong
};
using DecodedProfiles = Decoded<profile::Batch>;
using DecodedSpans = Decoded<profile::SpanBatch>;

// OTLP profiles, in the current layout and that of 1.8/1.9 (detected per request). The Batch keeps
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

// What a server answered to us. Bytes that say nothing readable are an empty answer: it is only
// used for counts and messages.
struct ExportAnswer {
  std::uint64_t rejected = 0;  // profiles, or spans
  std::string message;
};
[[nodiscard]] ExportAnswer DecodeExportResponse(bool json, std::string_view bytes);
[[nodiscard]] RpcStatus DecodeRpcStatus(bool json, std::string_view bytes);
// Protobuf of either signal as OTLP's JSON, whatever the sender's layout was.
[[nodiscard]] Result<std::string> OtlpToJson(Signal signal,
                                             std::shared_ptr<const std::string> body);

using TextLabels = std::vector<std::pair<std::string, std::string>>;

// What a pprof file does not say itself.
struct PprofContext {
  std::string service;  // empty: none
  TextLabels labels;    // become resource attributes
  std::string name;     // first part of the type id; empty: derived
  // Used if the file has no time, or one in 1970 (old senders wrote microseconds).
  std::uint64_t time_ns = 0;
  std::uint64_t duration_ns = 0;
  profile::ProfileId id{};
  profile::Link link;  // for samples that name no span themselves
  // py-spy and rbspy do not include files in function names; add them: "file.py function".
  bool file_in_names = false;
  bool dash_to_underscore = false;  // .NET's sample types
};
// `bytes` may be gzip-compressed. One profile per sample type, same order of samples in each.
[[nodiscard]] Result<DecodedProfiles> DecodePprof(std::shared_ptr<const std::string> bytes,
                                                  const PprofContext& context);
// Encodes all profiles of the Batch as one file: profiles with the same samples become its sample
// types, the others are appended. Uncompressed protobuf; the caller gzips.
struct PprofOptions {
  // The sample type tools show first, unless the Batch says (because it came from a pprof file).
  std::string_view shown;
  // True: symbolization is complete, so mappings claim what all their frames have and tools do not
  // symbolize again. False: mappings claim what the Batch says.
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
  // CPU and wall samples stand for 1 s / rate. 0: what the recording says, or 100.
  std::int64_t sample_rate = 100;
  std::string_view labels_snapshot;  // the agent's `labels` part, gzip or not; may be empty
};
// Recordings of the JDK, async-profiler and its forks; `bytes` may be gzip-compressed. One profile
// per type id, equal samples summed; the time of single events is not kept. The Batch does not
// refer to `bytes`.
[[nodiscard]] Result<DecodedProfiles> DecodeJfr(std::shared_ptr<const std::string> bytes,
                                                const JfrContext& context);

// Everything that stacks of bare names do not say themselves.
struct StacksContext {
  std::string service;
  TextLabels labels;
  std::string name;  // as in PprofContext
  std::string type = "samples";
  std::string unit = "count";
  std::string period_type;
  std::string period_unit;
  std::int64_t period = 0;
  std::int64_t multiplier = 1;  // from the values sent to the values stored
  bool skip_odd_lines = false;  // skip folded lines without a number instead of failing
  std::uint64_t time_ns = 0;
  std::uint64_t duration_ns = 0;
};
// Folded stacks: "root;child;leaf 12".
[[nodiscard]] Result<DecodedProfiles> DecodeFolded(const std::shared_ptr<const std::string>& text,
                                                   const StacksContext& context);
// One stack per line, each counting once.
[[nodiscard]] Result<DecodedProfiles> DecodeLines(const std::shared_ptr<const std::string>& text,
                                                  const StacksContext& context);
// Pyroscope's binary formats (stacks/trie_and_tree.cc): a radix tree over folded text, and a tree
// of frames.
[[nodiscard]] Result<DecodedProfiles> DecodeTrie(const std::shared_ptr<const std::string>& bytes,
                                                 const StacksContext& context);
[[nodiscard]] Result<DecodedProfiles> DecodeTree(const std::shared_ptr<const std::string>& bytes,
                                                 const StacksContext& context);
// speedscope's JSON; each of its profiles becomes one. Times become nanoseconds of the context's
// type, bytes become memory; the context's multiplier applies only to values without a unit.
[[nodiscard]] Result<DecodedProfiles> DecodeSpeedscope(
    const std::shared_ptr<const std::string>& json, const StacksContext& context);
// With `before` (one value per node) each stack gets two numbers, before and after.
[[nodiscard]] std::string EncodeFolded(const profile::FlameTree& tree,
                                       std::span<const std::int64_t> before = {});

// Exports of a flame tree.
[[nodiscard]] std::string EncodeSpeedscope(const profile::FlameTree& tree, std::string_view title);
struct SvgOptions {
  std::string title;
  std::string subtitle;
  int width = 1200;
  // By function of the tree: "more", "less" or "unchanged", for a difference; then colours say
  // that, and so does the hover text. Empty: colours are by kind.
  std::vector<std::string> marks = {};
};
// A standalone SVG without external resources; has hover titles and also works as an image.
[[nodiscard]] std::string EncodeSvg(const profile::FlameTree& tree, const SvgOptions& options);

// Conformance: every rule of profcheck and more.
struct Violation {
  std::string path;      // "dictionary.function_table[3]"
  std::string rule;      // short name, stable
  std::string text;      // a sentence
  bool warning = false;  // SHOULD rather than MUST
};
[[nodiscard]] std::vector<Violation> CheckOtlpProfiles(std::string_view bytes);
[[nodiscard]] std::vector<Violation> CheckPprof(std::string_view bytes);

}  // namespace wherefore::formats
