// probabilistic_sampler, memory_limiter, rate_limit.
#include <random>

#include <gtest/gtest.h>

#include "gateway/process/memory_limiter.h"
#include "gateway/process/rate_limit.h"
#include "gateway/process/sampler.h"
#include "gateway/process/test_requests.h"

namespace wherefore::gateway {
namespace {

TEST(ProbabilisticSampler, KeepsItsShareOfWholeTraces) {
  std::mt19937_64 random(1);
  profile::SpanBatch batch;
  const profile::Id resource = AddResource(batch, "shop");
  constexpr std::size_t kTraces = 20'000;
  for (std::size_t i = 0; i < kTraces; ++i) {
    profile::TraceId trace;
    for (std::uint8_t& byte : trace) byte = static_cast<std::uint8_t>(random());
    for (int span = 0; span < 2; ++span) {
      batch.spans.push_back({.resource = resource, .trace = trace});
    }
  }
  for (const std::uint32_t seed : {0U, 22U}) {
    ProbabilisticSampler sampler({.percentage = 10, .hash_seed = seed});
    profile::WriteRequest request = RequestOf(batch.Clone());
    ASSERT_TRUE(sampler.Process(request));
    const auto& kept = SpansOf(request).spans;
    EXPECT_NEAR(static_cast<double>(kept.size()), kTraces * 2 * 0.1, kTraces * 2 * 0.01);
    for (std::size_t i = 0; i + 1 < kept.size(); i += 2)
      EXPECT_EQ(kept[i].trace, kept[i + 1].trace);
  }
}

TEST(ProbabilisticSampler, TheThresholdIsOpenTelemetrys) {
  // 25 %: the least random value that stays is 0xc0000000000000 of 2^56.
  const ProbabilisticSampler sampler({.percentage = 25});
  profile::TraceId trace{};
  trace[9] = 0xc0;
  EXPECT_TRUE(sampler.Keeps(trace));
  trace[9] = 0xbf;
  for (std::size_t i = 10; i < 16; ++i) trace[i] = 0xff;
  EXPECT_FALSE(sampler.Keeps(trace));
  trace[8] = 0xff;  // not part of it
  EXPECT_FALSE(sampler.Keeps(trace));
  EXPECT_TRUE(ProbabilisticSampler({.percentage = 100}).Keeps({}));
}

TEST(MemoryLimiter, RefusesAboveLimitMinusSpikeAndLooksSeldom) {
  std::uint64_t used = 79u << 20;
  int looks = 0;
  const auto look = [&] {
    ++looks;
    return used;
  };
  profile::WriteRequest request = ProfileRequest("shop", "f");
  MemoryLimiter limiter({.check_interval_ns = 1, .limit_mib = 100}, look);
  EXPECT_TRUE(limiter.Process(request));
  used = 81u << 20;
  const Result<> refused = limiter.Process(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnavailable);
  used = 10u << 20;
  EXPECT_TRUE(limiter.Process(request));
  MemoryLimiter seldom({.check_interval_ns = 3600 * kNsPerSecond, .limit_mib = 100}, look);
  looks = 0;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(seldom.Process(request));
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(MemoryLimiter::SoftLimit({.limit_percentage = 50, .spike_limit_percentage = 10}, 1000),
            400u);
}

TEST(RateLimit, EachServiceHasItsOwn) {
  std::int64_t now = 0;
  RateLimit limit({.samples_per_second = 2}, [&] { return now; });
  const auto send = [&](const char* service) {
    profile::WriteRequest request = ProfileRequest(service, "f");
    return limit.Process(request).has_value();
  };
  EXPECT_TRUE(send("a"));
  EXPECT_TRUE(send("a"));
  EXPECT_FALSE(send("a"));
  EXPECT_TRUE(send("b"));
  now += kNsPerSecond / 2;
  EXPECT_TRUE(send("a"));
  EXPECT_FALSE(send("a"));
  now += 100 * kNsPerSecond;  // an allowance is one second's worth at most
  EXPECT_TRUE(send("a"));
  EXPECT_TRUE(send("a"));
  EXPECT_FALSE(send("a"));
}

TEST(RateLimit, ALargeRequestIsTakenAndWaitedFor) {
  std::int64_t now = 0;
  RateLimit limit({.bytes_per_second = 100}, [&] { return now; });
  profile::WriteRequest request = ProfileRequest("a", "f");
  request.body_bytes = 1000;
  EXPECT_TRUE(limit.Process(request));
  now += 8 * kNsPerSecond;
  const Result<> refused = limit.Process(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kLimit);
  now += 2 * kNsPerSecond;
  EXPECT_TRUE(limit.Process(request));
}

}  // namespace
}  // namespace wherefore::gateway
