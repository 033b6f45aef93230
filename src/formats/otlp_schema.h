// The shape of OTLP messages as data: what the JSON transcoder needs to know of every field.
//
// JSON is read by turning it into the binary form and decoding that, and written the other way
// round, so that every rule about profiles and spans exists once. OTLP's JSON differs from proto3's
// in a few places; those are field kinds of their own here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/otlp_fields.h"

namespace wherefore::formats {

enum class FieldKind : std::uint8_t {
  kInt32,  // also enums: integers in OTLP's JSON
  kEnum,   // by name or number, as proto3's JSON has it; a name nobody knows is kUnknownEnum
  kInt64,
  kUint32,
  kUint64,
  kFixed32,
  kFixed64,
  kDouble,
  kBool,
  kString,
  kBytes,      // base64
  kHex,        // trace and span ids
  kProfileId,  // base64 by the letter, hex in practice: both are read, hex is written
  kMessage
};

inline constexpr std::int32_t kUnknownEnum = INT32_MAX;

struct Schema;

struct Field {
  std::string_view json;  // lowerCamelCase
  Tag tag;
  FieldKind kind;
  bool repeated = false;
  const Schema* message = nullptr;
  std::span<const std::string_view> names = {};  // of a kEnum; the index is the number
};

struct Schema {
  std::span<const Field> fields;
};

[[nodiscard]] const Schema& ProfilesSchema();
[[nodiscard]] const Schema& TracesSchema();

}  // namespace wherefore::formats
