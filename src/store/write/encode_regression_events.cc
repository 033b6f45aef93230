#include "store/write/encode_regression_events.h"

#include <bit>
#include <string_view>
#include <vector>

namespace wherefore::store {

void EncodeRegressionEvents(std::span<const RegressionEvent> events, std::int64_t now_ns,
                            Rows& rows) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  for (const RegressionEvent& event : events) {
    std::vector<std::string_view> names;
    std::vector<std::string_view> values;
    for (const auto& [name, value] : event.facts) {
      names.push_back(name);
      values.push_back(value);
    }
    rows.Begin(BucketOf(event.time_ns, now_ns), event.tenant)
        .Put(event.time_ns)
        .Put(event.number)
        .Text(event.kind)
        .Text(event.event)
        .Text(event.state)
        .Put(event.id)
        .Text(event.service)
        .Text(event.type)
        .Text(event.function)
        .Text(event.module)
        .Text(event.label)
        .Text(event.version_before)
        .Text(event.version)
        .Put(event.since_ns)
        .Put(event.until_ns)
        .Put(bits(event.value))
        .Put(bits(event.low))
        .Put(bits(event.high))
        .Text(event.why)
        .Texts(names)
        .Texts(values);
  }
}

}  // namespace wherefore::store
