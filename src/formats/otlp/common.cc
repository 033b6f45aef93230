#include "formats/otlp/common.h"

#include <bit>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace wherefore::formats {

using profile::Attribute;
using profile::Id;
using profile::Value;

bool AttributeReader::Referable(std::uint32_t index) {
  if (index >= dictionary_strings_) {
    return Fail(fmt::format("{} is outside string_table ({} entries)",
                            static_cast<std::int32_t>(index), dictionary_strings_));
  }
  if (!bad_strings_.empty() && bad_strings_[index] != 0) {
    return Fail(fmt::format("string_table[{}] is not UTF-8", index));
  }
  return true;
}

bool AttributeReader::ReferredText(std::uint32_t index, std::string_view& out) {
  if (!Referable(index)) return false;
  out = pool_.strings[index];
  referred_bytes_ += out.size();
  return referred_bytes_ <= kMaxReferredBytes ||
         Fail(fmt::format("lists refer to more than {} bytes of text", kMaxReferredBytes));
}

bool AttributeReader::ReadText(std::string_view text, Id& out) {
  out = 0;
  if (!IsValidUtf8(text)) return Fail("text is not UTF-8");
  out = pool_.AddView(text);
  return true;
}

bool AttributeReader::ReadValue(Pbf r, Value& out) {
  const std::string_view whole(r.data().data(), r.data().size());
  const auto set = [&out](Value::Kind kind, std::int64_t number) { out = {kind, 0, number}; };
  bool nested = false;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(any_value::kString):
        set(Value::Kind::kString, 0);
        if (!ReadText(GetView(r), out.text)) return false;
        break;
      case VarintKey(any_value::kStringRef): {
        const std::uint32_t index = GetIndex(r);
        if (dictionary_strings_ == 0) break;
        set(Value::Kind::kString, 0);
        if (!Referable(index)) return false;
        out.text = index;
        break;
      }
      case VarintKey(any_value::kBool):
        set(Value::Kind::kBool, GetBool(r) ? 1 : 0);
        break;
      case VarintKey(any_value::kInt):
        set(Value::Kind::kInt, r.get_int64());
        break;
      case Fixed64Key(any_value::kDouble):
        set(Value::Kind::kDouble, std::bit_cast<std::int64_t>(r.get_fixed64()));
        break;
      case LenKey(any_value::kBytes):
        set(Value::Kind::kBytes, 0);
        out.text = pool_.AddView(GetView(r));
        break;
      case LenKey(any_value::kArray):
        set(Value::Kind::kArray, 0);
        nested = true;
        r.skip();
        break;
      case LenKey(any_value::kMap):
        set(Value::Kind::kMap, 0);
        nested = true;
        r.skip();
        break;
      default:
        r.skip();
    }
  }
  if (!nested) return true;
  std::string copy;
  if (!CopyValue(Reader(whole), 0, copy)) {
    out = {};
    return false;
  }
  if (out.kind == Value::Kind::kArray || out.kind == Value::Kind::kMap) {
    out.text = copy == whole ? pool_.AddView(whole) : pool_.AddText(copy);
  }
  return true;
}

// Of several members of the oneof the last one wins; consecutive lists of the same kind are one
// list.
bool AttributeReader::CopyValue(Pbf r, int depth, std::string& out) {
  if (depth >= kMaxValueDepth) {
    return Fail(fmt::format("values nested deeper than {}", kMaxValueDepth));
  }
  Tag list_tag = 0;
  std::string list;
  const auto scalar = [&] {
    list_tag = 0;
    out.clear();
    return PbfWriter(out);
  };
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(any_value::kString): {
        const std::string_view text = GetView(r);
        if (!IsValidUtf8(text)) return Fail("text is not UTF-8");
        scalar().add_string(any_value::kString, text.data(), text.size());
        break;
      }
      case VarintKey(any_value::kStringRef): {
        const std::uint32_t index = GetIndex(r);
        if (dictionary_strings_ == 0) break;
        std::string_view text;
        if (!ReferredText(index, text)) return false;
        scalar().add_string(any_value::kString, text.data(), text.size());
        break;
      }
      case VarintKey(any_value::kBool):
        scalar().add_bool(any_value::kBool, GetBool(r));
        break;
      case VarintKey(any_value::kInt):
        scalar().add_int64(any_value::kInt, r.get_int64());
        break;
      case Fixed64Key(any_value::kDouble):
        scalar().add_fixed64(any_value::kDouble, r.get_fixed64());
        break;
      case LenKey(any_value::kBytes):
        scalar().add_bytes(any_value::kBytes, r.get_view());
        break;
      case LenKey(any_value::kArray):
      case LenKey(any_value::kMap):
        if (list_tag != r.tag()) list.clear();
        list_tag = r.tag();
        if (!CopyList(r.get_message(), list_tag == any_value::kMap, depth, list)) return false;
        break;
      default:
        r.skip();
    }
  }
  if (list_tag != 0) {
    out.clear();
    PbfWriter(out).add_message(list_tag, list);
  }
  return true;
}

