// NumberRows: a list of numbers, or of rows of them, inside a statement. For the files of this
// module.
//
// The engine makes an object of every literal it reads: a hundred thousand tuples take it a GiB and
// seconds. A long list therefore travels as one text, which the engine reads as a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace wherefore::store {

class NumberRows {
 public:
  // The columns' types in the engine, such as "UInt64".
  NumberRows(std::initializer_list<std::string_view> types) : types_(types) {}

  void Add(std::initializer_list<std::uint64_t> row);
  [[nodiscard]] bool empty() const { return numbers_.empty(); }
  [[nodiscard]] std::size_t size() const { return numbers_.size() / types_.size(); }

  // What stands behind IN, parentheses included.
  [[nodiscard]] std::string Sql() const;
  // An expression for the array of the first column, smallest first, as 64-bit numbers.
  [[nodiscard]] std::string SortedArray() const;

 private:
  [[nodiscard]] bool is_long() const { return size() > kMostLiterals; }
  [[nodiscard]] std::string Table() const;

  static constexpr std::size_t kMostLiterals = 1000;
  std::vector<std::string_view> types_;
  std::vector<std::uint64_t> numbers_;  // row by row
};

}  // namespace wherefore::store
