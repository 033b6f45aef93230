// Two groups of requests compared: is what one has more of chance?
//
// Requests are what is independent. The p of a difference of means is the share of 999 shuffles of
// the labels over the requests that give a difference as large: no distribution is assumed, and
// times of requests have none that a formula would fit. Shuffles are seeded, so that the same
// question gets the same answer.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wherefore::query {

// What the requests have of one thing; those that are not listed have nothing of it.
struct CohortItem {
  struct Cell {
    std::uint32_t request = 0;
    double value = 0;
  };
  std::vector<Cell> cells;  // each request at most once
};

struct CohortTest {
  double slow = 0;  // means per request
  double typical = 0;
  double change = 0;  // slow - typical, between low and high in 95 of 100 cases
  double low = 0;
  double high = 0;
  double p = 1;
  double q = 1;  // false discovery rate among what was tested together
};

inline constexpr std::size_t kShuffles = 999;

// `is_slow`: of each request. Items are tested together.
[[nodiscard]] std::vector<CohortTest> TestCohorts(const std::vector<char>& is_slow,
                                                  std::span<const CohortItem> items,
                                                  std::uint64_t seed);

}  // namespace wherefore::query
