#include "insight/alerts/history.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace wherefore::insight {

Result<std::vector<AlertHistoryEvent>> AlertHistory(query::QueryContext& context,
                                                    const AlertHistoryQuery& query,
                                                    const CancelToken& cancel) {
  store::AlertEventQuery wanted{
      .tenant = query.tenant, .from_ns = query.from_ns, .to_ns = query.to_ns, .kinds = {"state"}};
  if (query.deliveries) wanted.kinds.emplace_back("delivery");
  WHEREFORE_ASSIGN_OR_RETURN(auto events, context.reader.AlertEvents(wanted, cancel));
  std::ranges::reverse(events);
  using Subject = std::tuple<std::string, std::uint64_t, std::string>;
  std::map<Subject, std::pair<std::string, std::int64_t>> last;  // state and start
  std::erase_if(events, [&](const AlertHistoryEvent& event) {
    if (event.fingerprint == 0) return true;  // about a receiver itself
    const std::pair now{event.state, event.starts_ns};
    auto& before = last[{event.kind, event.fingerprint, event.id}];
    const bool again = before == now;
    before = now;
    return again || (!query.alert.empty() && event.alert != query.alert) ||
           (!query.service.empty() && event.service != query.service);
  });
  std::ranges::reverse(events);
  if (events.size() > query.limit) events.resize(query.limit);
  return events;
}

}  // namespace wherefore::insight
