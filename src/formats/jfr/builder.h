// Converts frames, attributes, links and samples of a JFR recording into entries of a Batch. Equal
// ones share an entry, over all chunks.
//
// A few bytes of a recording can ask for a lot of memory (a name composed of a long one, a list of
// labels repeated). So everything that grows is charged to a budget, a multiple of the file's size,
// and ok() is false once it is spent. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "formats/jfr/chunk.h"
#include "formats/jfr/labels.h"
#include "formats/wire/notes.h"
#include "profile/batch.h"

namespace wherefore::formats {

// What an event says besides its kind and amount.
struct JfrSampleKey {
  profile::Id stack = 0;
  profile::Id attributes = 0;  // a set of JfrBuilder::Attributes
  profile::Id link = 0;
};

class JfrBuilder {
 public:
  JfrBuilder(profile::Batch& batch, std::size_t file_bytes, const JfrLabels& labels);

  [[nodiscard]] bool ok() const { return budget_ >= 0; }
  [[nodiscard]] std::string message() const { return notes_.Text(); }

  // 0 (no stack) if the trace is not in the chunk; that is noted.
  profile::Id Stack(JfrChunk& chunk, std::int64_t trace);
  // The set of a context's labels, a span's name and a thread's name; any may be 0.
  profile::Id Attributes(JfrChunk& chunk, std::int64_t context, std::int64_t span_name,
                         std::int64_t thread);
  profile::Id Link(std::uint64_t trace_high, std::uint64_t trace_low, std::uint64_t span);
  // Charges for one more row of samples.
  void PayRow() { Pay(kRowBytes); }

  [[nodiscard]] profile::Range Set(profile::Id set) const { return sets_[set]; }
  // The id of a text; equal texts share one. Repairs invalid UTF-8.
  profile::Id Text(std::string_view text);

 private:
  static constexpr std::int64_t kRowBytes = 160;  // two samples and their place in a table
  using Interned = std::unordered_map<Hash128, profile::Id>;

  profile::Id Function(JfrChunk& chunk, std::int64_t method);
  profile::Id Frame(JfrChunk& chunk, std::int64_t method, std::int64_t line, std::int64_t type);
  profile::Range FrameAttributes(JfrChunk& chunk, std::int64_t type);
  profile::Id NewFunction(const std::string& name, const std::string& system_name);
  profile::Id Attribute(std::string_view key, std::string_view value);
  profile::Id ContextSet(std::int64_t context);
  profile::Id SpanName(std::int64_t name);
  profile::Id Thread(JfrChunk& chunk, std::int64_t thread);
  profile::Id SetOf(const std::vector<profile::Id>& attributes);
  template <typename... T>
  void Note(fmt::format_string<T...> text, T&&... parts) {
    if (notes_.full()) {
      notes_.AddUnseen();  // there can be millions
    } else {
      notes_.Add(fmt::format(text, std::forward<T>(parts)...));
    }
  }
  void Pay(std::size_t bytes) { budget_ -= static_cast<std::int64_t>(bytes); }
  template <typename... T>
  static Hash128 KeyOf(T... parts);

  profile::Batch& b_;
  const JfrLabels& labels_;
  Notes notes_;
  std::int64_t budget_;
  std::string scratch_;
  std::vector<profile::Id> ids_;
  std::vector<profile::Range> sets_{1};
  std::unordered_map<std::int64_t, profile::Id> context_sets_, span_names_;
  Interned texts_, functions_, frames_, stacks_, attributes_, set_ids_, combined_, links_;
  std::array<profile::Range, 3> frame_attributes_{};  // jvm, native, kernel
  std::size_t thread_names_ = 0;
};

}  // namespace wherefore::formats
