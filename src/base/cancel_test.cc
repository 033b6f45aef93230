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
  const CancelToken copy = token;
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

}  // namespace
}  // namespace wherefore
