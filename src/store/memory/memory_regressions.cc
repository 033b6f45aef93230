// MemoryReader: events of regressions.
#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "store/memory/memory_reader.h"
#include "store/memory/scan_rows.h"

namespace wherefore::store::memory {

Result<std::vector<RegressionEvent>> MemoryReader::RegressionEvents(
    const RegressionEventQuery& query, const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::vector<RegressionEvent> found;
  WHEREFORE_RETURN_IF_ERROR(
      Each(tables_.regression_events, cancel, [&](const RegressionEvent& event) {
        if (!query.tenant || event.tenant == *query.tenant) found.push_back(event);
      }));
  std::ranges::stable_sort(found, std::greater(), [](const RegressionEvent& event) {
    return std::tuple(event.time_ns, event.number);
  });
  if (query.latest) {
    std::set<std::tuple<std::uint32_t, std::string, std::uint64_t>> seen;
    std::erase_if(found, [&](const RegressionEvent& event) {
      return !seen.emplace(event.tenant, event.kind, event.id).second;
    });
  }
  return Charged(std::move(found), cancel);
}

Result<std::vector<std::uint32_t>> MemoryReader::Tenants(const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::set<std::uint32_t> tenants;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.profiles, cancel, [&](const StoredProfile& profile) {
    tenants.insert(profile.row.dictionary.tenant);
  }));
  return std::vector<std::uint32_t>(tenants.begin(), tenants.end());
}

}  // namespace wherefore::store::memory
