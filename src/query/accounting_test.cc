#include "query/accounting.h"

#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

constexpr std::int64_t kMs = 1'000'000;

std::int64_t SumOf(const Account& account) {
  std::int64_t sum = 0;
  for (const AccountPart& part : account.parts) sum += part.value;
  return sum;
}

// docs/api.md, "Accounting".
TEST(Accounting, TheWorkedExample) {
  const Account account = AccountOf({.duration_ns = 400 * kMs,
                                     .children_ns = 180 * kMs,
                                     .child_spans = 2,
                                     .cpu_clock_ns = 131 * kMs,
                                     .lock = {23'500'000, 40},
                                     .waits_from = Source::kBlock,
                                     .sleep = {51 * kMs, 1},
                                     .lock_looks = {68 * kMs, 1},
                                     .looks_from = Source::kOffCpu});
  EXPECT_EQ(account[Part::kChildren].value, 180 * kMs);
  EXPECT_EQ(account[Part::kOnCpu].value, 131 * kMs);
  EXPECT_EQ(account[Part::kOnCpu].error, 0);
  EXPECT_EQ(account[Part::kLock].value, 23'500'000);
  EXPECT_EQ(account[Part::kLock].error, 3'004'623) << "1.96 sqrt(0.1 ms x 23.5 ms)";
  EXPECT_EQ(account[Part::kSleep].value, 51 * kMs);
  EXPECT_EQ(account[Part::kSleep].error, 65'500'000) << "51 x 4.66 is more than is left";
  EXPECT_EQ(account[Part::kUnobserved].value, 14'500'000);
  EXPECT_EQ(account[Part::kOther].value, 0) << "one look says no more about locks";
  EXPECT_EQ(SumOf(account), 400 * kMs);
  EXPECT_EQ(account.parallel, 1);
  EXPECT_EQ(account.waiting_for_children_ns, 0);
}

TEST(Accounting, SampledCpuTimeIsUncertainAtItsEndsOnly) {
  SpanFigures span{.duration_ns = 200 * kMs,
                   .cpu = {100 * kMs, 10},
                   .cpu_distance_ns = 10 * kMs,
                   .random_moments = true};
  EXPECT_EQ(AccountOf(span)[Part::kOnCpu].error, 13'859'293) << "1.96 x 10 ms x sqrt(1/2)";
  span.child_spans = 5;
  EXPECT_EQ(AccountOf(span)[Part::kOnCpu].error, 33'948'196) << "sqrt(3)";
  span.random_moments = false;
  EXPECT_NEAR(static_cast<double>(AccountOf(span)[Part::kOnCpu].error), 84.1e6, 0.1e6)
      << "10 ms x S(10)";
  span.cpu = {};
  EXPECT_NEAR(static_cast<double>(AccountOf(span)[Part::kOnCpu].error), 38.4e6, 0.1e6);
}

TEST(Accounting, WhatLooksDidNotSeeMayStillHaveHappened) {
  const Account account = AccountOf({.duration_ns = 1000 * kMs,
                                     .io = {30 * kMs, 2},
                                     .looks_from = Source::kOffCpu,
                                     .look_ns = 20e6});
  EXPECT_NEAR(static_cast<double>(account[Part::kSleep].error), 76.8e6, 0.1e6) << "20 ms x S(0)";
  EXPECT_NEAR(static_cast<double>(account[Part::kIo].error), 79.4e6, 0.1e6) << "15 ms x S(2)";
  EXPECT_EQ(account[Part::kIo].source, Source::kOffCpu);
  EXPECT_EQ(account[Part::kLock].source, Source::kNone) << "nothing measures it";
}

TEST(Accounting, WaitingWhileChildrenRanIsOutsideTheSum) {
  const Account account = AccountOf({.duration_ns = 100 * kMs,
                                     .children_ns = 90 * kMs,
                                     .cpu_clock_ns = 4 * kMs,
                                     .lock = {1 * kMs, 1},
                                     .thread = {88 * kMs, 900},
                                     .waits_from = Source::kBlock});
  EXPECT_EQ(account.waiting_for_children_ns, 83 * kMs);
  EXPECT_EQ(account[Part::kThread].value, 5 * kMs);
  EXPECT_EQ(account[Part::kLock].value, 1 * kMs);
  EXPECT_EQ(account[Part::kOnCpu].value, 4 * kMs);
  EXPECT_EQ(account.parallel, 1);
  EXPECT_EQ(SumOf(account), 100 * kMs);
}

TEST(Accounting, SeveralThreadsShareTheSpan) {
  const Account account = AccountOf({.duration_ns = 100 * kMs,
                                     .cpu_clock_ns = 90 * kMs,
                                     .lock = {210 * kMs, 500},
                                     .waits_from = Source::kBlock});
  EXPECT_DOUBLE_EQ(account.parallel, 3);
  EXPECT_EQ(account[Part::kOnCpu].value, 30 * kMs);
  EXPECT_EQ(account[Part::kLock].value, 70 * kMs);
  EXPECT_EQ(SumOf(account), 100 * kMs);
  const Account sampled = AccountOf({.duration_ns = 100 * kMs,
                                     .cpu = {6000 * kMs, 600},
                                     .cpu_distance_ns = 10 * kMs,
                                     .random_moments = true});
  EXPECT_DOUBLE_EQ(sampled.parallel, 60);
  EXPECT_EQ(sampled[Part::kOnCpu].value, 100 * kMs);
}

