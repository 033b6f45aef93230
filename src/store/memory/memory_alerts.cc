// MemoryReader: events of alerts.
#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "store/memory/memory_reader.h"
#include "store/memory/scan_rows.h"

namespace wherefore::store::memory {

Result<std::vector<AlertEvent>> MemoryReader::AlertEvents(const AlertEventQuery& query,
                                                          const CancelToken& cancel) {
  ReaderLock lock(mutex_);
  std::vector<AlertEvent> found;
  WHEREFORE_RETURN_IF_ERROR(Each(tables_.alert_events, cancel, [&](const AlertEvent& event) {
    if (event.time_ns < query.from_ns || event.time_ns >= query.to_ns) return;
    if (query.tenant && event.tenant != *query.tenant) return;
    if (!query.kinds.empty() && std::ranges::find(query.kinds, event.kind) == query.kinds.end())
      return;
    found.push_back(event);
  }));
  std::ranges::stable_sort(found, std::greater(), [](const AlertEvent& event) {
    return std::tuple(event.time_ns, event.number);
  });
  if (query.latest) {
    std::set<std::tuple<std::uint32_t, std::string, std::uint64_t, std::string>> seen;
    std::erase_if(found, [&](const AlertEvent& event) {
      return !seen.emplace(event.tenant, event.kind, event.fingerprint, event.id).second;
    });
  }
  if (query.limit != 0 && found.size() > query.limit) found.resize(query.limit);
  return Charged(std::move(found), cancel);
}

}  // namespace wherefore::store::memory
