#include "gateway/export/exporter_metrics.h"

#include "base/clock.h"

namespace wherefore::gateway {
namespace {

constexpr std::string_view kQueueSize = "otelcol_exporter_queue_size";
constexpr std::string_view kQueueCapacity = "otelcol_exporter_queue_capacity";
constexpr std::string_view kOldest = "wherefore_exporter_queue_oldest_seconds";

Counter& CounterOf(std::string_view name, std::string_view help, const std::string& id) {
  return Metrics::Global().GetCounter(name, help, {{"exporter", id}});
}

// During a reload two exporters of one name share their gauges; the last one removes them.
class GaugeOwners {
 public:
  static GaugeOwners& Global() {
    static auto* const kOwners = new GaugeOwners;
    return *kOwners;
  }
  Gauge& Get(std::string_view name, std::string_view help, const std::string& id) {
    MutexLock lock(mutex_);
    ++owners_[{std::string(name), id}];
    return Metrics::Global().GetGauge(name, help, {{"exporter", id}});
  }
  void Release(std::string_view name, const std::string& id) {
    MutexLock lock(mutex_);
    const auto owners = owners_.find({std::string(name), id});
    if (--owners->second > 0) return;
    owners_.erase(owners);
    Metrics::Global().RemoveGauge(name, {{"exporter", id}});
  }

 private:
  Mutex mutex_;
  std::map<std::pair<std::string, std::string>, int> owners_ GUARDED_BY(mutex_);
};

Gauge& GaugeOf(std::string_view name, std::string_view help, const std::string& id) {
  return GaugeOwners::Global().Get(name, help, id);
}

}  // namespace

ExporterMetrics::ExporterMetrics(std::string id)
    : id_(std::move(id)),
      requests_(CounterOf("wherefore_exporter_requests_total",
                          "Requests the next hop took, after batching.", id_)),
      retried_(CounterOf("wherefore_exporter_retries_total", "Requests tried again.", id_)),
      repeated_(CounterOf("wherefore_exporter_repeated_total",
                          "Requests that were queued already, recognised by their identity.", id_)),
      rejected_(CounterOf("wherefore_exporter_rejected_total",
                          "Profiles and spans that the next hop rejected from requests it took.",
                          id_)),
      queue_size_(GaugeOf(kQueueSize, "What is queued, by the queue's sizer.", id_)),
      queue_capacity_(GaugeOf(kQueueCapacity, "What the queue can hold, by its sizer.", id_)),
      oldest_seconds_(GaugeOf(kOldest, "Age of the oldest request in the queue.", id_)) {
  const auto make = [&](formats::Signal signal, const std::string& items) {
    Of(signal) = {
        &CounterOf("otelcol_exporter_sent_" + items + "_total", "Sent to the next hop.", id_),
        &CounterOf("otelcol_exporter_send_failed_" + items + "_total",
                   "Given up after the next hop or a file failed.", id_),
        &CounterOf("otelcol_exporter_enqueue_failed_" + items + "_total",
                   "Not taken, because the queue was full or could not be written.", id_)};
  };
  make(formats::Signal::kProfiles, "profile_samples");
  make(formats::Signal::kTraces, "spans");
}

ExporterMetrics::~ExporterMetrics() {
  for (const std::string_view name : {kQueueSize, kQueueCapacity, kOldest})
    GaugeOwners::Global().Release(name, id_);
}

void ExporterMetrics::Sent(formats::Signal signal, std::uint64_t items) {
  Of(signal).sent->Add(items);
  requests_.Add();
  MutexLock lock(mutex_);
  totals_.sent_items += items;
  ++totals_.sent_requests;
}

void ExporterMetrics::Dropped(formats::Signal signal, std::uint64_t items,
                              std::string_view reason) {
  Of(signal).failed->Add(items);
  Metrics::Global()
      .GetCounter("wherefore_exporter_dropped_items_total",
                  "Samples and spans given up, by reason.",
                  {{"exporter", id_}, {"reason", std::string(reason)}})
      .Add(items);
  MutexLock lock(mutex_);
  totals_.dropped_items[std::string(reason)] += items;
}

void ExporterMetrics::EnqueueFailed(formats::Signal signal, std::uint64_t items) {
  Of(signal).not_queued->Add(items);
  MutexLock lock(mutex_);
  totals_.not_queued_items += items;
}

void ExporterMetrics::SetQueue(std::uint64_t size, std::uint64_t capacity,
                               std::int64_t oldest_age_ns) {
  queue_size_.Set(static_cast<std::int64_t>(size));
  queue_capacity_.Set(static_cast<std::int64_t>(capacity));
  oldest_seconds_.Set(oldest_age_ns / kNsPerSecond);
}

ExporterMetrics::Totals ExporterMetrics::totals() const {
  MutexLock lock(mutex_);
  Totals totals = totals_;
  totals.retries = retried_.value();
  totals.rejected = rejected_.value();
  return totals;
}

}  // namespace wherefore::gateway
