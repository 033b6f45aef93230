// When a version is looked at: at four ages, each with the largest false discovery rate it may tell
// of, so that many looks at many functions are paid for. Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "query/versions.h"

namespace wherefore::insight {

struct LookAge {
  std::int64_t age_ns = 0;
  double level = 0;
};
inline constexpr std::int64_t kMinuteNs = 60 * kNsPerSecond;
inline constexpr std::int64_t kHourNs = 60 * kMinuteNs;
inline constexpr std::array<LookAge, 4> kLooks = {
    {{15 * kMinuteNs, 0.005}, {kHourNs, 0.01}, {6 * kHourNs, 0.015}, {24 * kHourNs, 0.02}}};

// What is known of a version that came.
struct LookedAt {
  std::uint32_t tenant = 0;
  std::string service;
  std::string label;
  std::string before;
  std::string version;
  std::int64_t since_ns = 0;
  std::size_t looks = 0;  // that are over, skipped or not
  std::int64_t looked_ns = 0;
  std::string note;  // of the last look
  std::optional<double> detectable;
};

// A version is new if another ran before it and it was not there already when watching begins.
struct NewVersion {
  const query::ServiceVersion* version = nullptr;
  const query::ServiceVersion* before = nullptr;
};
[[nodiscard]] std::vector<NewVersion> NewVersions(const query::ServiceVersions& seen,
                                                  std::int64_t watched_from_ns);

// Whether the look of that number is due: its data is there, or would be.
[[nodiscard]] bool IsDue(const query::ServiceVersions& seen, std::int64_t since_ns,
                         std::size_t look, std::int64_t now_ns);

// Puts what was seen lately to what was seen before; forgets versions that ended before `from_ns`.
void Merge(query::ServiceVersions& known, const query::ServiceVersions& seen, std::int64_t from_ns);

}  // namespace wherefore::insight