bool AttributeReader::CopyList(Pbf r, bool map, int depth, std::string& out) {
  PbfWriter w(out);
  while (r.next()) {
    if (r.tag_and_type() != LenKey(value_list::kValues)) {
      r.skip();
      continue;
    }
    std::string item;
    const bool ok = map ? CopyKeyValue(r.get_message(), depth, item)
                        : CopyValue(r.get_message(), depth + 1, item);
    if (!ok) return false;
    w.add_message(value_list::kValues, item);
  }
  return true;
}

bool AttributeReader::CopyKeyValue(Pbf r, int depth, std::string& out) {
  std::string_view key;
  std::uint32_t key_ref = 0;
  std::string value;  // parts concatenated: that is how protobuf merges
  bool has_value = false;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(key_value::kKey):
        key = GetView(r);
        break;
      case VarintKey(key_value::kKeyRef):
        key_ref = GetIndex(r);
        break;
      case LenKey(key_value::kValue):
        value += GetView(r);
        has_value = true;
        break;
      default:
        r.skip();
    }
  }
  if (key_ref != 0 && dictionary_strings_ != 0) {
    if (!ReferredText(key_ref, key)) return false;
  }
  if (!IsValidUtf8(key)) return Fail("key is not UTF-8");
  std::string copy;
  if (!CopyValue(Reader(value), depth + 1, copy)) return false;
  PbfWriter w(out);
  if (!key.empty()) w.add_string(key_value::kKey, key.data(), key.size());
  if (has_value) w.add_message(key_value::kValue, copy);
  return true;
}

bool AttributeReader::ReadKeyValue(Pbf r, profile::Range& range) {
  if (range.count == 0) range.begin = static_cast<std::uint32_t>(pool_.own_attributes.size());
  if (range.count >= kMaxAttributes) {
    return Fail(fmt::format("more than {} attributes", kMaxAttributes));
  }
  Attribute attribute;
  std::uint32_t key_ref = 0;
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(key_value::kKey):
        if (!ReadText(GetView(r), attribute.key)) return false;
        break;
      case VarintKey(key_value::kKeyRef):
        key_ref = GetIndex(r);
        break;
      case LenKey(key_value::kValue):
        if (!ReadValue(r.get_message(), attribute.value)) {
          error_.insert(0, fmt::format("{}: ", pool_.Text(attribute.key)));
          return false;
        }
        break;
      default:
        r.skip();
    }
  }
  // 0 means "not set", not a reference to "": some senders write it beside an inline key.
  if (key_ref != 0 && dictionary_strings_ != 0) {
    if (!Referable(key_ref)) return false;
    attribute.key = key_ref;
  }
  pool_.own_attributes.push_back(attribute);
  ++range.count;
  return true;
}

// Kept as it is, but only if well-formed: other formats must be able to parse it.
bool AttributeReader::CopyEntityRef(Pbf r, std::string& out) {
  constexpr Tag kLastTextField = 4;
  std::string copy;
  PbfWriter w(copy);
  while (r.next()) {
    if (r.tag() > kLastTextField || r.wire_type() != protozero::pbf_wire_type::length_delimited) {
      r.skip();
      continue;
    }
    const Tag tag = r.tag();
    const std::string_view text = GetView(r);
    if (!IsValidUtf8(text)) return Fail("entity_refs: text is not UTF-8");
    w.add_string(tag, text.data(), text.size());
  }
  PbfWriter(out).add_message(resource::kEntityRefs, copy);
  return true;
}

namespace {

// Both append to the pool. On failure `reader` has the error and the result holds what could be
// read.
bool ReadResource(Pbf r, AttributeReader& reader, std::string& entity_refs,
                  profile::Resource& out) {
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(resource::kAttributes):
        if (!reader.ReadKeyValue(r.get_message(), out.attributes)) return false;
        break;
      case VarintKey(resource::kDropped):
        out.dropped_attributes = r.get_uint32();
        break;
      case LenKey(resource::kEntityRefs):
        if (!reader.CopyEntityRef(r.get_message(), entity_refs)) return false;
        break;
      default:
        r.skip();
    }
  }
  return true;
}

bool ReadScope(Pbf r, AttributeReader& reader, profile::Scope& out) {
  while (r.next()) {
    switch (r.tag_and_type()) {
      case LenKey(scope::kName):
        if (!reader.ReadText(GetView(r), out.name)) return false;
        break;
      case LenKey(scope::kVersion):
        if (!reader.ReadText(GetView(r), out.version)) return false;
        break;
      case LenKey(scope::kAttributes):
        if (!reader.ReadKeyValue(r.get_message(), out.attributes)) return false;
        break;
      case VarintKey(scope::kDropped):
        out.dropped_attributes = r.get_uint32();
        break;
      default:
        r.skip();
    }
  }
  return true;
}

