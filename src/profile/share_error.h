// The sampling error of a share, from the number of observations behind it. Pure; any thread.
//
// Test vectors are in tests/golden/share_errors.txt; the page (ui/src/core/format.ts) computes the
// same.
#pragma once

#include <cstdint>
#include <string>

namespace wherefore::profile {

// The error of a share seen in `seen` of `all` observations, in percentage points: the distance to
// the farther end of Wilson's 95 % interval. Never 0 if there are observations: what was seen
// always, or never, may still be otherwise.
[[nodiscard]] double ShareError(std::int64_t seen, std::int64_t all);
// The error of a count of independent observations: the distance to the farther end of its 95 %
// score interval, in observations. 3.8 for a count of 0.
[[nodiscard]] double CountError(std::int64_t seen);
// "22", "0.8", "0.002".
[[nodiscard]] std::string ShareErrorText(std::int64_t seen, std::int64_t all);

}  // namespace wherefore::profile
