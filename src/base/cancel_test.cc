#include "base/cancel.h"

#include <gtest/gtest.h>

namespace wherefore {
namespace {

TEST(CancelToken, RunsCallbacksOnceAndOnlyWhileGuarded) {
  CancelToken token;
  int kept = 0;
  int dropped = 0;
  const auto guard = token.OnCancel([&] { ++kept; });
  {
    const auto gone = token.OnCancel([&] { ++dropped; });
  }
  CancelToken copy;
  copy = token;
  copy.Cancel();
  copy.Cancel();
  EXPECT_TRUE(token.cancelled());
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(dropped, 0);
  int late = 0;
  const auto after = token.OnCancel([&] { ++late; });
  EXPECT_EQ(late, 1);
}

TEST(CancelToken, ADeadlineEndsWorkWithAReason) {
  CancelToken token;
  EXPECT_TRUE(token.Check());
  token.SetDeadline(MonotonicNs() - 1);
  EXPECT_TRUE(token.cancelled());
  EXPECT_EQ(token.Check().error().code(), Code::kLimit);
}

TEST(MemoryClaim, OverTheLimitFailsWithASentenceAndGivesBack) {
  const CancelToken token;
  {
    MemoryClaim unlimited(token);
    EXPECT_TRUE(unlimited.Resize(1u << 30));
  }
  EXPECT_EQ(token.memory_used(), 0);
  token.SetMemoryLimit(1000);
  ASSERT_TRUE(token.Charge(400));
  {
    MemoryClaim claim(token);
    EXPECT_TRUE(claim.Resize(600));
    const auto over = claim.Resize(601);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code(), Code::kLimit);
    EXPECT_NE(over.error().message().find("--query-memory"), std::string::npos);
    EXPECT_EQ(token.memory_used(), 1000) << "what failed is not counted";
    EXPECT_TRUE(claim.Resize(100));
    EXPECT_EQ(token.memory_used(), 500);
  }
  EXPECT_EQ(token.memory_used(), 400);
  {
    MemoryClaim kept(token);
    ASSERT_TRUE(kept.Resize(50));
    kept.Keep();
  }
  EXPECT_EQ(token.memory_used(), 450);
}

TEST(MemoryScope, GivesBackWhatWasChargedInItButNotWhatAClaimOfOutsideHolds) {
  const CancelToken token;
  ASSERT_TRUE(token.Charge(400));
  {
    MemoryClaim outside(token);
    {
      const MemoryScope scope(token);
      ASSERT_TRUE(token.Charge(30));
      ASSERT_TRUE(outside.Resize(200));
    }
    EXPECT_EQ(token.memory_used(), 600);
  }
  EXPECT_EQ(token.memory_used(), 400) << "once, not twice";
}

}  // namespace
}  // namespace wherefore
