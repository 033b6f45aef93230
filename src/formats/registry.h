// The file formats this program reads: one table for everything that opens a file (the page, the
// command line, uploads recognised by content). Pure; any thread.
//
// A format is one row of kFormats (registry.cc). README.md says how to add one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "formats/formats.h"
#include "profile/flame_tree.h"

namespace wherefore::formats {

using FileBytes = std::shared_ptr<const std::string>;
// Defaults for what a file does not say itself.
using FileContext = StacksContext;
// A FlameTree comes from a saved flame graph: it can be shown but has no samples.
using FileContent = std::variant<DecodedProfiles, DecodedSpans, profile::FlameTree>;

struct Format {
  std::string_view key;   // "otlp-json": in options and URLs
  std::string_view name;  // "OTLP profiles (JSON)": for people
  // By content only: names and media types are unreliable. `bytes` are uncompressed. Decoding shows
  // whether the rest of the file is valid.
  bool (*recognise)(std::string_view bytes);
  Result<FileContent> (*decode)(const FileBytes& bytes, const FileContext& context);
  // The rules of the format that a file violates; null: no checker.
  std::vector<Violation> (*check)(std::string_view bytes) = nullptr;
  // Uncompressed; null: we do not write it, or only from a flame tree (trees/).
  Result<std::string> (*encode)(const profile::Batch& batch) = nullptr;
  // Stacks and little else: service, labels and time come from the context.
  bool bare_stacks = false;
};

// In the order in which they are tried.
[[nodiscard]] std::span<const Format> Formats();
// Their names for people: "JFR, pprof, ...".
[[nodiscard]] std::string FormatNames();
// The format with that key; null if there is none.
[[nodiscard]] const Format* FormatOf(std::string_view key);
// The format of a file, gzip-compressed or not; null if it is none of them.
[[nodiscard]] const Format* Recognise(std::string_view bytes);
// Decodes a file of any format, gzip-compressed or not. kInvalid if it is none of them.
[[nodiscard]] Result<FileContent> DecodeFile(const FileBytes& bytes, const FileContext& context);
// Unpacks gzip, at most 256 MiB; other bytes are returned as they are.
[[nodiscard]] Result<FileBytes> Unpacked(FileBytes bytes);

// The error for a saved flame graph where profiles are needed.
[[nodiscard]] Error NoSamplesError();
// The error for traces where profiles are needed.
[[nodiscard]] Error OnlyTracesError();

}  // namespace wherefore::formats
