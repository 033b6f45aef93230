// What profiles and traces share: attributes and their values, resources, scopes.
//
// Reading: strings become views into the body (the pool must Own() it). String references of
// profiles (key_strindex, string_value_strindex) are resolved against the dictionary, which must be
// complete. A part that cannot be kept gives `false` and error(); broken protobuf throws
// protozero's exceptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/otlp/fields.h"
#include "formats/wire/notes.h"
#include "formats/wire/protobuf.h"
#include "profile/batch.h"

namespace wherefore::formats {

// AnyValues nested deeper than this are refused: nobody needs it, and readers recurse.
inline constexpr int kMaxValueDepth = 32;

// The most attributes on one object: empty ones cost us sixteen times what they cost to send.
inline constexpr std::uint32_t kMaxAttributes = 10'000;

// Limit for the strings copied for references: a list may refer to one long string many times.
inline constexpr std::size_t kMaxReferredBytes = 16u << 20;

// Reads attributes into a pool.
class AttributeReader {
 public:
  // `dictionary_strings`: how many of pool.strings may be referred to; 0 if there are no references
  // (in traces those fields are ignored). `bad_strings`: marks unusable strings; may be empty.
  AttributeReader(profile::TextPool& pool, std::size_t dictionary_strings,
                  const std::vector<std::uint8_t>& bad_strings)
      : pool_(pool), dictionary_strings_(dictionary_strings), bad_strings_(bad_strings) {}

  // Reads a KeyValue and appends it to pool.own_attributes, at the end of `range`.
  [[nodiscard]] bool ReadKeyValue(Pbf r, profile::Range& range);
  // Reads an AnyValue. On failure `out` is empty, never half filled.
  [[nodiscard]] bool ReadValue(Pbf r, profile::Value& out);
  // Reads a string field; 0 and false if it is not UTF-8.
  [[nodiscard]] bool ReadText(std::string_view text, profile::Id& out);
  // Appends an EntityRef after checking it, tag included.
  [[nodiscard]] bool CopyEntityRef(Pbf r, std::string& out);
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool Fail(std::string text) {
    error_ = std::move(text);
    return false;
  }
  [[nodiscard]] bool Referable(std::uint32_t index);
  // Nested values: checks them and writes a canonical form with strings in place of references.
  bool CopyValue(Pbf r, int depth, std::string& out);
  bool CopyKeyValue(Pbf r, int depth, std::string& out);
  bool CopyList(Pbf r, bool map, int depth, std::string& out);
  // A string of the dictionary that will be copied.
  bool ReferredText(std::uint32_t index, std::string_view& out);

  profile::TextPool& pool_;
  std::size_t dictionary_strings_;
  const std::vector<std::uint8_t>& bad_strings_;
  std::size_t referred_bytes_ = 0;
  std::string error_;
};

// Counts nearly empty messages: each costs us far more than its sender.
class TinyMessages {
 public:
  // Call once per message; false if it is one too many.
  [[nodiscard]] bool Admit(std::string_view message) {
    constexpr std::size_t kTiny = 8;
    if (message.size() < kTiny) ++count_;
    return !too_many();
  }
  [[nodiscard]] bool too_many() const { return count_ > kMost; }

 private:
  static constexpr std::uint64_t kMost = 100'000;

  std::uint64_t count_ = 0;
};

// Reads resource (or scope) and schema URL from the message that also holds its items; the same for
// every signal. A returned text says why nothing in it can be kept.
[[nodiscard]] std::optional<std::string> ReadResourceOf(std::string_view bytes,
                                                        AttributeReader& reader,
                                                        profile::TextPool& pool,
                                                        profile::Resource& out);
[[nodiscard]] std::optional<std::string> ReadScopeOf(std::string_view bytes,
                                                     AttributeReader& reader, profile::Scope& out);

// Writing. Strings are always inline: most receivers do not resolve references here. Writes the
// value as an AnyValue in field `tag`.
void WriteValue(PbfWriter& w, Tag tag, const profile::TextPool& pool, const profile::Value& value);
void WriteKeyValue(PbfWriter& w, const profile::TextPool& pool,
                   const profile::Attribute& attribute);
void WriteResource(PbfWriter& w, const profile::TextPool& pool, const profile::Resource& resource);
void WriteScope(PbfWriter& w, const profile::TextPool& pool, const profile::Scope& scope);

// AnyValue bytes of a list of strings, as in kArray values; and back (other elements are dropped).
[[nodiscard]] std::string StringArrayValue(const std::vector<std::string_view>& items);
[[nodiscard]] std::vector<std::string_view> StringArrayItems(std::string_view bytes);

}  // namespace wherefore::formats
