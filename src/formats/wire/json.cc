#include "formats/wire/json.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "formats/wire/protobuf.h"

namespace wherefore::formats {

namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// Deep enough for 32 levels of values (four levels of JSON each) inside an envelope.
constexpr std::size_t kMaxJsonDepth = 160;

// "attributeIndices" matches "attributeIndices" and "attribute_indices".
bool SameKey(std::string_view camel, std::string_view key) {
  std::size_t k = 0;
  for (const char c : camel) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (k < key.size() && key[k] == c) {
      ++k;
    } else if (upper && k + 1 < key.size() && key[k] == '_' && key[k + 1] == c - 'A' + 'a') {
      k += 2;
    } else {
      return false;
    }
  }
  return k == key.size();
}

class JsonReader {
 public:
  // False: `path_` and `reason_` say what is wrong.
  bool ReadMessage(const element& json, const Schema& schema, std::string& out);
  [[nodiscard]] Error error() const { return Error::At(Code::kCorrupt, path_, reason_); }

 private:
  bool ReadField(const element& json, const Field& field, std::string& out);
  bool ReadRepeated(const element& json, const Field& field, std::string& out);
  bool ReadScalar(const element& json, const Field& field, PbfWriter& w);
  // The number that goes on the wire, without its tag.
  bool ReadNumber(const element& json, const Field& field, std::uint64_t& bits);
  bool ReadEnum(const element& json, const Field& field, std::uint64_t& bits);
  bool ReadDouble(const element& json, std::uint64_t& bits);
  bool ReadInteger(const element& json, bool is_signed, std::uint64_t& bits);
  bool ReadText(const element& json, FieldKind kind, std::string& out);
  bool Fail(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return false;
  }
  // The path is built from the innermost field outwards while returning from a failure.
  bool FailedIn(std::string_view name) {
    path_.insert(0, path_.empty() || path_.starts_with('[') ? "" : ".").insert(0, name);
    return false;
  }

  std::string path_;
  std::string reason_;
};

bool JsonReader::ReadMessage(const element& json, const Schema& schema, std::string& out) {
  if (json.type() == element_type::NULL_VALUE) return true;
  simdjson::dom::object object;
  if (json.get_object().get(object) != simdjson::SUCCESS) return Fail("an object is expected");
  for (const auto& [key, value] : object) {
    for (const Field& field : schema.fields) {
      if (!SameKey(field.json, key)) continue;
      if (!ReadField(value, field, out)) return FailedIn(field.json);
      break;
    }
  }
  return true;
}

bool JsonReader::ReadField(const element& json, const Field& field, std::string& out) {
  if (json.type() == element_type::NULL_VALUE) return true;  // proto3 JSON: as if absent
  if (field.repeated) return ReadRepeated(json, field, out);
  PbfWriter w(out);
  if (field.kind != FieldKind::kMessage) return ReadScalar(json, field, w);
  std::string nested;
  if (!ReadMessage(json, *field.message, nested)) return false;
  w.add_message(field.tag, nested);
  return true;
}

bool JsonReader::ReadRepeated(const element& json, const Field& field, std::string& out) {
  simdjson::dom::array array;
  if (json.get_array().get(array) != simdjson::SUCCESS) return Fail("an array is expected");
  const bool packed = field.kind < FieldKind::kString;
  PbfWriter w(out);
  std::string numbers;
  std::size_t index = 0;
  for (const element item : array) {
    bool ok = true;
    if (packed) {
      std::uint64_t bits = 0;
      ok = ReadNumber(item, field, bits);
      if (field.kind == FieldKind::kFixed64 || field.kind == FieldKind::kDouble) {
        numbers.append(reinterpret_cast<const char*>(&bits), sizeof bits);
      } else {
        protozero::write_varint(std::back_inserter(numbers), bits);
      }
    } else if (field.kind == FieldKind::kMessage) {
      std::string nested;
      ok = ReadMessage(item, *field.message, nested);
      w.add_message(field.tag, nested);
    } else {
      std::string text;
      ok = ReadText(item, field.kind, text);
      w.add_string(field.tag, text);
    }
    if (!ok) return FailedIn(fmt::format("[{}]", index));
    ++index;
  }
  if (!numbers.empty()) w.add_bytes(field.tag, numbers);
  return true;
}

bool JsonReader::ReadScalar(const element& json, const Field& field, PbfWriter& w) {
  if (field.kind >= FieldKind::kString) {
    std::string text;
    if (!ReadText(json, field.kind, text)) return false;
    w.add_bytes(field.tag, text);
    return true;
  }
  std::uint64_t bits = 0;
  if (!ReadNumber(json, field, bits)) return false;
  switch (field.kind) {
    case FieldKind::kFixed32:
      w.add_fixed32(field.tag, static_cast<std::uint32_t>(bits));
      break;
    case FieldKind::kFixed64:
    case FieldKind::kDouble:
      w.add_fixed64(field.tag, bits);
      break;
    default:
      w.add_uint64(field.tag, bits);
  }
  return true;
}

