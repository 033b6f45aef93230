#include "base/metrics.h"

#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/text.h"

namespace wherefore {
namespace {

std::string LabelText(const MetricLabels& labels) {
  std::string out;
  for (const auto& [key, value] : labels) {
    if (!out.empty()) out += ',';
    out += key;
    out += "=\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c == '\n' ? ' ' : c;
    }
    out += '"';
  }
  return out;
}

std::string Braced(const std::string& labels) {
  return labels.empty() ? "" : "{" + labels + "}";
}

template <typename T>
T& Slot(std::map<std::string, std::unique_ptr<T>>& slots, const MetricLabels& labels) {
  auto& slot = slots[LabelText(labels)];
  if (!slot) slot = std::make_unique<T>();
  return *slot;
}

}  // namespace

void Histogram::ObserveNs(std::int64_t ns) {
  const double seconds = static_cast<double>(ns) / 1e9;
  const auto* const bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  buckets_[static_cast<std::size_t>(bound - kBounds.begin())].fetch_add(1,
                                                                        std::memory_order_relaxed);
  sum_ns_.fetch_add(ns, std::memory_order_relaxed);
}

void Histogram::Append(std::string& out, const std::string& name, const std::string& labels) const {
  const std::string prefix = labels.empty() ? "" : labels + ",";
  std::uint64_t count = 0;
  for (std::size_t i = 0; i <= kBounds.size(); ++i) {
    count += buckets_[i].load(std::memory_order_relaxed);
    const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
    out += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name, prefix, bound, count);
  }
  out += fmt::format("{}_sum{} {}\n", name, Braced(labels),
                     static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) / 1e9);
  out += fmt::format("{}_count{} {}\n", name, Braced(labels), count);
}

Metrics& Metrics::Global() {
  static auto* const kMetrics =
      new Metrics;  // never destroyed: threads may count until the process ends
  return *kMetrics;
}

Metrics::Family& Metrics::GetFamily(std::string_view name, std::string_view help,
                                    std::string_view type) {
  Family& family = families_[std::string(name)];
  family.help = help;
  family.type = type;
  return family;
}

Counter& Metrics::GetCounter(std::string_view name, std::string_view help,
                             const MetricLabels& labels) {
  MutexLock lock(mutex_);
  return Slot(GetFamily(name, help, "counter").counters, labels);
}

Gauge& Metrics::GetGauge(std::string_view name, std::string_view help, const MetricLabels& labels) {
  MutexLock lock(mutex_);
  return Slot(GetFamily(name, help, "gauge").gauges, labels);
}

void Metrics::RemoveGauge(std::string_view name, const MetricLabels& labels) {
  MutexLock lock(mutex_);
  const auto family = families_.find(name);
  if (family != families_.end()) family->second.gauges.erase(LabelText(labels));
}

Histogram& Metrics::GetHistogram(std::string_view name, std::string_view help,
                                 const MetricLabels& labels) {
  MutexLock lock(mutex_);
  return Slot(GetFamily(name, help, "histogram").histograms, labels);
}

void Metrics::SetCallback(std::string_view name, std::string_view help,
                          std::function<double()> read) {
  MutexLock lock(mutex_);
  GetFamily(name, help, "gauge").read = std::move(read);
}

std::string Metrics::PrometheusText() {
  MutexLock lock(mutex_);
  std::string out;
  for (const auto& [name, family] : families_) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, family.help, name, family.type);
    for (const auto& [labels, counter] : family.counters) {
      out += fmt::format("{}{} {}\n", name, Braced(labels), counter->value());
    }
    for (const auto& [labels, gauge] : family.gauges) {
      out += fmt::format("{}{} {}\n", name, Braced(labels), gauge->value());
    }
    for (const auto& [labels, histogram] : family.histograms) histogram->Append(out, name, labels);
    if (family.read) out += fmt::format("{} {}\n", name, family.read());
  }
  return out;
}

ProcessMemory ReadProcessMemory() {
  const MemoryUse use = ReadMemoryUse();
  return {.resident_bytes = static_cast<std::int64_t>(use.resident),
          .anonymous_bytes = static_cast<std::int64_t>(use.anonymous)};
}

}  // namespace wherefore
