#include "formats/otlp/nested_values.h"

#include "formats/otlp/common.h"

namespace wherefore::formats {
namespace {

// Copies an AnyValue field by field, replacing what goes. The bytes come from our own decoder, so
// they are well formed and nested at most kMaxValueDepth deep.
class Copy {
 public:
  Copy(std::string_view replacement, const NestedTest& goes)
      : replacement_(replacement), goes_(goes) {}

  [[nodiscard]] bool changed() const { return changed_; }

  void Value(Pbf r, std::string_view key, std::string& out) {
    PbfWriter w(out);
    while (r.next()) {
      switch (r.tag_and_type()) {
        case LenKey(any_value::kString):
        case LenKey(any_value::kBytes): {
          const Tag tag = r.tag();
          const std::string_view text = GetView(r);
          if (!Replaced(key, text, w)) w.add_bytes(tag, text.data(), text.size());
          break;
        }
        case VarintKey(any_value::kBool):
        case VarintKey(any_value::kInt): {
          const Tag tag = r.tag();
          const std::uint64_t number = r.get_uint64();
          if (!Replaced(key, {}, w)) w.add_uint64(tag, number);
          break;
        }
        case Fixed64Key(any_value::kDouble): {
          const std::uint64_t bits = r.get_fixed64();
          if (!Replaced(key, {}, w)) w.add_fixed64(any_value::kDouble, bits);
          break;
        }
        case LenKey(any_value::kArray):
        case LenKey(any_value::kMap): {
          const Tag tag = r.tag();
          Pbf list = r.get_message();
          if (Replaced(key, {}, w)) break;
          std::string items;
          List(list, tag == any_value::kMap, key, items);
          w.add_message(tag, items);
          break;
        }
        default:
          r.skip();
      }
    }
  }

 private:
  bool Replaced(std::string_view key, std::string_view text, PbfWriter& w) {
    if (!goes_(key, text)) return false;
    w.add_string(any_value::kString, replacement_.data(), replacement_.size());
    changed_ = true;
    return true;
  }

  void List(Pbf r, bool map, std::string_view key, std::string& out) {
    PbfWriter w(out);
    while (r.next(value_list::kValues, protozero::pbf_wire_type::length_delimited)) {
      std::string item;
      if (map) {
        KeyValue(r.get_message(), item);
      } else {
        Value(r.get_message(), key, item);
      }
      w.add_message(value_list::kValues, item);
    }
  }

  void KeyValue(Pbf r, std::string& out) {
    std::string_view key;
    PbfWriter w(out);
    while (r.next()) {
      switch (r.tag_and_type()) {
        case LenKey(key_value::kKey):
          key = GetView(r);
          AddText(w, key_value::kKey, key);
          break;
        case LenKey(key_value::kValue): {
          std::string value;
          Value(r.get_message(), key, value);
          w.add_message(key_value::kValue, value);
          break;
        }
        default:
          r.skip();
      }
    }
  }

  const std::string_view replacement_;
  const NestedTest& goes_;
  bool changed_ = false;
};

}  // namespace

std::optional<std::string> ReplaceNested(std::string_view value, std::string_view key,
                                         std::string_view replacement, const NestedTest& goes) {
  Copy copy(replacement, goes);
  std::string out;
  copy.Value(Reader(value), key, out);
  return copy.changed() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace wherefore::formats
