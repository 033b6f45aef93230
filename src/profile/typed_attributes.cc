#include "profile/typed_attributes.h"

#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace wherefore::profile {
namespace {

void AppendVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>(value | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void AppendBytes(std::string& out, std::string_view bytes) {
  AppendVarint(out, bytes.size());
  out += bytes;
}

bool TakeVarint(std::string_view& in, std::uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(in[0]);
    in.remove_prefix(1);
    *value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool TakeBytes(std::string_view& in, std::string_view* bytes) {
  std::uint64_t size = 0;
  if (!TakeVarint(in, &size) || size > in.size()) return false;
  *bytes = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

bool TakePayload(std::string_view& in, TypedAttribute& a) {
  switch (a.kind) {
    case Value::Kind::kEmpty:
      return true;
    case Value::Kind::kInt:
    case Value::Kind::kBool: {
      std::uint64_t zigzag = 0;
      if (!TakeVarint(in, &zigzag)) return false;
      a.number = static_cast<std::int64_t>(zigzag >> 1) ^ -static_cast<std::int64_t>(zigzag & 1);
      return true;
    }
    case Value::Kind::kDouble:
      if (in.size() < sizeof a.number) return false;
      std::memcpy(&a.number, in.data(), sizeof a.number);
      in.remove_prefix(sizeof a.number);
      return true;
    default:
      return TakeBytes(in, &a.text);
  }
}

}  // namespace

void AppendTyped(std::string& out, const TypedAttribute& a) {
  out += static_cast<char>(a.place);
  AppendBytes(out, a.key);
  AppendBytes(out, a.unit);
  out += static_cast<char>(a.kind);
  switch (a.kind) {
    case Value::Kind::kEmpty:
      return;
    case Value::Kind::kInt:
    case Value::Kind::kBool:
      AppendVarint(out, static_cast<std::uint64_t>(a.number) << 1 ^
                            static_cast<std::uint64_t>(a.number >> 63));
      return;
    case Value::Kind::kDouble:
      out.append(reinterpret_cast<const char*>(&a.number), sizeof a.number);
      return;
    default:
      AppendBytes(out, a.text);
  }
}

void AppendTyped(std::string& out, AttributePlace place, const TextPool& pool,
                 const Attribute& attribute) {
  AppendTyped(out, {.place = place,
                    .key = pool.Text(attribute.key),
                    .unit = pool.Text(attribute.unit),
                    .kind = attribute.value.kind,
                    .text = pool.Text(attribute.value.text),
                    .number = attribute.value.number});
}

Result<std::vector<TypedAttribute>> ReadTyped(std::string_view encoded) {
  std::vector<TypedAttribute> out;
  std::string_view in = encoded;
  while (!in.empty()) {
    TypedAttribute a;
    a.place = static_cast<AttributePlace>(in[0]);
    in.remove_prefix(1);
    bool ok = TakeBytes(in, &a.key) && TakeBytes(in, &a.unit) && !in.empty();
    if (ok) {
      a.kind = static_cast<Value::Kind>(in[0]);
      in.remove_prefix(1);
      ok = a.kind <= Value::Kind::kMap && TakePayload(in, a);
    }
    if (!ok) {
      return Error(Code::kCorrupt, fmt::format("typed attributes: damaged at byte {} of {}",
                                               encoded.size() - in.size(), encoded.size()));
    }
    out.push_back(a);
  }
  return out;
}

}  // namespace wherefore::profile
