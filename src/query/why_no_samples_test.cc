#include "query/why_no_samples.h"

#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

constexpr std::int64_t kMs = 1'000'000;

bool Says(const ServiceThen& then, std::string_view text) {
  return WhyNoSamples(then).find(text) != std::string::npos;
}

TEST(WhyNoSamples, WithoutProfilesNoProfilerIsConnected) {
  const ServiceThen then{.service = "gateway", .span_ns = 500 * kMs};
  EXPECT_TRUE(Says(then, "gateway sent no profiles around that time"));
  EXPECT_TRUE(Says(then, "wherefore run --service gateway"));
  EXPECT_FALSE(Says(then, "took"));
  EXPECT_TRUE(Says({.service = "$(reboot)"}, "--service NAME --"));
}

TEST(WhyNoSamples, WithoutLinksTheProfilerDoesNotLinkSpans) {
  const ServiceThen then{
      .service = "db", .span_ns = 500 * kMs, .profiles = 12, .cpu_period_ns = 10 * kMs};
  EXPECT_TRUE(Says(then, "12 profiles"));
  EXPECT_TRUE(Says(then, "does not link spans"));
  EXPECT_FALSE(Says(then, "took"));
}

TEST(WhyNoSamples, WithLinksItWasTooShortOrWaited) {
  ServiceThen then{
      .service = "web", .span_ns = 3 * kMs, .profiles = 12, .links = 9, .cpu_period_ns = 10 * kMs};
  EXPECT_TRUE(Says(then, "took 3 ms, and there is one sample per 10 ms of CPU time: too short"));
  EXPECT_TRUE(Says(then, "wall-clock or off-CPU profiles show waiting"));
  then.span_ns = 800 * kMs;
  EXPECT_TRUE(Says(then, "took 800 ms with one sample per 10 ms of CPU time"));
  EXPECT_TRUE(Says(then, "it waited"));
  then.shows_waiting = true;
  EXPECT_FALSE(Says(then, "only CPU time"));
  then.cpu_period_ns = 0;
  EXPECT_TRUE(Says(then, "took 800 ms and was too short, or waited"));
}

TEST(WhyNoSamples, WhatIsOnItsWayIsNotCalledTooShort) {
  const ServiceThen then{.service = "web",
                         .span_ns = 3 * kMs,
                         .profiles = 12,
                         .links = 9,
                         .cpu_period_ns = 10 * kMs,
                         .arriving = true};
  EXPECT_TRUE(Says(then, "has not arrived yet"));
  EXPECT_FALSE(Says(then, "too short"));
}

TEST(WhyNoSamples, OfAWholeTraceEveryServiceHasItsOwnReason) {
  const std::string text = WhyNoSamples({{.service = "a"}, {.service = "b", .profiles = 1}});
  EXPECT_NE(text.find("a sent no profiles"), std::string::npos);
  EXPECT_NE(text.find("b was profiled"), std::string::npos);
  EXPECT_NE(WhyNoSamples(std::vector<ServiceThen>(7)).find("2 more services"), std::string::npos);
}

}  // namespace
}  // namespace wherefore::query
