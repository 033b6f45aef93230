// The implementation of DecodePprof, in two files: pprof/tables.cc (strings, mappings, functions,
// locations) and pprof/decode.cc (header, samples, profiles).
//
// A pprof file is all or nothing: a dangling reference makes the whole file corrupt. Names that are
// not UTF-8 are repaired (utf8.h) and noted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "formats/formats.h"
#include "formats/pprof/fields.h"
#include "formats/wire/notes.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

// pprof's ids can be any numbers; in practice they are 1, 2, 3, ..., which need no map.
class IdMap {
 public:
  // False if the id is 0 or used already.
  bool Add(std::uint64_t id, profile::Id index) {
    if (id == 0) return false;
    if (id == dense_ + 1 && id == index) {
      ++dense_;
      return !sparse_.contains(id);
    }
    return id > dense_ && sparse_.try_emplace(id, index).second;
  }
  [[nodiscard]] std::optional<profile::Id> Find(std::uint64_t id) const {
    if (id <= dense_) return static_cast<profile::Id>(id);
    const auto it = sparse_.find(id);
    return it == sparse_.end() ? std::nullopt : std::optional(it->second);
  }

 private:
  std::uint64_t dense_ = 0;  // ids up to this are their own index; 0: none
  std::unordered_map<std::uint64_t, profile::Id> sparse_;
};

// A label as sent, indices unchecked.
struct Label {
  std::uint64_t key = 0;
  std::uint64_t str = 0;
  std::int64_t num = 0;
  std::uint64_t unit = 0;
};

// Decodes one file; used once, on one thread.
class PprofDecoder {
 public:
  PprofDecoder(std::string_view bytes, const PprofContext& context)
      : bytes_(bytes), context_(context) {}

  // Throws protozero's exceptions on broken protobuf; path() says where.
  Result<DecodedProfiles> Run();
  [[nodiscard]] std::string path() const {
    return at_ == nullptr ? "profile" : fmt::format("{}[{}]", at_, index_);
  }

 private:
  struct Header {
    std::vector<profile::ValueType> types;
    profile::ValueType period_type;
    std::int64_t period = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t drop_frames = 0, keep_frames = 0, default_type = 0, doc_url = 0;
    std::vector<std::uint64_t> comments;
  };

  bool ReadStrings();
  bool ReadHeader();
  bool ReadTables();
  bool ReadMapping(Pbf r, profile::Id index);
  bool ReadFunction(Pbf r, profile::Id index);
  bool ReadLocation(Pbf r, profile::Id index);
  bool ReadLine(Pbf r);
  bool ReadSamples();
  bool ReadSample(Pbf r, std::size_t row, std::size_t rows);
  bool ReadLabels(const std::vector<Label>& labels, std::size_t row);
  void MakeResourceAndScope();
  void MakeProfiles();
  void PutFilesIntoNames();
  void ReplaceDashes();
  bool ReadValueType(Pbf r, profile::ValueType& out);
  template <typename Fn>
  bool Each(Tag tag, const char* name, Fn fn);

  // Checks a string index.
  [[nodiscard]] bool Text(std::uint64_t index, profile::Id& out) {
    if (index >= strings_) {
      return Fail(fmt::format("string {} is outside string_table ({} entries)",
                              static_cast<std::int64_t>(index), strings_));
    }
    out = static_cast<profile::Id>(index);
    return true;
  }
  [[nodiscard]] bool Fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  // An attribute of the table; equal attributes share an entry.
  profile::Id AttributeFor(const profile::Attribute& attribute);
  profile::Id TextAttribute(std::string_view key, profile::Id text);
  profile::Id FlagAttribute(std::string_view key);
  profile::Id KeyText(std::string_view key);

  std::string_view bytes_;
  const PprofContext& context_;
  DecodedProfiles result_;
  Notes notes_;
  Header header_;
  std::size_t strings_ = 0;
  IdMap mappings_, functions_, locations_;
  std::unordered_map<Hash128, profile::Id> attribute_ids_;
  std::unordered_map<std::string_view, profile::Id> key_texts_;
  profile::Range profile_attributes_;
  std::vector<std::uint64_t> scratch_ids_;
  std::vector<std::int64_t> scratch_values_;
  std::string reason_;
  const char* at_ = nullptr;
  std::size_t index_ = 0;
};

// Calls fn(message, index from 1) for every entry of a table.
template <typename Fn>
bool PprofDecoder::Each(Tag tag, const char* name, Fn fn) {
  at_ = name;
  index_ = 0;
  for (Pbf r = Reader(bytes_); r.next(tag, protozero::pbf_wire_type::length_delimited); ++index_) {
    if (!fn(r.get_message(), static_cast<profile::Id>(index_ + 1))) return false;
  }
  at_ = nullptr;
  return true;
}

}  // namespace wherefore::formats
