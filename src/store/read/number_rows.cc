#include "store/read/number_rows.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace wherefore::store {

void NumberRows::Add(std::initializer_list<std::uint64_t> row) {
  numbers_.insert(numbers_.end(), row.begin(), row.end());
}

std::string NumberRows::Table() const {
  std::string columns;
  for (std::size_t i = 0; i < types_.size(); ++i)
    columns += fmt::format("{}c{} {}", i == 0 ? "" : ", ", i, types_[i]);
  std::string text;
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{}", numbers_[i],
                   (i + 1) % types_.size() == 0 ? "\\n" : "\\t");
  }
  return fmt::format("format(TSV, '{}', '{}')", columns, text);
}

std::string NumberRows::Sql() const {
  if (is_long()) return fmt::format("(SELECT * FROM {})", Table());
  if (types_.size() == 1) return fmt::format("({})", fmt::join(numbers_, ","));
  std::string out;
  for (std::size_t i = 0; i < numbers_.size(); i += types_.size()) {
    const auto row = numbers_.begin() + static_cast<std::ptrdiff_t>(i);
    fmt::format_to(std::back_inserter(out), "{}({})", i == 0 ? "" : ",",
                   fmt::join(row, row + static_cast<std::ptrdiff_t>(types_.size()), ","));
  }
  return fmt::format("({})", out);
}

std::string NumberRows::SortedArray() const {
  if (is_long())
    return fmt::format("(SELECT arraySort(groupArray(toUInt64(c0))) FROM {})", Table());
  std::vector<std::uint64_t> first;
  for (std::size_t i = 0; i < numbers_.size(); i += types_.size()) first.push_back(numbers_[i]);
  std::ranges::sort(first);
  // Element types decide the overload of whoever takes it: a list of small numbers has small ones.
  return fmt::format("CAST([{}], 'Array(UInt64)')", fmt::join(first, ","));
}

}  // namespace wherefore::store