// The clock is that of the span's own thread: what others computed for it is seen by samples only.
TEST(Accounting, AnotherThreadComputesForTheSpan) {
  SpanFigures span{.duration_ns = 81 * kMs,
                   .cpu_clock_ns = 80 * kMs,
                   .cpu = {120 * kMs, 12},
                   .cpu_distance_ns = 10 * kMs,
                   .random_moments = true};
  const Account together = AccountOf(span);
  EXPECT_EQ(together[Part::kOnCpu].value, 81 * kMs);
  EXPECT_NEAR(together.parallel, 120.0 / 81, 1e-9);
  // The own thread waits meanwhile.
  span.duration_ns = 160 * kMs;
  EXPECT_EQ(AccountOf(span)[Part::kOnCpu].value, 120 * kMs);
  EXPECT_EQ(AccountOf(span).parallel, 1);
  EXPECT_EQ(SumOf(AccountOf(span)), 160 * kMs);
  // A sample or two more than the clock says is chance.
  span.cpu = {100 * kMs, 10};
  EXPECT_EQ(AccountOf(span)[Part::kOnCpu].value, 80 * kMs);
  EXPECT_EQ(AccountOf(span)[Part::kOnCpu].error, 0);
  // Not so of a hundred such spans.
  Accounting many;
  for (int i = 0; i < 100; ++i) many.Add(span);
  EXPECT_EQ(many.Total()[Part::kOnCpu].value, 10'000 * kMs);
}

TEST(Accounting, LooksAtLocksCountWhereTheySurelySeeMoreThanIsMeasured) {
  const Account account = AccountOf({.duration_ns = 1000 * kMs,
                                     .lock = {10 * kMs, 100},
                                     .waits_from = Source::kBlock,
                                     .lock_looks = {400 * kMs, 20},
                                     .looks_from = Source::kOffCpu});
  EXPECT_EQ(account[Part::kOther].value, 390 * kMs);
  EXPECT_TRUE(account.lock_looks_counted);
}

TEST(Accounting, ManySpansTogetherAreKnownBetterThanOne) {
  const SpanFigures one{.duration_ns = 10 * kMs,
                        .cpu_distance_ns = 10 * kMs,
                        .random_moments = true,
                        .looks_from = Source::kOffCpu,
                        .look_ns = 50e6};
  Accounting all;
  for (int i = 0; i < 100; ++i) {
    SpanFigures span = one;
    if (i % 10 == 0) span.io = {50 * kMs, 1};  // more than the span took
    all.Add(span);
  }
  const Account account = all.Total();
  EXPECT_EQ(account[Part::kIo].value, 500 * kMs) << "not cut to what single spans took";
  EXPECT_NEAR(static_cast<double>(account[Part::kIo].error), 50e6 * 8.41, 1e6) << "50 ms x S(10)";
  EXPECT_EQ(SumOf(account), 1000 * kMs);
}

// Whatever is sent, the parts add up, none is negative and no error is larger than the span.
TEST(Accounting, PartsAlwaysAddUp) {
  std::mt19937_64 random(7);
  const auto any = [&](std::int64_t most) -> std::int64_t {
    if (random() % 4 == 0) return 0;
    return static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(most) + 1));
  };
  const auto odd = [&]() -> std::int64_t {
    switch (random() % 50) {
      case 0:
        return INT64_MAX;
      case 1:
        return INT64_MIN;
      case 2:
        return -5;
      default:
        return any(random() % 2 == 0 ? 1000 : 800 * kMs);
    }
  };
  for (int round = 0; round < 100'000; ++round) {
    Accounting accounting;
    for (std::uint64_t spans = 1 + random() % 3; spans > 0; --spans) {
      SpanFigures s{.duration_ns = odd(), .children_ns = odd(), .child_spans = any(5)};
      if (random() % 2 == 0) s.cpu_clock_ns = odd();
      s.cpu = {odd(), any(100)};
      s.cpu_distance_ns = random() % 2 == 0 ? 10 * kMs : 0;
      s.random_moments = random() % 2 == 0;
      s.lock = {odd(), any(100)};
      s.thread = {odd(), any(100)};
      s.waits_from = random() % 2 == 0 ? Source::kBlock : Source::kNone;
      s.io = {odd(), any(9)};
      s.sleep = {odd(), any(9)};
      s.other = {odd(), any(9)};
      s.lock_looks = {odd(), any(9)};
      s.looks_from = random() % 2 == 0 ? Source::kOffCpu : Source::kNone;
      s.look_ns = static_cast<double>(any(100 * kMs));
      accounting.Add(s);
    }
    const Account account = accounting.Total();
    ASSERT_EQ(SumOf(account), account.duration_ns) << round;
    for (const AccountPart& part : account.parts) {
      ASSERT_GE(part.value, 0) << round;
      ASSERT_GE(part.error, 0) << round;
      ASSERT_LE(part.error, account.duration_ns) << round;
    }
    ASSERT_GE(account.parallel, 1) << round;
  }
}

}  // namespace
}  // namespace wherefore::query
