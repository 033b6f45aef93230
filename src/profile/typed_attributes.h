// TypedAttributes: attributes with their types and units as one opaque string.
//
// The store keeps everything a sender attached, for a lossless export, but does not use most of it.
// Such attributes pass through the store in this form; the store's interner writes it and the
// exporter in query reads it. Pure functions; any thread.
//
// Layout (docs/format.md, "Typed attributes"): a sequence of entries
//   u8 place | varint key length, key | varint unit length, unit | u8 kind | payload
//   payload: kString, kBytes, kArray, kMap: varint length, bytes;
//            kInt, kBool: zigzag varint; kDouble: 8 bytes, little-endian
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "profile/batch.h"

namespace wherefore::profile {

// Where an attribute was attached. Stored on disk: never renumber.
enum class AttributePlace : std::uint8_t {
  kResource = 0,
  kScope = 1,         // attribute of the scope
  kScopeName = 2,     // key empty, value = the scope's name
  kScopeVersion = 3,  // key empty, value = the scope's version
  kProfile = 4,
  kSample = 5,
  kMapping = 6,
  kFrame = 7,
  kSpan = 8,
  kEntityRefs = 9,  // key empty, value = encoded EntityRef messages
};

struct TypedAttribute {
  AttributePlace place = AttributePlace::kResource;
  std::string_view key;
  std::string_view unit;
  Value::Kind kind = Value::Kind::kEmpty;
  std::string_view text;    // kString, kBytes, kArray, kMap
  std::int64_t number = 0;  // kInt, kBool, kDouble (bits)
};

void AppendTyped(std::string& out, const TypedAttribute& attribute);
void AppendTyped(std::string& out, AttributePlace place, const TextPool& pool,
                 const Attribute& attribute);
// The result contains views into `encoded`. kCorrupt for damaged bytes.
[[nodiscard]] Result<std::vector<TypedAttribute>> ReadTyped(std::string_view encoded);

}  // namespace wherefore::profile
