// Is a difference real? Estimates, intervals and tests for two sides of a comparison.
//
// What is independent of each other are groups (instances, blocks of time, files), not samples:
// samples of one instance share its load, its data and its neighbours. So the variance is that of
// sampling, times how much more the groups of a side differ than sampling explains (`spread`), and
// tests are Student's with degrees of freedom from the number of groups. Exact sums stay exact;
// these figures stand beside them.
//
// Pure functions, any thread. The same input gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace wherefore::query {

// What one group has of a function, of a node, or of everything.
struct GroupValue {
  double value = 0;
  double observations = 0;
  double exposure = 0;  // shares: the group's total; rates: seconds covered, or requests
};

enum class Measure : std::uint8_t {
  kShare,  // of the group's total
  kRate,   // per second or per request
};

// Below this many observations on both sides together nothing is tested.
inline constexpr double kMinObservations = 10;
inline constexpr double kSignificant = 0.05;  // largest q that counts as different

struct Comparison {
  double before = 0;  // share or rate of each side
  double after = 0;
  double change = 0;  // after - before, between `low` and `high` in 95 of 100 cases
  double low = 0;
  double high = 0;
  double p = 1;           // of a change as large as this between equal sides
  double detectable = 0;  // a change this large would be found in 80 of 100 cases
  // How much more groups differ than sampling explains; 1: not at all. The share 1 - 1 / spread of
  // the variance goes with more groups, the rest with more samples.
  double spread = 1;
  double observations = 0;  // of both sides
  // The standard error of `change`, and of what Student's t it is (ReachOf).
  double error = 0;
  double freedom = 0;
};

// A side without exposure, or without groups, has nothing to compare: p is 1 and the interval says
// nothing (low = high = change). `exposure_error`: of all exposures after, where they were
// estimated: their common relative standard error.
[[nodiscard]] Comparison Compare(std::span<const GroupValue> before,
                                 std::span<const GroupValue> after, Measure measure,
                                 double exposure_error = 0);

// One side by itself.
struct Estimate {
  double rate = 0;  // share or rate, between `low` and `high` in 95 of 100 cases
  double low = 0;
  double high = 0;
  double observations = 0;
  double error = 0;  // standard error of `rate`
  double freedom = 0;
};
// Without groups everything is 0. With one group differences between groups are not known, and the
// interval is that of sampling alone. `weight_of_none`: what one observation would be worth where
// there is none.
[[nodiscard]] Estimate EstimateOf(std::span<const GroupValue> groups, Measure measure,
                                  double weight_of_none = 0);
// So many standard errors the truth is away on one side in `tail` of cases.
[[nodiscard]] double ReachOf(double freedom, double tail);

// False discovery rates (Benjamini and Hochberg) of tests that are made together, in their order.
[[nodiscard]] std::vector<double> FalseDiscoveryRates(std::span<const double> p);

enum class Verdict : std::uint8_t { kUnknown, kUndecided, kMore, kLess };
[[nodiscard]] Verdict VerdictOf(const Comparison& comparison, double q);
[[nodiscard]] std::string_view VerdictName(Verdict verdict);

}  // namespace wherefore::query
