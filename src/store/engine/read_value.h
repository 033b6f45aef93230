// ReadValue: one value of an answer, read as the type of the field it goes into. For the files of
// this module.
//
// Fields may be numbers and enums of any width, bool (anything but 0), double, std::string, ids
// (FixedString), and std::vector of these. std::string_view and NativeArray look at the answer's
// own bytes: they take no memory, and are good as long as the answer is.
//
// Plain values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "store/engine/ids.h"
#include "store/engine/native.h"

namespace wherefore::store {

template <typename T>
class NativeArray;

template <typename T>
inline constexpr bool kIsId = false;
template <std::size_t kSize>
inline constexpr bool kIsId<std::array<std::uint8_t, kSize>> = true;

template <typename T>
inline constexpr bool kIsText =
    std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view> || kIsId<T>;

// What an array's elements are read as; void: it is none.
template <typename T>
struct ElementOf {
  using Type = void;
};
template <typename T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};
template <typename T>
struct ElementOf<NativeArray<T>> {
  using Type = T;
};

// Whether a column is of the kind that a T is read from.
template <typename T>
[[nodiscard]] bool CanRead(const NativeColumn& column) {
  using Element = typename ElementOf<T>::Type;
  if constexpr (std::is_void_v<Element>) {
    return !column.is_array() && column.is_text() == kIsText<T>;
  } else {
    return column.is_array() && column.is_text() == kIsText<Element>;
  }
}

// `at` is a row, or the place of an array's element.
template <typename T>
void ReadValue(const NativeColumn& column, std::size_t at, T& out) {
  if constexpr (kIsId<T>) {
    out = AsId<T>(column.Text(at));
  } else if constexpr (kIsText<T>) {
    out = column.Text(at);
  } else if constexpr (std::is_same_v<T, bool>) {
    out = column.Int(at) != 0;
  } else if constexpr (std::is_same_v<T, double>) {
    out = column.Float(at);
  } else {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>, "no column is read as this");
    out = static_cast<T>(column.Int(at));
  }
}

template <typename T>
void ReadValue(const NativeColumn& column, std::size_t row, NativeArray<T>& out) {
  out = NativeArray<T>(column, row);
}

template <typename T>
void ReadValue(const NativeColumn& column, std::size_t row, std::vector<T>& out) {
  const NativeArray<T> elements(column, row);
  out.resize(elements.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = elements[i];
}

// The elements of an array in one row.
template <typename T>
class NativeArray {
 public:
  NativeArray() = default;
  NativeArray(const NativeColumn& column, std::size_t row)
      : column_(&column), first_(column.ArrayBegin(row)), size_(column.ArrayEnd(row) - first_) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T operator[](std::size_t i) const {
    T element{};
    ReadValue(*column_, first_ + i, element);
    return element;
  }

 private:
  const NativeColumn* column_ = nullptr;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace wherefore::store
