#include "store/write/encode_alert_events.h"

#include <bit>
#include <string_view>
#include <vector>

namespace wherefore::store {

void EncodeAlertEvents(std::span<const AlertEvent> events, std::int64_t now_ns, Rows& rows) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  for (const AlertEvent& event : events) {
    std::vector<std::string_view> names;
    std::vector<std::string_view> values;
    for (const auto& [name, value] : event.labels) {
      names.push_back(name);
      values.push_back(value);
    }
    rows.Begin(BucketOf(event.time_ns, now_ns), event.tenant)
        .Put(event.time_ns)
        .Put(event.number)
        .Text(event.kind)
        .Text(event.state)
        .Put(event.fingerprint)
        .Put(event.starts_ns)
        .Put(event.ends_ns)
        .Text(event.id)
        .Text(event.group)
        .Text(event.alert)
        .Text(event.service)
        .Put(bits(event.value))
        .Put(bits(event.low))
        .Put(bits(event.high))
        .Texts(names)
        .Texts(values)
        .Text(event.detail);
  }
}

}  // namespace wherefore::store
