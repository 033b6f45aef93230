#include "profile/share_error.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace wherefore::profile {

double ShareError(std::int64_t seen, std::int64_t all) {
  if (all < 1) return 0;
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(all);
  const double share = std::clamp(static_cast<double>(seen) / n, 0.0, 1.0);
  const double divisor = 1 + kZ * kZ / n;
  const double center = (share + kZ * kZ / (2 * n)) / divisor;
  const double half = kZ / divisor * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  return 100 * (half + std::abs(center - share));
}

double CountError(std::int64_t seen) {
  constexpr double kZ = 1.96;
  const auto n = static_cast<double>(std::max<std::int64_t>(seen, 0));
  return kZ * kZ / 2 + kZ * std::sqrt(n + kZ * kZ / 4);
}

std::string ShareErrorText(std::int64_t seen, std::int64_t all) {
  const double error = ShareError(seen, all);
  if (error >= 10) return fmt::format("{:.0f}", error);
  if (error >= 0.05 || error == 0) return fmt::format("{:.1f}", error);
  return fmt::format("{:.1g}", error);
}

}  // namespace wherefore::profile
