// How often is sampled: the budget, and the number of samples of one kind.
#include "sdk/collect/governor.h"

#include <gtest/gtest.h>

#include "sdk/collect/sample_target.h"

namespace wherefore::sdk {
namespace {

TEST(SampleTarget, GrowsAtOnceAndComesBackSlowly) {
  SampleTarget control(100);
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_FALSE(control.Observe(150, kSecond));
  EXPECT_TRUE(control.Observe(1000, kSecond / 10));  // 10,000 a second
  EXPECT_EQ(control.factor(), 100);
  EXPECT_FALSE(control.Observe(100, kSecond));
  EXPECT_FALSE(control.Observe(10, kSecond));
  EXPECT_TRUE(control.Observe(10, kSecond));
  EXPECT_EQ(control.factor(), 50);
}

class GovernorTest : public ::testing::Test {
 protected:
  // One second in which the host used all of one CPU.
  bool Second(Governor& governor, double share) {
    usage_.process_ns += 1'000'000'000;
    // Half of it for samples of allocations, the rest for the others.
    const double cost = 1e9 * share;
    usage_.samplers[static_cast<std::size_t>(SamplerKind::kHeap)] +=
        static_cast<std::int64_t>(cost / 2);
    usage_.samplers[static_cast<std::size_t>(SamplerKind::kCpu)] +=
        static_cast<std::int64_t>(cost / 4);
    usage_.rest += static_cast<std::int64_t>(cost / 4);
    return governor.Step(usage_);
  }
  // As long as it takes to be judged once.
  bool Seconds(Governor& governor, double share) {
    bool changed = false;
    for (int i = 0; i < 3; ++i) changed = Second(governor, share) || changed;
    return changed;
  }
  Usage usage_;
};

TEST_F(GovernorTest, HalvesRatesAboveTheBudgetAndComesBackSlowly) {
  Options options;
  options.max_overhead = 0.01;
  Governor governor(options);
  EXPECT_FALSE(Second(governor, 0.5));  // what starting cost
  EXPECT_FALSE(Seconds(governor, 0.009));
  EXPECT_FALSE(Second(governor, 0.02));  // one expensive second
  EXPECT_FALSE(Second(governor, 0.001));
  EXPECT_FALSE(Second(governor, 0.001));
  EXPECT_TRUE(Seconds(governor, 0.03));
  EXPECT_TRUE(Second(governor, 0.2));  // too much to wait for three
  EXPECT_EQ(governor.scale(SamplerKind::kHeap), 4);
  EXPECT_EQ(governor.scale(SamplerKind::kCpu), 1);  // it was not the expensive one
  EXPECT_FALSE(Seconds(governor, 0.006));           // below, but one step up would be above again
  int judged = 0;
  while (governor.scale(SamplerKind::kHeap) > 1 && judged < 100) {
    Seconds(governor, 0.001);
    ++judged;
  }
  EXPECT_EQ(judged, 8);
}

TEST_F(GovernorTest, OneJudgementAboveTheBudgetMayBeAnExport) {
  Options options;
  options.max_overhead = 0.01;
  Governor governor(options);
  Second(governor, 0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(Seconds(governor, 0.015));
    EXPECT_FALSE(Seconds(governor, 0.008));
  }
  EXPECT_FALSE(Seconds(governor, 0.015));
  EXPECT_TRUE(Seconds(governor, 0.015));
}

// What the threads of the profiler use whatever is sampled is no reason to sample next to nothing.
TEST_F(GovernorTest, WhatCostsLittleIsLeftAloneAndComesBackFirst) {
  Options options;
  options.max_overhead = 0.01;
  Governor governor(options);
  const auto seconds = [&](double cpu, double rest) {
    bool changed = false;
    for (int i = 0; i < 3; ++i) {
      usage_.process_ns += 1'000'000'000;
      usage_.samplers[static_cast<std::size_t>(SamplerKind::kCpu)] +=
          static_cast<std::int64_t>(1e9 * cpu);
      usage_.rest += static_cast<std::int64_t>(1e9 * rest);
      changed = governor.Step(usage_) || changed;
    }
    return changed;
  };
  governor.Step(usage_);
  EXPECT_TRUE(seconds(0.015, 0.015));
  EXPECT_EQ(governor.scale(SamplerKind::kCpu), 2);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(seconds(0.001, 0.03));
  EXPECT_EQ(governor.scale(SamplerKind::kCpu), 2);
  EXPECT_NEAR(governor.excess().value_or(0), 0.031, 1e-6);
  for (int i = 0; i < 8; ++i) seconds(0.001, 0.005);
  EXPECT_EQ(governor.scale(SamplerKind::kCpu), 1);
}

TEST_F(GovernorTest, NeverGoesBeyondItsLargestScale) {
  Governor governor(Options{});
  for (int i = 0; i < 20; ++i) Second(governor, 0.5);
  EXPECT_EQ(governor.scale(SamplerKind::kHeap), 64);
}

TEST_F(GovernorTest, SlowsTheNextWhenTheMostExpensiveCannotAndKnowsWhenNoneCan) {
  Options options;
  options.max_overhead = 0.00001;
  Governor governor(options);
  Second(governor, 0.5);
  // Two samplers that cost something, six steps each.
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(Second(governor, 0.002));
    EXPECT_FALSE(governor.excess());
  }
  EXPECT_EQ(governor.scale(SamplerKind::kHeap), 64);
  EXPECT_EQ(governor.scale(SamplerKind::kCpu), 64);
  EXPECT_EQ(governor.scale(SamplerKind::kLocks), 1);  // costs nothing
  Second(governor, 0.002);
  Second(governor, 0.002);
  EXPECT_FALSE(governor.excess());
  Second(governor, 0.002);
  EXPECT_NEAR(governor.excess().value_or(0), 0.002, 1e-6);
  Seconds(governor, 0);
  EXPECT_FALSE(governor.excess());
}

TEST_F(GovernorTest, ShedsAndAdaptsByTheMachinesLoad) {
  static Governor::Machine machine;
  Options options;
  options.load_shedding = {.enabled = true, .cpu = 0.9, .memory_bytes = 1000};
  options.adaptive = {.enabled = true, .cpu = 0.5};
  Governor governor(options);
  governor.ReplaceReader([] { return machine; });
  machine = {.cpu = 0.6, .resident_bytes = 1};
  EXPECT_TRUE(Second(governor, 0));
  EXPECT_EQ(governor.scale(SamplerKind::kCpu), 2);
  machine.cpu = 0.95;
  EXPECT_TRUE(Second(governor, 0));
  EXPECT_TRUE(governor.shedding());
  machine = {.cpu = 0.1, .resident_bytes = 2000};
  EXPECT_FALSE(Second(governor, 0));
  EXPECT_TRUE(governor.shedding());
  machine = {};
  EXPECT_TRUE(Second(governor, 0));
  EXPECT_FALSE(governor.shedding());
  EXPECT_EQ(governor.scale(SamplerKind::kCpu), 1);
}

}  // namespace
}  // namespace wherefore::sdk
