// The parts profiles and traces share: attributes and their values, resources, scopes.
//
// Reading: strings become views into the body (the pool must Own() it). String references of
// profiles (key_strindex, string_value_strindex) are resolved against the dictionary, which is
// complete by then. A thing that cannot be kept gives `false` and error(); broken protobuf throws
// protozero's exceptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/notes.h"
#include "formats/wire.h"
#include "profile/batch.h"

namespace wherefore::formats {

// AnyValue inside AnyValue deeper than this is refused: nobody means it, and readers recurse.
inline constexpr int kMaxValueDepth = 32;

// More attributes on one thing are refused: empty ones cost us sixteen times what they cost to
// send.
inline constexpr std::uint32_t kMaxAttributes = 10'000;

// A list may refer to one long string any number of times, and is kept with all of them in place.
inline constexpr std::size_t kMaxReferredBytes = 16u << 20;

// Reads attributes into a pool.
class AttributeReader {
 public:
  // `dictionary_strings`: how many of pool.strings may be referred to; 0 where references do not
  // exist (traces: the fields then count as absent). `bad_strings`: those that may not be used, or
  // empty.
  AttributeReader(profile::TextPool& pool, std::size_t dictionary_strings,
                  const std::vector<std::uint8_t>& bad_strings)
      : pool_(pool), dictionary_strings_(dictionary_strings), bad_strings_(bad_strings) {}

  // One KeyValue; appended to pool.own_attributes, of which `range` is the end.
  [[nodiscard]] bool ReadKeyValue(Pbf r, profile::Range& range);
  // One AnyValue (never a partly filled `out`: on failure it is empty).
  [[nodiscard]] bool ReadValue(Pbf r, profile::Value& out);
  // A string field; 0 and false when it is not UTF-8.
  [[nodiscard]] bool ReadText(std::string_view text, profile::Id& out);
  // Appends a checked EntityRef, tag included.
  [[nodiscard]] bool CopyEntityRef(Pbf r, std::string& out);
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool Fail(std::string text) {
    error_ = std::move(text);
    return false;
  }
  [[nodiscard]] bool Referable(std::uint32_t index);
  // Nested values: checks, and writes them in one canonical form with strings in place of
  // references.
  bool CopyValue(Pbf r, int depth, std::string& out);
  bool CopyKeyValue(Pbf r, int depth, std::string& out);
  bool CopyList(Pbf r, bool map, int depth, std::string& out);
  // A text of the dictionary, to be copied.
  bool ReferredText(std::uint32_t index, std::string_view& out);

  profile::TextPool& pool_;
  std::size_t dictionary_strings_;
  const std::vector<std::uint8_t>& bad_strings_;
  std::size_t referred_bytes_ = 0;
  std::string error_;
};

// Resource (or scope) and schema URL out of the message that also holds its items, the same in
// every signal. A value is why nothing in it can be kept.
[[nodiscard]] std::optional<std::string> ReadResourceOf(std::string_view bytes,
                                                        AttributeReader& reader,
                                                        profile::TextPool& pool,
                                                        profile::Resource& out);
[[nodiscard]] std::optional<std::string> ReadScopeOf(std::string_view bytes,
                                                     AttributeReader& reader, profile::Scope& out);

// Writing. Strings always inline: most receivers do not resolve references in these places.
// The value as an AnyValue in field `tag`.
void WriteValue(PbfWriter& w, Tag tag, const profile::TextPool& pool, const profile::Value& value);
void WriteKeyValue(PbfWriter& w, const profile::TextPool& pool,
                   const profile::Attribute& attribute);
void WriteResource(PbfWriter& w, const profile::TextPool& pool, const profile::Resource& resource);
void WriteScope(PbfWriter& w, const profile::TextPool& pool, const profile::Scope& scope);

// AnyValue bytes of a list of strings, as kArray values hold them; and back (other elements are
// left out).
[[nodiscard]] std::string StringArrayValue(const std::vector<std::string_view>& items);
[[nodiscard]] std::vector<std::string_view> StringArrayItems(std::string_view bytes);

}  // namespace wherefore::formats
