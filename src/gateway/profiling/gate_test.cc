// Where profiles enter: services that are off, and what is shed under injected pressure.
#include "gateway/profiling/gate.h"

#include <atomic>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "gateway/process/test_requests.h"
#include "gateway/test_sink.h"
#include "profile/observations.h"

namespace wherefore::gateway {
namespace {

class GateTest : public testing::Test {
 protected:
  GateTest() {
    settings_.load_shedding = ProfilingLoadShedding{.cpu = 0.9};
    profiling_.Apply(settings_);
  }
  // So many seconds of that use of the machine.
  void Spend(int seconds, double cpu) {
    cpu_ = cpu;
    for (int i = 0; i < seconds; ++i) profiling_.load().Look(now_ += kNsPerSecond);
  }
  static profile::WriteRequest Linked() {
    profile::Batch batch;
    const profile::Id resource = AddResource(batch, "shop");
    AddProfile(batch, resource, "f", "user", "a");
    batch.links.push_back({{1}, {2}});
    batch.samples.link[0] = 1;
    return RequestOf(std::move(batch));
  }
  Result<profile::WriteAnswer> Send(profile::WriteRequest request) {
    std::optional<Result<profile::WriteAnswer>> answer;
    gate_.Write(std::move(request), [&](Result<profile::WriteAnswer> a) { answer = std::move(a); });
    EXPECT_TRUE(answer);
    return answer.value_or(Error(Code::kInternal, "no answer"));
  }

  std::int64_t now_ = MonotonicNs();
  std::atomic<double> cpu_ = 0;
  ProfilingSettings settings_;
  Profiling profiling_{Profiling::Options{.load = [this] { return LoadReading{.cpu = cpu_}; }}};
  FakeSink next_;
  ProfilingGate gate_{profiling_, settings_, nullptr, &next_};
};

TEST_F(GateTest, ServicesThatAreOffAreLeftOut) {
  ASSERT_TRUE(profiling_.control().Set("", "shop", {.enabled = false}));
  ASSERT_TRUE(Send(Linked()));
  EXPECT_TRUE(next_.Take().empty());
  profile::Batch both;
  AddProfile(both, AddResource(both, "shop"), "secret_of_shop");
  AddProfile(both, AddResource(both, "cart"), "g");
  ASSERT_TRUE(Send(RequestOf(std::move(both))));
  const auto got = next_.Take();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(ProfilesOf(got[0]).profiles.size(), 1u);
  EXPECT_EQ(ProfilesOf(got[0]).samples.size(), 1u);
  EXPECT_FALSE(got[0].otlp_bytes) << "no longer what the sender said";
  EXPECT_FALSE(Mentions(got[0], "secret_of_shop"));
}

// The watch's own thread looks as well, by the real clock, so levels may rise a look early.
TEST_F(GateTest, DetailFirstThenProfilesAndBack) {
  ASSERT_TRUE(Send(Linked()));
  EXPECT_EQ(ProfilesOf(next_.Take()[0]).samples.link[0], 1u);
  while (profiling_.level() < 1) Spend(1, 0.95);
  ASSERT_TRUE(Send(Linked()));
  const auto shed = next_.Take();
  const profile::Batch& batch = ProfilesOf(shed.at(0));
  EXPECT_EQ(batch.samples.link[0], 0u);
  EXPECT_EQ(batch.samples.value[0], 1);
  EXPECT_TRUE(Mentions(shed[0], "shed"));
  EXPECT_TRUE(Mentions(shed[0], "user")) << "labels stay";
  while (profiling_.level() < 2) Spend(1, 0.95);
  const auto refused = Send(Linked());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kLimit) << "429: come again";
  for (int i = 0; i < 100 && profiling_.level() > 0; ++i) Spend(1, 0.5);
  EXPECT_EQ(profiling_.level(), 0) << "recovers alone";
  ASSERT_TRUE(Send(Linked()));
  EXPECT_EQ(ProfilesOf(next_.Take()[0]).samples.link[0], 1u);
}

}  // namespace
}  // namespace wherefore::gateway
