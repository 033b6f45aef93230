#include "query/local_roots.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace wherefore::query {

std::optional<profile::SpanId> ProfileIdOf(const store::SpanRow& span) {
  for (const auto& [key, value] : span.attributes) {
    if (key != "pyroscope.profile.id") continue;
    const auto bytes = FromHex(value);
    profile::SpanId id{};
    if (!bytes || bytes->size() != id.size()) continue;
    std::ranges::copy(*bytes, id.begin());
    return id;
  }
  return std::nullopt;
}

std::set<std::uint64_t> ServicesThatLinkInnerSpans(std::span<const store::SpanRow> trace,
                                                   const std::set<profile::SpanId>& with_samples) {
  std::map<profile::SpanId, std::uint64_t> service_of;
  for (const store::SpanRow& row : trace) service_of.try_emplace(row.id, row.service);
  std::set<std::uint64_t> services;
  for (const store::SpanRow& row : trace) {
    if (!with_samples.contains(row.id) || ProfileIdOf(row)) continue;
    const auto parent = service_of.find(row.parent);
    if (parent != service_of.end() && parent->second == row.service) services.insert(row.service);
  }
  return services;
}

}  // namespace wherefore::query