// Reads what encloses a list of profiles or spans: its owner (field `inner`, read by `read`) and
// its schema URL. Returns what is wrong, if anything.
template <typename ReadInner>
std::optional<std::string> ReadEnvelope(std::string_view bytes, Tag inner, const ReadInner& read,
                                        AttributeReader& reader, std::string_view what,
                                        profile::Id& schema_url) {
  bool ok = true;
  for (Pbf r = Reader(bytes); r.next();) {
    const auto key = static_cast<std::uint32_t>(r.tag_and_type());
    if (key == LenKey(inner)) {
      ok = read(r.get_message()) && ok;
    } else if (key == LenKey(envelope::kSchemaUrl)) {
      ok = reader.ReadText(GetView(r), schema_url) && ok;
    } else {
      r.skip();
    }
  }
  if (ok) return std::nullopt;
  return fmt::format("the {}'s attributes: {}", what, reader.error());
}

}  // namespace

std::optional<std::string> ReadResourceOf(std::string_view bytes, AttributeReader& reader,
                                          profile::TextPool& pool, profile::Resource& out) {
  std::string entity_refs;  // of all parts the resource may consist of
  const auto read = [&](Pbf inner) { return ReadResource(inner, reader, entity_refs, out); };
  auto problem = ReadEnvelope(bytes, envelope::kResource, read, reader, "resource", out.schema_url);
  out.entity_refs = pool.AddText(entity_refs);
  return problem;
}

std::optional<std::string> ReadScopeOf(std::string_view bytes, AttributeReader& reader,
                                       profile::Scope& out) {
  const auto read = [&](Pbf inner) { return ReadScope(inner, reader, out); };
  return ReadEnvelope(bytes, envelope::kScope, read, reader, "scope", out.schema_url);
}

void WriteValue(PbfWriter& w, Tag tag, const profile::TextPool& pool, const Value& value) {
  const std::string_view text = pool.Text(value.text);
  if (value.kind == Value::Kind::kArray || value.kind == Value::Kind::kMap) {
    w.add_message(tag, text.data(), text.size());  // AnyValue bytes already
    return;
  }
  if (value.kind == Value::Kind::kEmpty) return;  // absent means the same
  PbfWriter v(w, tag);
  switch (value.kind) {
    case Value::Kind::kString:
      v.add_string(any_value::kString, text.data(), text.size());
      break;
    case Value::Kind::kBool:
      v.add_bool(any_value::kBool, value.number != 0);
      break;
    case Value::Kind::kInt:
      v.add_int64(any_value::kInt, value.number);
      break;
    case Value::Kind::kDouble:
      v.add_fixed64(any_value::kDouble, std::bit_cast<std::uint64_t>(value.number));
      break;
    case Value::Kind::kBytes:
      v.add_bytes(any_value::kBytes, text.data(), text.size());
      break;
    case Value::Kind::kEmpty:
    case Value::Kind::kArray:
    case Value::Kind::kMap:
      break;
  }
}

void WriteKeyValue(PbfWriter& w, const profile::TextPool& pool, const Attribute& attribute) {
  const std::string_view key = pool.Text(attribute.key);
  if (!key.empty()) w.add_string(key_value::kKey, key.data(), key.size());
  WriteValue(w, key_value::kValue, pool, attribute.value);
}

void WriteResource(PbfWriter& w, const profile::TextPool& pool, const profile::Resource& res) {
  for (const Attribute& a : pool.OwnAttributes(res.attributes)) {
    PbfWriter kv(w, resource::kAttributes);
    WriteKeyValue(kv, pool, a);
  }
  if (res.dropped_attributes != 0) w.add_uint32(resource::kDropped, res.dropped_attributes);
  Pbf refs = Reader(pool.Text(res.entity_refs));
  while (refs.next()) w.add_message(resource::kEntityRefs, refs.get_view());
}

void WriteScope(PbfWriter& w, const profile::TextPool& pool, const profile::Scope& sc) {
  const std::string_view name = pool.Text(sc.name);
  const std::string_view version = pool.Text(sc.version);
  if (!name.empty()) w.add_string(scope::kName, name.data(), name.size());
  if (!version.empty()) w.add_string(scope::kVersion, version.data(), version.size());
  for (const Attribute& a : pool.OwnAttributes(sc.attributes)) {
    PbfWriter kv(w, scope::kAttributes);
    WriteKeyValue(kv, pool, a);
  }
  if (sc.dropped_attributes != 0) w.add_uint32(scope::kDropped, sc.dropped_attributes);
}

std::string StringArrayValue(const std::vector<std::string_view>& items) {
  std::string out;
  PbfWriter value(out);
  PbfWriter array(value, any_value::kArray);
  for (const std::string_view item : items) {
    PbfWriter element(array, value_list::kValues);
    element.add_string(any_value::kString, item.data(), item.size());
  }
  array.commit();
  return out;
}

std::vector<std::string_view> StringArrayItems(std::string_view bytes) {
  std::vector<std::string_view> out;
  Pbf value = Reader(bytes);
  while (value.next(any_value::kArray, protozero::pbf_wire_type::length_delimited)) {
    Pbf array = value.get_message();
    while (array.next(value_list::kValues, protozero::pbf_wire_type::length_delimited)) {
      Pbf element = array.get_message();
      while (element.next(any_value::kString, protozero::pbf_wire_type::length_delimited)) {
        out.push_back(GetView(element));
      }
    }
  }
  return out;
}

}  // namespace wherefore::formats
