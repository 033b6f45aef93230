#include "gateway/profiling/load.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"

namespace wherefore::gateway {

double PressureOf(const LoadReading& reading, double cpu_threshold,
                  std::optional<std::int64_t> memory_threshold) {
  constexpr double kFullQueue = 0.75;
  double pressure = reading.store_queue / kFullQueue;
  if (cpu_threshold > 0) pressure = std::max(pressure, reading.cpu / cpu_threshold);
  if (memory_threshold && *memory_threshold > 0) {
    pressure = std::max(pressure, static_cast<double>(reading.anonymous_bytes) /
                                      static_cast<double>(*memory_threshold));
  }
  return pressure;
}

int SheddingLevel::Update(std::int64_t now_ns, double pressure) {
  constexpr std::int64_t kBeforeMore = 3 * kNsPerSecond;
  constexpr std::int64_t kBeforeLess = 10 * kNsPerSecond;
  constexpr std::int64_t kBeforeEvenLess = 3 * kNsPerSecond;  // it is calm: all back within 15 s
  constexpr double kRelief = 0.9;
  const auto held = [now_ns](bool is, std::int64_t& since, std::int64_t long_enough,
                             std::int64_t next) {
    if (!is) {
      since = 0;
    } else if (since == 0) {
      since = now_ns;
    } else if (now_ns - since >= long_enough) {
      since = now_ns - (long_enough - next);  // for the next level
      return true;
    }
    return false;
  };
  if (held(pressure > 1, high_since_ns_, kBeforeMore, kBeforeMore)) {
    level_ = std::min(level_ + 1, kHighest);
  }
  if (held(pressure < kRelief, low_since_ns_, kBeforeLess, kBeforeEvenLess)) {
    level_ = std::max(level_ - 1, 0);
  }
  return level_;
}

double MachineCpu::Read() {
  std::ifstream file("/proc/stat");
  std::string name;
  if (!(file >> name) || name != "cpu") return 0;
  // user nice system idle iowait irq softirq steal
  constexpr int kColumns = 8;
  constexpr int kIdle = 3;
  constexpr int kIoWait = 4;
  std::uint64_t busy = 0;
  std::uint64_t all = 0;
  for (int i = 0; i < kColumns; ++i) {
    std::uint64_t ticks = 0;
    file >> ticks;
    all += ticks;
    if (i != kIdle && i != kIoWait) busy += ticks;
  }
  const std::uint64_t busy_now = busy - std::min(busy, std::exchange(busy_, busy));
  const std::uint64_t all_now = all - std::min(all, std::exchange(all_, all));
  return all_now == 0 ? 0 : static_cast<double>(busy_now) / static_cast<double>(all_now);
}

LoadWatch::LoadWatch(std::function<LoadReading()> read, std::function<void(bool)> set_pressure)
    : read_(std::move(read)),
      set_pressure_(std::move(set_pressure)),
      level_gauge_(Metrics::Global().GetGauge(
          "wherefore_shedding_level",
          "Load that is shed: 0 none, 1 detail of profiles, 2 profiles.")),
      pressure_gauge_(Metrics::Global().GetGauge(
          "wherefore_load_pressure_percent",
          "The largest of CPU, memory and queue in per cent of what they may be.")) {}

LoadWatch::~LoadWatch() {
  Stop();
}

void LoadWatch::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void LoadWatch::Apply(const std::optional<ProfilingSettings>& settings) {
  MutexLock lock(mutex_);
  shedding_.reset();
  adaptive_.reset();
  if (settings && settings->load_shedding && settings->load_shedding->enabled) {
    shedding_ = settings->load_shedding;
  }
  if (settings && settings->adaptive && settings->adaptive->enabled) adaptive_ = settings->adaptive;
  if (!shedding_) {
    shed_ = {};
    level_.store(0, std::memory_order_relaxed);
    level_gauge_.Set(0);
  }
  if (!adaptive_) set_pressure_(false);
  if ((shedding_ || adaptive_) && !thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void LoadWatch::Look(std::int64_t now_ns) {
  const LoadReading reading = read_();
  MutexLock lock(mutex_);
  if (adaptive_ && now_ns >= next_adapt_ns_) {
    next_adapt_ns_ = now_ns + 10 * kNsPerSecond;
    set_pressure_(PressureOf(reading, adaptive_->cpu, adaptive_->memory_bytes) > 1);
  }
  if (!shedding_) return;
  pressure_ = PressureOf(reading, shedding_->cpu, shedding_->memory_bytes);
  const int before = shed_.level();
  const int level = shed_.Update(now_ns, pressure_);
  level_.store(level, std::memory_order_relaxed);
  level_gauge_.Set(level);
  pressure_gauge_.Set(static_cast<std::int64_t>(pressure_ * 100));
  if (level != before) {
    Log(level > before ? LogLevel::kWarn : LogLevel::kInfo, "load shedding",
        {{"level", level}, {"pressure", fmt::format("{:.2f}", pressure_)}});
  }
}

void LoadWatch::Run() {
  auto next = std::chrono::steady_clock::now();
  while (true) {
    Look(MonotonicNs());
    next += std::chrono::seconds(1);
    MutexLock lock(mutex_);
    while (!stopping_ && changed_.WaitUntil(mutex_, next)) {
    }
    if (stopping_) return;
  }
}

Status LoadWatch::status() const {
  Status status;
  status.part = "load shedding";
  MutexLock lock(mutex_);
  if (!shedding_) return status;
  static constexpr const char* kWhat[] = {"nothing is shed", "links and times of samples are shed",
                                          "profiles are refused (429)"};
  const int level = shed_.level();
  status.facts = {{"pressure", fmt::format("{:.2f}", pressure_)},
                  {"level", fmt::format("{}: {}", level, kWhat[level])}};
  if (level > 0) {
    status.problems.push_back({fmt::format("too much to do: {}", kWhat[level]),
                               "it ends by itself; give the server more room, or raise the "
                               "thresholds of profiling.load_shedding",
                               level > 1});
  }
  return status;
}

}  // namespace wherefore::gateway