bool JsonReader::ReadEnum(const element& json, const Field& field, std::uint64_t& bits) {
  std::string_view name;
  if (json.get_string().get(name) != simdjson::SUCCESS) return ReadInteger(json, true, bits);
  const auto it = std::find(field.names.begin(), field.names.end(), name);
  bits = it == field.names.end() ? static_cast<std::uint64_t>(kUnknownEnum)
                                 : static_cast<std::uint64_t>(it - field.names.begin());
  return true;
}

bool JsonReader::ReadNumber(const element& json, const Field& field, std::uint64_t& bits) {
  switch (field.kind) {
    case FieldKind::kEnum:
      return ReadEnum(json, field, bits);
    case FieldKind::kBool: {
      bool value = false;
      if (json.get_bool().get(value) != simdjson::SUCCESS) return Fail("true or false is expected");
      bits = value ? 1 : 0;
      return true;
    }
    case FieldKind::kDouble:
      return ReadDouble(json, bits);
    case FieldKind::kInt32: {
      if (!ReadInteger(json, true, bits)) return false;
      const auto value = static_cast<std::int64_t>(bits);
      return value == static_cast<std::int32_t>(value) || Fail("does not fit 32 bits");
    }
    case FieldKind::kUint32:
    case FieldKind::kFixed32:
      return ReadInteger(json, false, bits) &&
             (bits <= std::numeric_limits<std::uint32_t>::max() || Fail("does not fit 32 bits"));
    case FieldKind::kInt64:
      return ReadInteger(json, true, bits);
    default:
      return ReadInteger(json, false, bits);
  }
}

bool JsonReader::ReadDouble(const element& json, std::uint64_t& bits) {
  double value = 0;
  std::string_view text;
  if (json.get_string().get(text) == simdjson::SUCCESS) {
    if (text == "NaN") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (text == "Infinity" || text == "-Infinity") {
      value = text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    } else {
      const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (code != std::errc() || end != text.data() + text.size())
        return Fail("a number is expected");
    }
  } else if (json.get_double().get(value) != simdjson::SUCCESS) {
    return Fail("a number is expected");
  }
  bits = std::bit_cast<std::uint64_t>(value);
  return true;
}

// proto3 JSON writes 64-bit numbers as strings; numbers are accepted too, also 1e3 and 5.0.
bool JsonReader::ReadInteger(const element& json, bool is_signed, std::uint64_t& bits) {
  std::string_view text;
  if (json.get_string().get(text) == simdjson::SUCCESS) {
    const auto as_signed = is_signed ? ParseInt(text) : std::optional<std::int64_t>();
    const auto as_unsigned = is_signed ? std::optional<std::uint64_t>() : ParseUint(text);
    if (!as_signed && !as_unsigned) return Fail("a whole number is expected");
    bits = as_signed ? static_cast<std::uint64_t>(*as_signed) : *as_unsigned;
    return true;
  }
  if (std::int64_t i = 0; json.get_int64().get(i) == simdjson::SUCCESS && (is_signed || i >= 0)) {
    bits = static_cast<std::uint64_t>(i);
    return true;
  }
  if (!is_signed && json.get_uint64().get(bits) == simdjson::SUCCESS) return true;
  double d = 0;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (json.type() == element_type::DOUBLE && json.get_double().get(d) == simdjson::SUCCESS &&
      d == std::floor(d) && std::abs(d) <= kExact && (is_signed || d >= 0)) {
    bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(d));
    return true;
  }
  return Fail("a whole number that fits is expected");
}

bool JsonReader::ReadText(const element& json, FieldKind kind, std::string& out) {
  std::string_view text;
  if (json.get_string().get(text) != simdjson::SUCCESS) return Fail("a string is expected");
  std::optional<std::string> bytes;
  switch (kind) {
    case FieldKind::kHex:
      bytes = FromHex(text);
      break;
    case FieldKind::kProfileId:
      bytes = text.size() == 32 ? FromHex(text) : FromBase64(text);
      break;
    case FieldKind::kBytes:
      bytes = FromBase64(text);
      break;
    default:
      bytes = std::string(text);
  }
  if (!bytes)
    return Fail(kind == FieldKind::kHex ? "hex digits are expected" : "base64 is expected");
  out = *std::move(bytes);
  return true;
}

// ---------------------------------------------------------------------------------------------

