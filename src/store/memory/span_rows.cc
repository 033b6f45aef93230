#include "store/memory/span_rows.h"

#include <algorithm>

#include "base/hash.h"
#include "store/memory/scan_rows.h"
#include "store/read/reader.h"

namespace wherefore::store::memory {

std::string_view ProfileIdOf(const SpanRow& span) {
  for (const auto& [name, value] : span.attributes) {
    if (name == kProfileId) return value;
  }
  return {};
}

std::map<std::uint64_t, std::string> ServiceNames(
    const Tables& tables, std::uint32_t tenant, const std::function<bool(std::uint32_t)>& bucket) {
  std::map<std::uint64_t, std::string> names;
  for (const ServiceName& service : tables.services) {
    if (service.key.tenant == tenant && bucket(service.key.bucket))
      names.try_emplace(service.key.service, service.name);
  }
  return names;
}

namespace {

bool HasPair(const std::vector<std::pair<std::string, std::string>>& pairs,
             const std::pair<std::string, std::string>& wanted) {
  return std::ranges::find(pairs, wanted) != pairs.end();
}

}  // namespace

bool Matches(const SpanSearch& search, const StoredSpan& span) {
  const SpanRow& row = span.row;
  if (span.key.tenant != search.tenant || row.start_ns < search.range.from_ns ||
      row.start_ns >= search.range.to_ns)
    return false;
  if (!search.service.empty() && row.service != Hash64(search.service)) return false;
  if (!search.name.empty() && row.name != search.name) return false;
  if (search.min_duration_ns > 0 && row.duration_ns < search.min_duration_ns) return false;
  if (search.max_duration_ns > 0 && row.duration_ns > search.max_duration_ns) return false;
  if (search.status_code >= 0 && row.status_code != search.status_code) return false;
  if (search.kind >= 0 && row.kind != search.kind) return false;
  if (search.requests_only && !IsRequest(row)) return false;
  if (search.roots_only && row.parent != profile::SpanId{}) return false;
  if (!search.traces.empty() && std::ranges::find(search.traces, row.trace) == search.traces.end())
    return false;
  return std::ranges::all_of(search.attributes, [&](const auto& wanted) {
    return HasPair(row.attributes, wanted) || HasPair(row.resource, wanted);
  });
}

Result<std::vector<const StoredSpan*>> SpansOf(const Tables& tables, std::uint32_t tenant,
                                               const std::set<profile::TraceId>& traces,
                                               const CancelToken& cancel) {
  std::set<std::uint32_t> buckets;
  std::set<std::uint64_t> services;
  TimeRange range{INT64_MAX, INT64_MIN};
  WHEREFORE_RETURN_IF_ERROR(Each(tables.traces, cancel, [&](const TraceEntry& entry) {
    if (entry.tenant != tenant || !traces.contains(entry.trace)) return;
    buckets.insert(entry.bucket);
    services.insert(entry.service);
    range.from_ns = std::min(range.from_ns, entry.first_ns);
    range.to_ns = std::max(range.to_ns, entry.last_ns);
  }));
  std::vector<const StoredSpan*> spans;
  WHEREFORE_RETURN_IF_ERROR(Each(tables.spans, cancel, [&](const StoredSpan& span) {
    if (span.key.tenant == tenant && traces.contains(span.row.trace) &&
        buckets.contains(span.key.bucket) && services.contains(span.key.service) &&
        span.row.start_ns >= range.from_ns && span.row.start_ns <= range.to_ns)
      spans.push_back(&span);
  }));
  return spans;
}

std::vector<SpanRow> WholeRows(const Tables& tables, std::uint32_t tenant,
                               const std::vector<const StoredSpan*>& spans) {
  std::set<std::uint32_t> buckets;
  for (const StoredSpan* span : spans) buckets.insert(span->key.bucket);
  const auto names =
      ServiceNames(tables, tenant, [&](std::uint32_t bucket) { return buckets.contains(bucket); });
  std::vector<SpanRow> rows;
  rows.reserve(spans.size());
  for (const StoredSpan* span : spans) {
    SpanRow& row = rows.emplace_back(span->row);
    if (const auto found = names.find(row.service); found != names.end())
      row.service_name = found->second;
  }
  return rows;
}

}  // namespace wherefore::store::memory
