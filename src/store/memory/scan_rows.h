// What every query over tables in memory does: look at each row until its client goes away, add
// up as the engine does, and have its answer counted as memory of the query. For the files of
// this room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"

namespace wherefore::store::memory {

template <typename Row, typename F>
Result<> Each(const std::vector<Row>& table, const CancelToken& cancel, F&& visit) {
  constexpr std::size_t kBetweenChecks = 4096;
  WHEREFORE_RETURN_IF_ERROR(cancel.Check());
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (i % kBetweenChecks == kBetweenChecks - 1) WHEREFORE_RETURN_IF_ERROR(cancel.Check());
    visit(table[i]);
  }
  return {};
}

// The answer, counted.
template <typename Row>
Result<std::vector<Row>> Charged(std::vector<Row> rows, const CancelToken& cancel) {
  WHEREFORE_RETURN_IF_ERROR(cancel.Charge(rows.size() * sizeof(Row)));
  return rows;
}
// Of groups by what they have in common: what they add up to.
template <typename Key, typename Row>
Result<std::vector<Row>> Charged(std::map<Key, Row> groups, const CancelToken& cancel) {
  std::vector<Row> rows;
  rows.reserve(groups.size());
  for (auto& [key, row] : groups) rows.push_back(std::move(row));
  return Charged(std::move(rows), cancel);
}

// A sum of 64-bit values: what does not fit in the end stays at their end.
class Sum {
 public:
  void Add(std::int64_t value) { sum_ += value; }
  [[nodiscard]] std::int64_t value() const {
    return static_cast<std::int64_t>(std::clamp<__int128>(sum_, INT64_MIN, INT64_MAX));
  }

 private:
  __int128 sum_ = 0;
};

}  // namespace wherefore::store::memory
