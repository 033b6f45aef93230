#include "store/engine/schema.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/text.h"

namespace wherefore::store {
namespace {

std::int64_t At(std::string_view text) {
  return *ParseTime(text, 0);
}

TEST(Bucket, IsTheDayForSixtyDaysThenTheMonth) {
  const std::int64_t now = At("2026-11-15T12:00:00Z");
  EXPECT_EQ(BucketOf(now, now), 20261115u);
  EXPECT_EQ(BucketOf(At("2026-11-14T23:59:59Z"), now), 20261114u);
  EXPECT_EQ(BucketOf(now - 60 * kNsPerDay, now), 20260916u);
  EXPECT_EQ(BucketOf(now - 60 * kNsPerDay - 1, now), 202609u);
  EXPECT_EQ(BucketOf(At("2000-01-01"), now), 200001u);
}

TEST(Bucket, SpanCoversTheDayOrTheMonth) {
  EXPECT_EQ(SpanOf(20261115).from_ns, At("2026-11-15"));
  EXPECT_EQ(SpanOf(20261115).to_ns, At("2026-11-16"));
  EXPECT_EQ(SpanOf(202612).from_ns, At("2026-12-01"));
  EXPECT_EQ(SpanOf(202612).to_ns, At("2027-01-01"));
}

TEST(Bucket, ConditionLooksOneDayFurtherBackAndAtMonths) {
  EXPECT_EQ(
      BucketCondition(At("2026-11-01T05:00:00Z"), At("2026-11-15T05:00:00Z")),
      "((bucket >= 20261031 AND bucket <= 20261115) OR (bucket >= 202610 AND bucket <= 202611))");
}

}  // namespace
}  // namespace wherefore::store
