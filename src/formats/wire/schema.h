// Protobuf schemas as data: what the JSON transcoder (wire/json.h) needs to know about every field.
//
// JSON is read by converting it to the binary form and decoding that, and written the other way
// round, so every rule about a message exists once. Where OTLP's JSON differs from proto3's, there
// is a field kind for it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "formats/wire/protobuf.h"

namespace wherefore::formats {

enum class FieldKind : std::uint8_t {
  kInt32,  // also enums: integers in OTLP's JSON
  kEnum,   // by name or number, as in proto3 JSON; an unknown name is kUnknownEnum
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
  kProfileId,  // base64 in the specification, hex in practice: both are read, hex is written
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
  std::span<const std::string_view> names = {};  // for kEnum; the index is the number
};

struct Schema {
  std::span<const Field> fields;
};

}  // namespace wherefore::formats
