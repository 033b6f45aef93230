// Load shedding and adaptive rates, with the pressure of each second injected.
#include "gateway/profiling/load.h"

#include <atomic>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace wherefore::gateway {
namespace {

TEST(Load, PressureIsTheLargestPart) {
  EXPECT_DOUBLE_EQ(PressureOf({.cpu = 0.45}, 0.9, {}), 0.5);
  EXPECT_DOUBLE_EQ(PressureOf({.cpu = 0.45, .anonymous_bytes = 200}, 0.9, 100), 2);
  EXPECT_DOUBLE_EQ(PressureOf({.anonymous_bytes = 200}, 0.9, {}), 0) << "no threshold";
  EXPECT_DOUBLE_EQ(PressureOf({.cpu = 0.1, .store_queue = 0.75}, 0.9, {}), 1);
}

TEST(Load, LevelsGoUpAfterThreeSecondsAndDownAfterTen) {
  SheddingLevel shed;
  std::int64_t now = kNsPerSecond;
  const auto after = [&](int seconds, double pressure) {
    for (int i = 0; i < seconds; ++i) shed.Update(now += kNsPerSecond, pressure);
    return shed.level();
  };
  EXPECT_EQ(after(3, 1.1), 0) << "the first look only begins to count";
  EXPECT_EQ(after(1, 1.1), 1);
  EXPECT_EQ(after(2, 1.1), 1);
  EXPECT_EQ(after(1, 1.1), 2);
  EXPECT_EQ(after(60, 5), 2) << "the highest";
  EXPECT_EQ(after(30, 0.95), 2) << "neither";
  EXPECT_EQ(after(10, 0.8), 2);
  EXPECT_EQ(after(1, 0.8), 1);
  EXPECT_EQ(after(2, 0.8), 1);
  EXPECT_EQ(after(1, 1.0), 1) << "interrupted";
  EXPECT_EQ(after(10, 0.8), 1);
  EXPECT_EQ(after(1, 0.8), 0);
  EXPECT_EQ(after(10, 2), 2);
  EXPECT_EQ(after(11, 0.8), 1);
  EXPECT_EQ(after(2, 0.8), 1);
  EXPECT_EQ(after(1, 0.8), 0) << "all back within 15 s";
  EXPECT_EQ(after(3, 2), 0);
  EXPECT_EQ(after(1, 0.5), 0) << "a short peak does nothing";
}

TEST(Load, WatchShedsAndAsksForLess) {
  LoadReading reading;
  std::atomic<bool> pressure = false;
  LoadWatch watch([&] { return reading; }, [&](bool is) { pressure = is; });
  ProfilingSettings settings;
  settings.load_shedding = ProfilingLoadShedding{.cpu = 0.9};
  settings.adaptive = ProfilingAdaptive{.cpu = 0.5};
  std::int64_t now = MonotonicNs();
  watch.Look(now);
  EXPECT_TRUE(watch.status().facts.empty()) << "nothing is asked for";
  reading.cpu = 0;
  watch.Apply(settings);  // its thread looks too, and finds the same
  watch.Look(now += kNsPerSecond);
  EXPECT_EQ(watch.level(), 0);
  EXPECT_FALSE(watch.status().facts.empty());
  watch.Apply({});
  EXPECT_EQ(watch.level(), 0);
  EXPECT_FALSE(pressure);
}

TEST(Load, MachineCpuIsAShare) {
  MachineCpu cpu;
  (void)cpu.Read();
  volatile std::uint64_t work = 0;
  const std::int64_t until = MonotonicNs() + 50'000'000;
  while (MonotonicNs() < until) work = work + 1;
  const double share = cpu.Read();
  EXPECT_GT(share, 0);
  EXPECT_LE(share, 1);
}

}  // namespace
}  // namespace wherefore::gateway
