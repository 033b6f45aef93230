// Reading ClickHouse's Native format: the answer of a query as typed columns.
//
// Only the types our statements ask for are understood: (U)Int8-64, Float64, String,
// FixedString(n), and arrays of them. A NativeResult keeps views into the bytes it was parsed from;
// they must outlive it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wherefore::store {

class NativeColumn {
 public:
  // Whole number of any width, sign-extended for Int types.
  [[nodiscard]] std::int64_t Int(std::size_t row) const {
    switch (width_) {
      case 8:
        return Load<std::int64_t>(row);
      case 4:
        return is_signed_ ? Load<std::int32_t>(row) : std::int64_t{Load<std::uint32_t>(row)};
      case 2:
        return is_signed_ ? Load<std::int16_t>(row) : Load<std::uint16_t>(row);
      case 1:
        return is_signed_ ? Load<std::int8_t>(row) : Load<std::uint8_t>(row);
      default:
        return 0;
    }
  }
  [[nodiscard]] std::uint64_t Uint(std::size_t row) const {
    return static_cast<std::uint64_t>(Int(row));
  }
  [[nodiscard]] std::uint32_t U32(std::size_t row) const {
    return static_cast<std::uint32_t>(Int(row));
  }
  // Float64.
  [[nodiscard]] double Float(std::size_t row) const { return std::bit_cast<double>(Int(row)); }
  // String and FixedString.
  [[nodiscard]] std::string_view Text(std::size_t row) const {
    return width_ == 0 ? texts_[row] : std::string_view(fixed_.data() + row * width_, width_);
  }
  // Arrays: elements [ArrayBegin, ArrayEnd) of this row, to be read with Int and Text.
  [[nodiscard]] std::size_t ArrayBegin(std::size_t row) const {
    return row == 0 ? 0 : offsets_[row - 1];
  }
  [[nodiscard]] std::size_t ArrayEnd(std::size_t row) const { return offsets_[row]; }
  [[nodiscard]] bool is_array() const { return is_array_; }
  // String, FixedString and arrays of them.
  [[nodiscard]] bool is_text() const { return is_text_; }

 private:
  friend class NativeParser;

  template <typename T>
  [[nodiscard]] T Load(std::size_t row) const {
    T value;
    std::memcpy(&value, fixed_.data() + row * sizeof(T), sizeof(T));
    return value;
  }

  std::uint32_t width_ = 0;  // bytes of a fixed-width element; 0: String
  bool is_signed_ = false;
  bool is_text_ = false;
  bool is_array_ = false;
  std::string_view fixed_;
  std::vector<std::string_view> texts_;
  std::vector<std::uint64_t> offsets_;
};

struct NativeBlock {
  std::size_t rows = 0;
  std::vector<NativeColumn> columns;
};

struct NativeResult {
  std::vector<NativeBlock> blocks;

  // kCorrupt when the bytes are not Native or a block has not exactly `columns` columns.
  [[nodiscard]] static Result<NativeResult> Parse(std::string_view bytes, std::size_t columns);
};

}  // namespace wherefore::store
