// Counters, gauges and histograms in Prometheus' text format.
//
// A metric is created once (by name and labels) and lives as long as the process. Updating it is a
// relaxed atomic operation from any thread. Look a metric up once and keep the reference: the
// lookup takes a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace wherefore {

class Counter {
 public:
  void Add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void Set(std::int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(std::int64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  [[nodiscard]] std::int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

// Seconds, in buckets from 0.1 ms to 100 s.
class Histogram {
 public:
  static constexpr std::array kBounds = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1,
                                         0.3,    1.0,    3.0,   10.0,  30.0, 100.0};
  void ObserveNs(std::int64_t ns);
  void Append(std::string& out, const std::string& name, const std::string& labels) const;

 private:
  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<std::int64_t> sum_ns_{0};
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class Metrics {
 public:
  static Metrics& Global();

  Counter& GetCounter(std::string_view name, std::string_view help,
                      const MetricLabels& labels = {});
  Gauge& GetGauge(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  Histogram& GetHistogram(std::string_view name, std::string_view help,
                          const MetricLabels& labels = {});
  // For a gauge whose subject is gone. Nobody may use its reference any more.
  void RemoveGauge(std::string_view name, const MetricLabels& labels);
  // A gauge that is computed on each scrape. The callback must outlive the process or be replaced.
  void SetCallback(std::string_view name, std::string_view help, std::function<double()> read);

  [[nodiscard]] std::string PrometheusText();

 private:
  struct Family {
    std::string help;
    std::string type;
    std::map<std::string, std::unique_ptr<Counter>> counters;
    std::map<std::string, std::unique_ptr<Gauge>> gauges;
    std::map<std::string, std::unique_ptr<Histogram>> histograms;
    std::function<double()> read;
  };
  Family& GetFamily(std::string_view name, std::string_view help, std::string_view type)
      REQUIRES(mutex_);

  Mutex mutex_;
  std::map<std::string, Family, std::less<>> families_ GUARDED_BY(mutex_);
};

// Resident and anonymous memory of this process, from /proc.
struct ProcessMemory {
  std::int64_t resident_bytes = 0;
  std::int64_t anonymous_bytes = 0;
};
[[nodiscard]] ProcessMemory ReadProcessMemory();

}  // namespace wherefore
