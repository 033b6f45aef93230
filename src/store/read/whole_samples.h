// WholeSamples: the samples of one profile, put together from the tables that tell of them. A
// sample with details or a link is also in `samples`, and one with both is in all three; each comes
// out once, from the table that says most about it.
//
// One thread. For the files of this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "store/read.h"

namespace wherefore::store {

class WholeSamples {
 public:
  // In this order: all details, then all links, then all samples.
  void AddDetail(SampleRow row);
  void AddLink(SampleRow row);
  void AddSample(SampleRow row);
  [[nodiscard]] std::vector<SampleRow> Take() { return std::move(rows_); }

 private:
  // A sample without what distinguishes equal ones.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::int64_t>;
  using LinkKey = std::tuple<Key, profile::TraceId, profile::SpanId>;
  static Key KeyOf(const SampleRow& row) { return {row.series, row.stack, row.value, row.count}; }
  static LinkKey LinkOf(const SampleRow& row) { return {KeyOf(row), row.trace, row.span}; }

  std::vector<SampleRow> rows_;
  std::map<Key, std::size_t> told_;            // by a detail or a link, so not once more
  std::map<LinkKey, std::size_t> told_links_;  // by a detail
};

}  // namespace wherefore::store
