#include "query/statistics.h"

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "base/test_source.h"

namespace wherefore::query {
namespace {

// In shares of a CPU profile every observation has the same value.
std::vector<GroupValue> Counts(std::vector<double> exposures, std::vector<double> values) {
  std::vector<GroupValue> groups;
  for (std::size_t i = 0; i < values.size(); ++i)
    groups.push_back({.value = values[i], .observations = values[i], .exposure = exposures[i]});
  return groups;
}

const std::vector<GroupValue> kBefore = Counts({1000, 1200, 900}, {100, 130, 85});

TEST(Statistics, GroupsThatDifferNoMoreThanSampling) {
  const auto after = Counts({1100, 1000, 1150}, {150, 128, 160});
  const Comparison c = Compare(kBefore, after, Measure::kShare);
  EXPECT_NEAR(c.change, 0.0332, 0.00005);
  EXPECT_NEAR(c.high - c.change, 0.0225, 0.00005);
  EXPECT_NEAR(c.p, 0.015, 0.0005);
  EXPECT_NEAR(c.detectable, 0.0301, 0.00005);
  EXPECT_EQ(c.spread, 1);
  EXPECT_EQ(VerdictOf(c, c.p), Verdict::kMore);
}

TEST(Statistics, GroupsThatDifferFromEachOtherSayLess) {
  const auto after = Counts({1100, 1000, 1150}, {190, 98, 150});
  const Comparison c = Compare(kBefore, after, Measure::kShare);
  EXPECT_NEAR(c.change, 0.0332, 0.00005);
  EXPECT_NEAR(c.spread, 6.63, 0.005);
  EXPECT_NEAR(c.high - c.change, 0.0578, 0.00005);
  EXPECT_NEAR(c.p, 0.19, 0.005);
  EXPECT_EQ(VerdictOf(c, c.p), Verdict::kUndecided);
}

TEST(Statistics, RatesHaveNoUpperEnd) {
  const Comparison share = Compare(kBefore, kBefore, Measure::kShare);
  const Comparison rate = Compare(kBefore, kBefore, Measure::kRate);
  EXPECT_GT(rate.high, share.high);  // (1 - r) is missing
  EXPECT_EQ(rate.p, 1);
}

TEST(Statistics, OneFileASideIsNormal) {
  const Comparison c = Compare(Counts({1000}, {100}), Counts({1000}, {150}), Measure::kShare);
  const double error = std::sqrt((101 * 0.9 + 151 * 0.85) / 1e6);
  EXPECT_NEAR(c.high - c.change, 1.959963985 * error, 1e-9);
}

TEST(Statistics, ASideWithNothingHasNoVerdict) {
  const Comparison none = Compare(kBefore, {}, Measure::kShare);
  EXPECT_EQ(none.p, 1);
  EXPECT_EQ(none.low, none.high);
  const Comparison few =
      Compare(Counts({10, 10}, {0, 0}), Counts({10, 10}, {4, 5}), Measure::kRate);
  EXPECT_EQ(VerdictOf(few, 0.001), Verdict::kUnknown);
  const Comparison fresh =
      Compare(Counts({1000, 1000}, {0, 0}), Counts({1000, 1000}, {90, 110}), Measure::kRate);
  EXPECT_LT(fresh.p, 0.01) << "new functions are found";
}

// Values of scipy.stats: one line per case, made once (the file's first line says how).
TEST(Statistics, AsScipyHasThem) {
  std::ifstream file(TestSource("tests/golden/statistics.txt"));
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    std::string kind;
    in >> kind;
    if (kind == "compare") {
      int share = 0;
      std::array<std::size_t, 2> sizes{};
      in >> share >> sizes[0] >> sizes[1];
      std::array<std::vector<GroupValue>, 2> sides;
      for (std::size_t side = 0; side < 2; ++side) {
        sides[side].resize(sizes[side]);
        for (GroupValue& g : sides[side]) in >> g.value >> g.observations >> g.exposure;
      }
      double low = 0, high = 0, p = 0, detectable = 0, spread = 0;
      in >> low >> high >> p >> detectable >> spread;
      ASSERT_FALSE(in.fail()) << line;
      const Comparison c =
          Compare(sides[0], sides[1], share != 0 ? Measure::kShare : Measure::kRate);
      EXPECT_NEAR(c.low, low, 1e-9 * std::max(1.0, std::abs(low))) << line;
      EXPECT_NEAR(c.high, high, 1e-9 * std::max(1.0, std::abs(high))) << line;
      EXPECT_NEAR(c.p, p, 1e-9) << line;
      EXPECT_NEAR(c.detectable, detectable, 1e-9 * std::max(1.0, detectable)) << line;
      EXPECT_NEAR(c.spread, spread, 1e-9 * spread) << line;
    } else {
      ASSERT_EQ(kind, "discovery") << line;
      std::size_t count = 0;
      in >> count;
      std::vector<double> p(count), wanted(count);
      for (double& one : p) in >> one;
      for (double& one : wanted) in >> one;
      ASSERT_FALSE(in.fail()) << line;
      const auto q = FalseDiscoveryRates(p);
      for (std::size_t i = 0; i < count; ++i) EXPECT_NEAR(q[i], wanted[i], 1e-12) << line;
    }
    ++cases;
  }
  EXPECT_GE(cases, 40);
}

// Equal sides whose instances differ from each other: how often is something called different?
TEST(Statistics, EqualSidesAreRarelyCalledDifferent) {
  std::mt19937_64 random(20261118);
  std::gamma_distribution<double> differ(25, 1.0 / 25);  // instances differ by 20 %
  int different = 0;
  int held = 0;
  constexpr int kPairs = 2000;
  for (int i = 0; i < kPairs; ++i) {
    std::array<std::vector<GroupValue>, 2> sides;
    for (auto& side : sides) {
      for (int g = 0; g < 5; ++g) {
        std::poisson_distribution<int> own(100 * differ(random));
        std::poisson_distribution<int> others(900);
        const double x = own(random);
        side.push_back({x, x, x + others(random)});
      }
    }
    const Comparison c = Compare(sides[0], sides[1], Measure::kShare);
    different += c.p <= 0.05 ? 1 : 0;
    held += c.low <= 0 && c.high >= 0 ? 1 : 0;
  }
  EXPECT_LE(different, kPairs * 6 / 100);
  EXPECT_GE(held, kPairs * 92 / 100);
}

}  // namespace
}  // namespace wherefore::query
