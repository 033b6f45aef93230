// What an exporter counts, in /metrics under its own names and the collector's. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/mutex.h"
#include "formats/formats.h"

namespace wherefore::gateway {

class ExporterMetrics {
 public:
  explicit ExporterMetrics(std::string id);
  ExporterMetrics(const ExporterMetrics&) = delete;
  ExporterMetrics& operator=(const ExporterMetrics&) = delete;
  ~ExporterMetrics();

  void Sent(formats::Signal signal, std::uint64_t items);
  // Requests, items and the reason: "refused", "too_large", "damaged", "gave_up", "retry_off".
  void Dropped(formats::Signal signal, std::uint64_t items, std::string_view reason);
  void EnqueueFailed(formats::Signal signal, std::uint64_t items);
  void Retried() { retried_.Add(); }
  void Repeated() { repeated_.Add(); }
  void Rejected(std::uint64_t items) { rejected_.Add(items); }
  void SetQueue(std::uint64_t size, std::uint64_t capacity, std::int64_t oldest_age_ns);

  struct Totals {
    std::uint64_t sent_items = 0;
    std::uint64_t sent_requests = 0;
    std::uint64_t retries = 0;
    std::uint64_t not_queued_items = 0;
    std::uint64_t rejected = 0;
    std::map<std::string, std::uint64_t> dropped_items;  // by reason
  };
  // Of this object, not of the process.
  [[nodiscard]] Totals totals() const;

 private:
  struct OfSignal {
    Counter* sent = nullptr;
    Counter* failed = nullptr;
    Counter* not_queued = nullptr;
  };
  OfSignal& Of(formats::Signal signal) { return signals_[static_cast<std::size_t>(signal)]; }

  const std::string id_;
  std::array<OfSignal, 2> signals_;
  Counter& requests_;
  Counter& retried_;
  Counter& repeated_;
  Counter& rejected_;
  Gauge& queue_size_;
  Gauge& queue_capacity_;
  Gauge& oldest_seconds_;
  mutable Mutex mutex_;
  Totals totals_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::gateway
