#include "query/cohorts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "query/statistics.h"

namespace wherefore::query {
namespace {

constexpr double kZ = 1.96;
// Shuffles that are looked at together: their sums fit into registers.
constexpr std::size_t kAtOnce = 16;

// SplitMix64: small, and the same on every machine, unlike the standard's distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
    return z ^ (z >> 31U);
  }
  std::size_t Below(std::size_t n) {
    return static_cast<std::size_t>(static_cast<unsigned __int128>(Next()) * n >> 64U);
  }

 private:
  std::uint64_t state_;
};

using Labels = std::vector<std::array<float, kAtOnce>>;  // of each request: 1 where it is slow

// Draws as many slow ones as there are, for every shuffle of a block.
void Shuffle(std::vector<std::uint32_t>& order, std::size_t slow, Random& random, Labels& labels) {
  for (auto& of_request : labels) of_request.fill(0);
  for (std::size_t k = 0; k < kAtOnce; ++k) {
    for (std::size_t i = 0; i < slow; ++i) {
      std::swap(order[i], order[i + random.Below(order.size() - i)]);
      labels[order[i]][k] = 1;
    }
  }
}

struct Counts {
  std::size_t slow = 0;
  std::size_t typical = 0;
};

CohortTest Describe(const CohortItem& item, const std::vector<char>& is_slow, Counts n) {
  std::array<double, 2> sum{};
  std::array<double, 2> squares{};
  for (const CohortItem::Cell& cell : item.cells) {
    const std::size_t side = is_slow[cell.request] != 0 ? 1 : 0;
    sum[side] += cell.value;
    squares[side] += cell.value * cell.value;
  }
  const auto variance = [&](std::size_t side, std::size_t count) {
    const auto of = static_cast<double>(count);
    if (count < 2) return 0.0;
    const double mean = sum[side] / of;
    return std::max(0.0, (squares[side] - of * mean * mean) / (of - 1)) / of;
  };
  CohortTest test{.slow = sum[1] / static_cast<double>(n.slow),
                  .typical = sum[0] / static_cast<double>(n.typical)};
  test.change = test.slow - test.typical;
  const double error = kZ * std::sqrt(variance(1, n.slow) + variance(0, n.typical));
  test.low = test.change - error;
  test.high = test.change + error;
  return test;
}

}  // namespace

std::vector<CohortTest> TestCohorts(const std::vector<char>& is_slow,
                                    std::span<const CohortItem> items, std::uint64_t seed) {
  Counts n;
  n.slow = static_cast<std::size_t>(std::ranges::count_if(is_slow, [](char c) { return c != 0; }));
  n.typical = is_slow.size() - n.slow;
  std::vector<CohortTest> tests(items.size());
  if (n.slow == 0 || n.typical == 0) return tests;
  std::vector<double> all(items.size());  // of both groups together
  for (std::size_t i = 0; i < items.size(); ++i) {
    tests[i] = Describe(items[i], is_slow, n);
    for (const CohortItem::Cell& cell : items[i].cells) all[i] += cell.value;
  }
  std::vector<std::uint32_t> order(is_slow.size());
  std::iota(order.begin(), order.end(), 0U);
  Random random(seed);
  Labels labels(is_slow.size());
  std::vector<std::size_t> as_large(items.size());
  const auto slow = static_cast<double>(n.slow);
  const auto typical = static_cast<double>(n.typical);
  for (std::size_t done = 0; done < kShuffles; done += kAtOnce) {
    Shuffle(order, n.slow, random, labels);
    const std::size_t block = std::min(kAtOnce, kShuffles - done);
    for (std::size_t i = 0; i < items.size(); ++i) {
      std::array<float, kAtOnce> sums{};
      for (const CohortItem::Cell& cell : items[i].cells) {
        const auto value = static_cast<float>(cell.value);
        const std::array<float, kAtOnce>& in = labels[cell.request];
        for (std::size_t k = 0; k < kAtOnce; ++k) sums[k] += value * in[k];
      }
      // Rounding must not make an equal difference smaller.
      const double bound = std::abs(tests[i].change) * (1 - 1e-5);
      for (std::size_t k = 0; k < block; ++k) {
        const double in = sums[k];
        if (std::abs(in / slow - (all[i] - in) / typical) >= bound) ++as_large[i];
      }
    }
  }
  std::vector<double> p;
  for (std::size_t i = 0; i < items.size(); ++i) {
    tests[i].p = static_cast<double>(as_large[i] + 1) / static_cast<double>(kShuffles + 1);
    p.push_back(tests[i].p);
  }
  const std::vector<double> q = FalseDiscoveryRates(p);
  for (std::size_t i = 0; i < items.size(); ++i) tests[i].q = q[i];
  return tests;
}

}  // namespace wherefore::query
