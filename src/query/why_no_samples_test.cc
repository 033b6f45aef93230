#include "query/why_no_samples.h"

#include <gtest/gtest.h>

namespace wherefore::query {
namespace {

constexpr std::int64_t kMs = 1'000'000;

bool Says(const ServiceActivity& activity, std::string_view text) {
  return WhyNoSamples(activity).find(text) != std::string::npos;
}

TEST(WhyNoSamples, WithoutProfilesNoProfilerIsConnected) {
  const ServiceActivity activity{.service = "gateway", .span_ns = 500 * kMs};
  EXPECT_TRUE(Says(activity, "gateway sent no profiles around that time"));
  EXPECT_TRUE(Says(activity, "wherefore run --service gateway"));
  EXPECT_FALSE(Says(activity, "took"));
  EXPECT_TRUE(Says({.service = "$(reboot)"}, "--service NAME --"));
}

TEST(WhyNoSamples, WithoutLinksTheProfilerDoesNotLinkSpans) {
  const ServiceActivity activity{
      .service = "db", .span_ns = 500 * kMs, .profiles = 12, .cpu_period_ns = 10 * kMs};
  EXPECT_TRUE(Says(activity, "12 profiles"));
  EXPECT_TRUE(Says(activity, "does not link spans"));
  EXPECT_FALSE(Says(activity, "took"));
}

TEST(WhyNoSamples, LinksThatWereLeftOut) {
  ServiceActivity activity{.service = "db", .profiles = 12, .links = 3, .reduced = "conditional"};
  EXPECT_TRUE(Says(activity, "profiling.conditional"));
  EXPECT_FALSE(Says(activity, "does not link spans"));
  activity.reduced = "shed";
  EXPECT_TRUE(Says(activity, "profiling.load_shedding"));
}

TEST(WhyNoSamples, WithLinksItWasTooShortOrWaited) {
  ServiceActivity activity{
      .service = "web", .span_ns = 3 * kMs, .profiles = 12, .links = 9, .cpu_period_ns = 10 * kMs};
  EXPECT_TRUE(
      Says(activity, "took 3 ms, and there is one sample per 10 ms of CPU time: too short"));
  EXPECT_TRUE(Says(activity, "wall-clock or off-CPU profiles show waiting"));
  activity.span_ns = 800 * kMs;
  EXPECT_TRUE(Says(activity, "took 800 ms with one sample per 10 ms of CPU time"));
  EXPECT_TRUE(Says(activity, "it waited"));
  activity.shows_waiting = true;
  EXPECT_FALSE(Says(activity, "only CPU time"));
  activity.cpu_period_ns = 0;
  EXPECT_TRUE(Says(activity, "took 800 ms and was too short, or waited"));
}

TEST(WhyNoSamples, WhatIsOnItsWayIsNotCalledTooShort) {
  const ServiceActivity activity{.service = "web",
                                 .span_ns = 3 * kMs,
                                 .profiles = 12,
                                 .links = 9,
                                 .cpu_period_ns = 10 * kMs,
                                 .arriving = true};
  EXPECT_TRUE(Says(activity, "has not arrived yet"));
  EXPECT_FALSE(Says(activity, "too short"));
}

TEST(WhyNoSamples, OfAWholeTraceEveryServiceHasItsOwnReason) {
  const std::string text = WhyNoSamples({{.service = "a"}, {.service = "b", .profiles = 1}});
  EXPECT_NE(text.find("a sent no profiles"), std::string::npos);
  EXPECT_NE(text.find("b was profiled"), std::string::npos);
  EXPECT_NE(WhyNoSamples(std::vector<ServiceActivity>(7)).find("2 more services"),
            std::string::npos);
}

}  // namespace
}  // namespace wherefore::query
