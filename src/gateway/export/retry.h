// When a failed request is tried again: its own pauses, and the gate that holds all requests of an
// exporter back.
#pragma once

#include <cstdint>
#include <random>

#include "base/mutex.h"
#include "gateway/export/exporter.h"
#include "gateway/export/sender.h"

namespace wherefore::gateway {

// The pauses of one request: min(initial x multiplier^n, max) x random(1 - r .. 1 + r), or what the
// server asked for, if that is longer. One thread.
class RetryPauses {
 public:
  RetryPauses(const RetryOptions& options, std::uint64_t seed) : options_(options), random_(seed) {}
  [[nodiscard]] std::int64_t NextNs(std::int64_t asked_ns);

 private:
  const RetryOptions& options_;
  double interval_ns_ = 0;
  std::mt19937_64 random_;
};

// Opens and closes for all consumers. While the configuration is wrong one request a minute passes,
// to find out whether it still is; while the server asked for a pause, none. Any thread.
class Gate {
 public:
  explicit Gate(std::int64_t probe_interval_ns) : probe_interval_ns_(probe_interval_ns) {}

  // Waits until a request may be sent; false after Stop.
  [[nodiscard]] bool Pass();
  // Call one of them after every Pass() that was true.
  void Report(const Outcome& outcome);
  void NothingSent();
  // Waits; false after Stop.
  [[nodiscard]] bool Sleep(std::int64_t ns);
  void Stop();
  [[nodiscard]] bool misconfigured() const;

 private:
  const std::int64_t probe_interval_ns_;
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool misconfigured_ GUARDED_BY(mutex_) = false;
  bool probing_ GUARDED_BY(mutex_) = false;
  std::int64_t closed_until_ns_ GUARDED_BY(mutex_) = 0;  // monotonic
};

}  // namespace wherefore::gateway