// Fields with another wire type count as unknown.
protozero::pbf_wire_type WireType(const Field& field) {
  using enum protozero::pbf_wire_type;
  if (field.repeated || field.kind >= FieldKind::kString) return length_delimited;
  if (field.kind == FieldKind::kFixed32) return fixed32;
  return field.kind == FieldKind::kFixed64 || field.kind == FieldKind::kDouble ? fixed64 : varint;
}

class JsonFromBinary {
 public:
  explicit JsonFromBinary(std::string& out) : json_(out) {}

  void Message(std::string_view bytes, const Schema& schema) {
    json_.BeginObject();
    for (const Field& field : schema.fields) WriteField(bytes, field);
    json_.EndObject();
  }

 private:
  void WriteField(std::string_view bytes, const Field& field) {
    bool open = false;
    const auto begin = [&] {
      if (!open) json_.Key(field.json);
      if (!open && field.repeated) json_.BeginArray();
      open = true;
    };
    std::string_view last;  // of a single field the last one wins
    bool found = false;
    std::uint64_t bits = 0;
    for (Pbf r = Reader(bytes); r.next(field.tag, WireType(field));) {
      found = true;
      switch (r.wire_type()) {
        case protozero::pbf_wire_type::varint:
          bits = r.get_uint64();
          break;
        case protozero::pbf_wire_type::fixed64:
          bits = r.get_fixed64();
          break;
        case protozero::pbf_wire_type::fixed32:
          bits = r.get_fixed32();
          break;
        default:
          last = GetView(r);
      }
      if (!field.repeated) continue;
      begin();
      if (field.kind < FieldKind::kString) {
        WritePacked(last, field.kind);
      } else {
        WriteText(last, field);
      }
    }
    if (!field.repeated && found) {
      begin();
      if (field.kind < FieldKind::kString) {
        WriteNumber(bits, field.kind);
      } else {
        WriteText(last, field);
      }
    }
    if (open && field.repeated) json_.EndArray();
  }

  void WritePacked(std::string_view bytes, FieldKind kind) {
    std::vector<std::uint64_t> numbers;
    if (kind == FieldKind::kFixed64 || kind == FieldKind::kDouble) {
      AppendPackedFixed64(bytes, numbers);
    } else {
      AppendPackedVarints(bytes, numbers);
    }
    for (const std::uint64_t n : numbers) WriteNumber(n, kind);
  }

  void WriteNumber(std::uint64_t bits, FieldKind kind) {
    switch (kind) {
      case FieldKind::kBool:
        json_.Bool(bits != 0);
        break;
      case FieldKind::kInt32:
      case FieldKind::kEnum:
      case FieldKind::kUint32:
      case FieldKind::kFixed32:
        json_.Int(static_cast<std::int64_t>(bits));
        break;
      case FieldKind::kInt64:
        json_.String(fmt::to_string(static_cast<std::int64_t>(bits)));
        break;
      case FieldKind::kDouble:
        WriteDouble(std::bit_cast<double>(bits));
        break;
      default:
        json_.String(fmt::to_string(bits));
    }
  }

  void WriteDouble(double value) {
    if (std::isfinite(value)) {
      json_.Raw(fmt::format("{}", value));
    } else {
      json_.String(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    }
  }

  void WriteText(std::string_view bytes, const Field& field) {
    switch (field.kind) {
      case FieldKind::kMessage:
        Message(bytes, *field.message);
        break;
      case FieldKind::kHex:
      case FieldKind::kProfileId:
        json_.String(ToHex(bytes));
        break;
      case FieldKind::kBytes:
        json_.String(ToBase64(bytes));
        break;
      default:
        json_.String(bytes);
    }
  }

  JsonWriter json_;
};

}  // namespace

Result<std::string> JsonToBinary(std::string_view json, const Schema& schema) {
  simdjson::dom::parser parser;
  const simdjson::error_code allocated =
      parser.allocate(std::max<std::size_t>(json.size(), 64), kMaxJsonDepth);
  if (allocated != simdjson::SUCCESS) {
    return Error(Code::kLimit, simdjson::error_message(allocated));
  }
  element root;
  // Copied by the parser: it needs room behind the text.
  const simdjson::error_code parsed = parser.parse(json.data(), json.size()).get(root);
  if (parsed != simdjson::SUCCESS) {
    return Error(Code::kCorrupt, fmt::format("JSON: {}", simdjson::error_message(parsed)));
  }
  JsonReader reader;
  std::string out;
  if (!root.is_object()) return Error(Code::kCorrupt, "JSON: an object is expected");
  if (!reader.ReadMessage(root, schema, out)) return reader.error();
  return out;
}

std::string BinaryToJson(std::string_view bytes, const Schema& schema) {
  std::string out;
  JsonFromBinary(out).Message(bytes, schema);
  return out;
}

}  // namespace wherefore::formats
