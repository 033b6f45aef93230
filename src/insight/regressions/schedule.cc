#include "insight/regressions/schedule.h"

#include <algorithm>

namespace wherefore::insight {
namespace {

// Senders hand their profiles over some time after they were taken.
constexpr std::int64_t kLate = 90 * kNsPerSecond;

}  // namespace

std::vector<NewVersion> NewVersions(const query::ServiceVersions& seen,
                                    std::int64_t watched_from_ns) {
  std::vector<NewVersion> out;
  if (seen.label.empty()) return out;
  for (const query::ServiceVersion& version : seen.versions) {
    const query::ServiceVersion* const before = seen.Before(version);
    if (before != nullptr && version.first_ns > watched_from_ns + kHourNs)
      out.push_back({&version, before});
  }
  return out;
}

bool IsDue(const query::ServiceVersions& seen, std::int64_t since_ns, std::size_t look,
           std::int64_t now_ns) {
  if (look >= kLooks.size()) return false;
  const std::int64_t end = since_ns + kLooks[look].age_ns;
  return seen.last_ns >= end || now_ns >= end + kLate;
}

void Merge(query::ServiceVersions& known, const query::ServiceVersions& seen,
           std::int64_t from_ns) {
  if (known.label != seen.label && !seen.label.empty()) known.versions.clear();
  if (!seen.label.empty()) known.label = seen.label;
  known.first_ns = known.first_ns == 0 ? seen.first_ns : std::min(known.first_ns, seen.first_ns);
  known.last_ns = std::max(known.last_ns, seen.last_ns);
  for (const query::ServiceVersion& version : seen.versions) {
    const auto at = std::ranges::find(known.versions, version.name, &query::ServiceVersion::name);
    if (at == known.versions.end()) {
      known.versions.push_back(version);
      continue;
    }
    at->first_ns = std::min(at->first_ns, version.first_ns);
    at->last_ns = std::max(at->last_ns, version.last_ns);
  }
  std::erase_if(known.versions, [&](const auto& version) { return version.last_ns < from_ns; });
  std::ranges::stable_sort(known.versions, {}, &query::ServiceVersion::first_ns);
}

}  // namespace wherefore::insight
