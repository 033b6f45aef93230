// How much this machine and server have to do, and what follows from it: `profiling.load_shedding`
// and `profiling.adaptive`.
//
//   pressure = max(machine CPU / cpu_threshold, anonymous memory / memory_threshold,
//                  store's queue / 75 %)
//
// looked at each second. Load is shed in levels: one more after 3 s of pressure above 1, one less
// after 10 s below 0.9, so it ends by itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/metrics.h"
#include "base/mutex.h"
#include "base/status.h"
#include "gateway/config/profiling_settings.h"

namespace wherefore::gateway {

struct LoadReading {
  double cpu = 0;                     // of the machine: 0 to 1
  std::uint64_t anonymous_bytes = 0;  // of this process
  double store_queue = 0;             // how full: 0 to 1
};

[[nodiscard]] double PressureOf(const LoadReading& reading, double cpu_threshold,
                                std::optional<std::int64_t> memory_threshold);

// The level of shedding, from the pressure of each second. One thread.
class SheddingLevel {
 public:
  static constexpr int kHighest = 2;
  int Update(std::int64_t now_ns, double pressure);
  [[nodiscard]] int level() const { return level_; }

 private:
  int level_ = 0;
  std::int64_t high_since_ns_ = 0;  // 0: it is not
  std::int64_t low_since_ns_ = 0;
};

// The machine's CPU use since the last call, from /proc/stat; 0 where that cannot be read. One
// thread.
class MachineCpu {
 public:
  double Read();

 private:
  std::uint64_t busy_ = 0;
  std::uint64_t all_ = 0;
};

// Looks each second while there is a reason to, on a thread of its own.
//
// Threads: Apply by one thread at a time; level and status from any.
class LoadWatch {
 public:
  // `read`: called each second on the watch's thread. `set_pressure`: every ten seconds, whether
  // SDKs should be asked for less.
  LoadWatch(std::function<LoadReading()> read, std::function<void(bool)> set_pressure);
  LoadWatch(const LoadWatch&) = delete;
  LoadWatch& operator=(const LoadWatch&) = delete;
  ~LoadWatch();

  void Apply(const std::optional<ProfilingSettings>& settings);
  // 1: detail of traces that are not known to qualify; 2: profiles.
  [[nodiscard]] int level() const { return level_.load(std::memory_order_relaxed); }
  // One look; the thread's, and tests'.
  void Look(std::int64_t now_ns);
  // No facts: nothing is watched.
  [[nodiscard]] Status status() const;

 private:
  void Run();
  void Stop();

  const std::function<LoadReading()> read_;
  const std::function<void(bool)> set_pressure_;
  Gauge& level_gauge_;
  Gauge& pressure_gauge_;
  std::atomic<int> level_{0};
  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::optional<ProfilingLoadShedding> shedding_ GUARDED_BY(mutex_);
  std::optional<ProfilingAdaptive> adaptive_ GUARDED_BY(mutex_);
  SheddingLevel shed_ GUARDED_BY(mutex_);
  double pressure_ GUARDED_BY(mutex_) = 0;
  std::int64_t next_adapt_ns_ GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace wherefore::gateway
