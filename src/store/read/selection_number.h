// SelectionNumber: which selection a row belongs to. For the files of this module.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "store/read.h"
#include "store/read/number_rows.h"

namespace wherefore::store {

// The engine groups by one small number made of service, bucket and writer instead of three wide
// columns: sums over all services take half the time.
class SelectionNumber {
 public:
  explicit SelectionNumber(const SampleQuery& query) : query_(query) {
    for (const SeriesSelection& selection : query.selections) {
      services_[selection.dictionary.service];
      buckets_[selection.dictionary.bucket];
      writers_[selection.dictionary.writer];
    }
    for (Numbers* numbers : {&services_, &buckets_, &writers_}) {
      std::size_t next = 0;
      for (auto& [value, number] : *numbers) number = next++;
    }
    for (std::size_t i = query.selections.size(); i-- > 0;) {
      by_number_[Of(query.selections[i].dictionary)] = static_cast<std::uint32_t>(i);
    }
  }
  // The number of the rows of one of its dictionaries.
  [[nodiscard]] std::uint64_t Of(const DictionaryKey& key) const {
    return (services_.at(key.service) * buckets_.size() + buckets_.at(key.bucket)) *
               writers_.size() +
           writers_.at(key.writer);
  }
  // The number as a column of a statement, over the columns of samples or profiles.
  [[nodiscard]] std::string Column() const { return Sql() + " AS selection"; }
  // The expression alone.
  [[nodiscard]] std::string Sql() const {
    const bool small = services_.size() * buckets_.size() * writers_.size() <= UINT32_MAX;
    return fmt::format("toUInt{}(({} * {} + {}) * {} + {})", small ? 32 : 64,
                       Part("service", services_), buckets_.size(), Part("bucket", buckets_),
                       writers_.size(), Part("writer", writers_));
  }
  // The selection that wants rows of this number and type, if any.
  [[nodiscard]] std::optional<std::uint32_t> Find(std::uint64_t number, std::uint64_t type) const {
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return std::nullopt;
    const auto& types = query_.selections[found->second].types;
    if (!types.empty() && std::ranges::find(types, type) == types.end()) return std::nullopt;
    return found->second;
  }

 private:
  using Numbers = std::map<std::uint64_t, std::size_t>;  // a value's place among them
  static std::string Part(std::string_view column, const Numbers& numbers) {
    if (numbers.size() == 1) return "0";
    NumberRows values{"UInt64"};
    for (const auto& [value, number] : numbers) values.Add({value});
    // Rows are known to be in the list: the condition says so.
    return fmt::format("transform(toUInt64({}), {}, range(toUInt64({})), toUInt64(0))", column,
                       values.SortedArray(), numbers.size());
  }

  const SampleQuery& query_;
  Numbers services_;
  Numbers buckets_;
  Numbers writers_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_number_;
};

// A row of an answer, and the number of the dictionary it belongs to.
template <typename Row>
struct NumberedRow {
  std::uint64_t number = 0;
  Row row;
};

}  // namespace wherefore::store
