// See native.h. Layout of a block: varint columns, varint rows, then per column varint-prefixed
// name and type and the values; arrays come as cumulative u64 offsets followed by all elements.
#include "store/engine/native.h"

#include <fmt/format.h>

#include "base/text.h"

namespace wherefore::store {

class NativeParser {
 public:
  explicit NativeParser(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool done() const { return at_ == bytes_.size(); }

  Result<NativeBlock> Block(std::size_t want_columns) {
    NativeBlock block;
    std::uint64_t columns = 0;
    std::uint64_t rows = 0;
    if (!Varint(columns) || !Varint(rows)) return Bad("header");
    if (columns == 0 && rows == 0) return block;
    if (columns != want_columns)
      return Bad(fmt::format("{} columns, not {}", columns, want_columns));
    block.rows = rows;
    block.columns.resize(columns);
    for (NativeColumn& column : block.columns) {
      std::string_view name;
      std::string_view type;
      if (!Text(name) || !Text(type)) return Bad("column header");
      if (!Column(column, type, rows)) return Bad(fmt::format("column {} of type {}", name, type));
    }
    return block;
  }

 private:
  Error Bad(std::string_view what) const {
    return {Code::kCorrupt, fmt::format("engine answer: {} at byte {}", what, at_)};
  }
  bool Varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) return false;
      const auto byte = static_cast<std::uint8_t>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return false;
  }
  bool Take(std::uint64_t size, std::string_view& out) {
    if (size > bytes_.size() - at_) return false;
    out = bytes_.substr(at_, size);
    at_ += size;
    return true;
  }
  bool Text(std::string_view& out) {
    std::uint64_t size = 0;
    return Varint(size) && Take(size, out);
  }
  bool Column(NativeColumn& column, std::string_view type, std::uint64_t rows) {
    constexpr std::string_view kArray = "Array(";
    if (type.starts_with(kArray)) {
      column.is_array_ = true;
      std::string_view raw;
      if (rows > bytes_.size() / 8 || !Take(rows * 8, raw)) return false;
      column.offsets_.resize(rows);
      if (rows > 0) std::memcpy(column.offsets_.data(), raw.data(), raw.size());
      for (std::size_t i = 1; i < rows; ++i) {
        if (column.offsets_[i] < column.offsets_[i - 1]) return false;
      }
      const std::uint64_t elements = rows == 0 ? 0 : column.offsets_.back();
      return Elements(column, type.substr(kArray.size(), type.size() - kArray.size() - 1),
                      elements);
    }
    return Elements(column, type, rows);
  }
  bool Elements(NativeColumn& column, std::string_view type, std::uint64_t count) {
    if (count > bytes_.size() - at_) return false;  // every element has at least one byte
    column.is_text_ = type == "String" || type.starts_with("FixedString(");
    if (type == "String") {
      column.texts_.resize(count);
      for (std::string_view& text : column.texts_) {
        if (!Text(text)) return false;
      }
      return true;
    }
    column.is_signed_ = type.starts_with("Int");
    if (type.starts_with("FixedString(")) {
      column.width_ =
          static_cast<std::uint32_t>(ParseUint(type.substr(12, type.size() - 13)).value_or(0));
    } else if (type.ends_with("Int8")) {
      column.width_ = 1;
    } else if (type.ends_with("Int16")) {
      column.width_ = 2;
    } else if (type.ends_with("Int32")) {
      column.width_ = 4;
    } else if (type.ends_with("Int64") || type == "Float64") {
      column.width_ = 8;
    }
    return column.width_ != 0 && Take(count * column.width_, column.fixed_);
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

Result<NativeResult> NativeResult::Parse(std::string_view bytes, std::size_t columns) {
  NativeResult result;
  NativeParser parser(bytes);
  while (!parser.done()) {
    WHEREFORE_ASSIGN_OR_RETURN(NativeBlock block, parser.Block(columns));
    if (block.rows > 0) result.blocks.push_back(std::move(block));
  }
  return result;
}

}  // namespace wherefore::store
