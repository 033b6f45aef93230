#include "query/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace wherefore::query {

namespace {

constexpr double kConfidence = 0.975;  // two-sided 95 %
constexpr double kPower = 0.8;

struct Side {
  double value = 0;
  double observations = 0;
  double exposure = 0;
  std::size_t groups = 0;

  [[nodiscard]] double rate() const { return exposure > 0 ? value / exposure : 0; }
};

Side SumOf(std::span<const GroupValue> groups) {
  Side side;
  for (const GroupValue& group : groups) {
    if (group.exposure <= 0) continue;
    side.value += group.value;
    side.observations += group.observations;
    side.exposure += group.exposure;
    ++side.groups;
  }
  return side;
}

// What is left to vary: of a share nothing is left at 1.
double RoomOf(double rate, Measure measure) {
  return measure == Measure::kShare ? std::max(0.0, 1 - rate) : 1;
}

// The squared distance of the groups from their side's rate, in units of sampling's variance.
double Distance(std::span<const GroupValue> groups, const Side& side, double weight, double room) {
  double sum = 0;
  for (const GroupValue& group : groups) {
    if (group.exposure <= 0) continue;
    const double expected = side.rate() * group.exposure;
    const double variance = weight * expected * room;
    if (variance > 0) sum += (group.value - expected) * (group.value - expected) / variance;
  }
  return sum;
}

// What one observation is worth; where a side has none, as on both together.
double WeightOf(const Side& side, const Side& other) {
  if (side.observations > 0) return side.value / side.observations;
  return other.observations > 0 ? other.value / other.observations : 0;
}

// Student's t with so many degrees of freedom; without any, as with one file a side, the normal
// distribution.
class Distribution {
 public:
  explicit Distribution(double freedom) : freedom_(freedom) {}
  [[nodiscard]] double Quantile(double probability) const {
    if (freedom_ <= 0) return boost::math::quantile(boost::math::normal(), probability);
    return boost::math::quantile(boost::math::students_t(freedom_), probability);
  }
  // Of a value at least this far from zero, on either side.
  [[nodiscard]] double TwoSided(double distance) const {
    if (freedom_ <= 0)
      return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), distance));
    return 2 *
           boost::math::cdf(boost::math::complement(boost::math::students_t(freedom_), distance));
  }

 private:
  double freedom_;
};

// What every comparison needs of its distribution. Thousands of them have the same degrees of
// freedom, and a quantile takes longer than all the rest.
struct Quantiles {
  double freedom = -1;
  double confidence = 0;
  double power = 0;
};
const Quantiles& QuantilesOf(double freedom) {
  thread_local Quantiles last;
  if (last.freedom != freedom) {
    const Distribution distribution(freedom);
    last = {freedom, distribution.Quantile(kConfidence), distribution.Quantile(kPower)};
  }
  return last;
}

double SamplingVariance(const Side& side, double weight, double room) {
  return weight * weight * (side.observations + 1) * room / (side.exposure * side.exposure);
}

}  // namespace

Comparison Compare(std::span<const GroupValue> before, std::span<const GroupValue> after,
                   Measure measure, double exposure_error) {
  const Side a = SumOf(before);
  const Side b = SumOf(after);
  Comparison result{.before = a.rate(),
                    .after = b.rate(),
                    .change = b.rate() - a.rate(),
                    .observations = a.observations + b.observations};
  result.low = result.high = result.change;
  if (a.groups == 0 || b.groups == 0) return result;

  const double weight_a = WeightOf(a, b);
  const double weight_b = WeightOf(b, a);
  const double room_a = RoomOf(a.rate(), measure);
  const double room_b = RoomOf(b.rate(), measure);
  const double freedom_of_spread = (a.value > 0 ? static_cast<double>(a.groups - 1) : 0) +
                                   (b.value > 0 ? static_cast<double>(b.groups - 1) : 0);
  if (freedom_of_spread > 0) {
    const double distance =
        Distance(before, a, weight_a, room_a) + Distance(after, b, weight_b, room_b);
    result.spread = std::max(1.0, distance / freedom_of_spread);
  }
  const double of_exposure = b.rate() * exposure_error;
  const double error = std::sqrt(result.spread * (SamplingVariance(a, weight_a, room_a) +
                                                  SamplingVariance(b, weight_b, room_b)) +
                                 of_exposure * of_exposure);
  const auto groups_a = static_cast<double>(a.groups);
  const auto groups_b = static_cast<double>(b.groups);
  const double freedom = std::min(groups_a + groups_b - 2, 2 * std::min(groups_a, groups_b) + 2);
  const Quantiles& quantiles = QuantilesOf(freedom);
  result.error = error;
  result.freedom = freedom;
  result.low = result.change - quantiles.confidence * error;
  result.high = result.change + quantiles.confidence * error;
  result.detectable = (quantiles.confidence + quantiles.power) * error;
  if (error > 0) result.p = Distribution(freedom).TwoSided(std::abs(result.change) / error);
  return result;
}

double ReachOf(double freedom, double tail) {
  return Distribution(freedom).Quantile(1 - tail);
}

Estimate EstimateOf(std::span<const GroupValue> groups, Measure measure, double weight_of_none) {
  const Side side = SumOf(groups);
  Estimate result{.rate = side.rate(), .observations = side.observations};
  result.low = result.high = result.rate;
  if (side.groups == 0) return result;
  const double weight = side.observations > 0 ? WeightOf(side, side) : weight_of_none;
  const double room = RoomOf(side.rate(), measure);
  const auto freedom = static_cast<double>(side.groups - 1);
  const double spread =
      freedom > 0 ? std::max(1.0, Distance(groups, side, weight, room) / freedom) : 1;
  const double error = std::sqrt(spread * SamplingVariance(side, weight, room));
  const double reach = QuantilesOf(freedom).confidence * error;
  result.error = error;
  result.freedom = freedom;
  result.low = std::max(0.0, result.rate - reach);
  result.high = result.rate + reach;
  if (measure == Measure::kShare) result.high = std::min(1.0, result.high);
  return result;
}

std::vector<double> FalseDiscoveryRates(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<double> q(p.size());
  double smallest = 1;
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const std::size_t i = order[rank - 1];
    smallest = std::min(smallest, p[i] * static_cast<double>(p.size()) / static_cast<double>(rank));
    q[i] = smallest;
  }
  return q;
}

Verdict VerdictOf(const Comparison& comparison, double q) {
  if (comparison.observations < kMinObservations) return Verdict::kUnknown;
  if (q > kSignificant) return Verdict::kUndecided;
  return comparison.change > 0 ? Verdict::kMore : Verdict::kLess;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kUndecided:
      return "undecided";
    case Verdict::kMore:
      return "more";
    case Verdict::kLess:
      return "less";
    case Verdict::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace wherefore::query
