// SelectionNumber: which selection a row belongs to. For the files of this module.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "store/read.h"

namespace wherefore::store {

// The engine groups by one small number made of service, bucket and writer instead of three wide
// columns: sums over all services take half the time.
class SelectionNumber {
 public:
  explicit SelectionNumber(const SampleQuery& query) : query_(query) {
    for (const SeriesSelection& selection : query.selections) {
      Add(services_, selection.dictionary.service);
      Add(buckets_, std::uint64_t{selection.dictionary.bucket});
      Add(writers_, std::uint64_t{selection.dictionary.writer});
    }
    by_number_.assign(services_.size() * buckets_.size() * writers_.size(), kNone);
    for (std::size_t i = query.selections.size(); i-- > 0;) {
      by_number_[Of(query.selections[i].dictionary)] = static_cast<std::uint32_t>(i);
    }
  }
  // The number of the rows of one of its dictionaries.
  [[nodiscard]] std::uint32_t Of(const DictionaryKey& key) const {
    return static_cast<std::uint32_t>(
        (services_.at(key.service) * buckets_.size() + buckets_.at(key.bucket)) * writers_.size() +
        writers_.at(key.writer));
  }
  // The number as an SQL expression over the columns of a row.
  [[nodiscard]] std::string Sql() const {
    return fmt::format("toUInt32(({} * {} + {}) * {} + {})", Part("service", services_),
                       buckets_.size(), Part("bucket", buckets_), writers_.size(),
                       Part("writer", writers_));
  }
  // The selection that wants rows of this number and type, if any.
  [[nodiscard]] std::optional<std::uint32_t> Find(std::uint32_t number, std::uint64_t type) const {
    if (number >= by_number_.size() || by_number_[number] == kNone) return std::nullopt;
    const auto& types = query_.selections[by_number_[number]].types;
    if (!types.empty() && std::ranges::find(types, type) == types.end()) return std::nullopt;
    return by_number_[number];
  }

 private:
  using Numbers = std::map<std::uint64_t, std::size_t>;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  static void Add(Numbers& numbers, std::uint64_t value) {
    numbers.try_emplace(value, numbers.size());
  }
  static std::string Part(std::string_view column, const Numbers& numbers) {
    if (numbers.size() == 1) return "0";
    std::string from;
    std::string to;
    for (const auto& [value, number] : numbers) {
      from += fmt::format("{}{}", from.empty() ? "" : ",", value);
      to += fmt::format("{}{}", to.empty() ? "" : ",", number);
    }
    // Rows are known to be in the list: the condition says so.
    return fmt::format("transform(toUInt64({}), [{}], [{}], toUInt64(0))", column, WithType(from),
                       WithType(to));
  }
  // Element types decide the function's overload: make all of them 64 bits wide.
  static std::string WithType(const std::string& list) {
    std::string out;
    std::size_t begin = 0;
    while (begin <= list.size()) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      out += fmt::format("{}toUInt64({})", out.empty() ? "" : ",", list.substr(begin, end - begin));
      begin = end + 1;
    }
    return out;
  }

  const SampleQuery& query_;
  Numbers services_;
  Numbers buckets_;
  Numbers writers_;
  std::vector<std::uint32_t> by_number_;
};

}  // namespace wherefore::store
