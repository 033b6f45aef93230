// The receivers' metrics. Every refusal has a reason. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/metrics.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/status.h"
#include "formats/formats.h"

namespace wherefore::gateway {

// How a request arrived: three for OTLP, two for Pyroscope's clients, and scraping.
enum class Transport : std::uint8_t { kGrpc, kHttp, kHttpJson, kIngest, kPush, kScrape };
inline constexpr std::size_t kTransports = 6;
[[nodiscard]] std::string_view SignalName(formats::Signal signal);

class ReceiverMetrics {
 public:
  ReceiverMetrics();

  void Received(formats::Signal signal, Transport transport, std::size_t body_bytes);
  // Counts samples of profiles, or spans.
  void Decoded(formats::Signal signal, std::size_t items);
  // Profiles or spans left out of a request that was kept otherwise.
  void Rejected(formats::Signal signal, std::uint64_t count);
  void Repeated(formats::Signal signal);
  // `reason` is short and stable: "malformed", "too_large", "overloaded", ...
  void Refused(formats::Signal signal, std::string_view reason);
  // The sink could not take data. Shown as a problem until it takes some again.
  void SinkFailed(std::string message);
  void SinkWorked() {
    if (failing_.load(std::memory_order_relaxed)) failing_.store(false, std::memory_order_relaxed);
  }

  [[nodiscard]] Status Report() const;

 private:
  struct PerSignal {
    std::array<Counter*, kTransports> requests{};  // null: not used for this signal
    std::array<Counter*, kTransports> bytes{};
    Counter* items = nullptr;
    Counter* rejected = nullptr;
    Counter* repeated = nullptr;
    std::atomic<std::int64_t> last_ns{0};
    std::atomic<std::uint64_t> refused{0};
  };
  std::array<PerSignal, 2> signals_;
  std::atomic<bool> failing_{false};
  mutable Mutex mutex_;
  std::string failure_ GUARDED_BY(mutex_);
};

// What one receiver took, under the collector's names:
// otelcol_receiver_{accepted,refused,failed}_{profile_samples,spans}_total{receiver,transport}.
class ComponentCounters {
 public:
  explicit ComponentCounters(const std::string& receiver);

  template <typename T>
  void Count(formats::Signal signal, Transport transport, std::size_t items,
             const Result<T>& result) const {
    CounterOf(signal, transport, result ? nullptr : &result.error()).Add(items);
  }

 private:
  static constexpr std::size_t kOutcomes = 3;  // accepted, refused, failed
  [[nodiscard]] Counter& CounterOf(formats::Signal signal, Transport transport,
                                   const Error* error) const;
  std::array<std::array<std::array<Counter*, kOutcomes>, 2>, 2> counters_{};  // gRPC or not, signal
};

}  // namespace wherefore::gateway
