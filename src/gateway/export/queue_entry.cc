#include "gateway/export/queue_entry.h"

#include "base/clock.h"
#include "base/hash.h"
#include "formats/formats.h"
#include "formats/otlp/merge.h"
#include "profile/tenant.h"

namespace wherefore::gateway {
namespace {

std::uint64_t ItemsOf(const profile::WriteRequest& request) {
  if (const auto* const batch = std::get_if<profile::Batch>(&request.data))
    return batch->samples.size();
  return std::get<profile::SpanBatch>(request.data).spans.size();
}

}  // namespace

formats::Signal SignalOf(const profile::WriteRequest& request) {
  return std::holds_alternative<profile::Batch>(request.data) ? formats::Signal::kProfiles
                                                              : formats::Signal::kTraces;
}

QueueEntry EntryOf(profile::WriteRequest& request) {
  QueueEntry entry;
  entry.signal = SignalOf(request);
  entry.tenant = request.tenant_name;
  entry.request = {.identity = request.identity,
                   .rejected = request.decoded.rejected,
                   .message = request.decoded.message,
                   .tenant = request.tenant};
  entry.items = static_cast<std::uint32_t>(ItemsOf(request));
  entry.arrival_ns = request.arrival_ns != 0 ? request.arrival_ns : NowUnixNs();
  // A sender of an old layout would be misunderstood by the next hop.
  if (entry.signal == formats::Signal::kTraces || !request.otlp_bytes ||
      formats::HasTodaysLayout(*request.otlp_bytes)) {
    entry.payload = request.otlp_bytes;
  }
  if (request.counters) {
    entry.payload = std::make_shared<const std::string>();
    entry.cumulative = std::make_shared<QueueEntry::Cumulative>(
        std::get<profile::Batch>(std::move(request.data)), *request.counters);
  } else if (!entry.payload) {
    const auto* const batch = std::get_if<profile::Batch>(&request.data);
    entry.payload = std::make_shared<const std::string>(
        batch != nullptr ? formats::EncodeOtlpProfiles(*batch)
                         : formats::EncodeOtlpTraces(std::get<profile::SpanBatch>(request.data)));
  }
  return entry;
}

profile::WriteRequest RequestOf(const QueuedBatch& queued, std::string_view bytes) {
  profile::WriteRequest request;
  request.identity = HashString(bytes, 1);
  request.tenant_name = queued.tenant;
  request.tenant = profile::Tenant(queued.tenant).number;
  request.body_bytes = bytes.size();
  request.arrival_ns = queued.oldest_ns;
  return request;
}

}  // namespace wherefore::gateway
