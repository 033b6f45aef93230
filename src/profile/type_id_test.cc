#include "profile/type_id.h"

#include <gtest/gtest.h>

#include "profile/observations.h"

namespace wherefore::profile {
namespace {

Profile MakeProfile(Batch& b, const char* type, const char* unit, const char* period_type,
                    const char* period_unit, std::int64_t period,
                    std::vector<std::int64_t> values) {
  Profile p;
  p.sample_type = {b.AddText(type), b.AddText(unit)};
  p.period_type = {b.AddText(period_type), b.AddText(period_unit)};
  p.period = period;
  p.first_sample = static_cast<std::uint32_t>(b.samples.size());
  p.sample_count = static_cast<std::uint32_t>(values.size());
  for (const std::int64_t v : values) b.samples.Append(0, {}, 0, v, {}, {});
  return p;
}

TEST(ProfileType, CountsWithACpuPeriodStandForCpu) {
  Batch b;
  const Profile p = MakeProfile(b, "samples", "count", "cpu", "nanoseconds", 50'000'000, {3});
  const ProfileType t = TypeOf(b, p);
  EXPECT_EQ(t.Id(), "process_cpu:samples:count:cpu:nanoseconds");
  EXPECT_EQ(t.count_rule, CountRule::kValue);
  EXPECT_EQ(MatchType(t, "cpu")->multiplier, 50'000'000);
  EXPECT_EQ(MatchType(t, "cpu")->unit, "nanoseconds");
  EXPECT_EQ(MatchType(t, "samples")->multiplier, 1);
  EXPECT_FALSE(MatchType(t, "wall"));
}

TEST(ProfileType, CountsBesideACpuSiblingDoNot) {
  Batch b;
  Profile p = MakeProfile(b, "samples", "count", "cpu", "nanoseconds", 10'000'000, {3});
  p.has_cpu_sibling = true;
  EXPECT_FALSE(MatchType(TypeOf(b, p), "cpu"));
}

TEST(ProfileType, ObservationsFollowFromTheValueOnlyWhenExact) {
  Batch b;
  const Profile even = MakeProfile(b, "cpu", "nanoseconds", "cpu", "nanoseconds", 10, {30, 10});
  EXPECT_EQ(TypeOf(b, even).count_rule, CountRule::kValuePerPeriod);
  const Profile odd = MakeProfile(b, "cpu", "nanoseconds", "cpu", "nanoseconds", 10, {35, 10});
  EXPECT_EQ(TypeOf(b, odd).count_rule, CountRule::kStored);
  EXPECT_NE(TypeOf(b, even).Hash(), TypeOf(b, odd).Hash());
  const Profile heap = MakeProfile(b, "inuse_space", "bytes", "space", "bytes", 524288, {100});
  EXPECT_EQ(TypeOf(b, heap).count_rule, CountRule::kStored);
  EXPECT_EQ(Observations(b, heap, heap.first_sample), 1);
}

TEST(ProfileType, ShortNamesCoverTheirIds) {
  Batch b;
  const ProfileType heap =
      TypeOf(b, MakeProfile(b, "inuse_space", "bytes", "space", "bytes", 1, {}));
  EXPECT_EQ(heap.Id(), "memory:inuse_space:bytes:space:bytes");
  EXPECT_EQ(ShortName(heap), "inuse_space");
  EXPECT_TRUE(IsSnapshot(heap));
  const ProfileType mutex =
      TypeOf(b, MakeProfile(b, "delay", "nanoseconds", "contentions", "count", 1, {}));
  EXPECT_EQ(ShortName(mutex), "mutex");
  EXPECT_TRUE(MatchType(mutex, "mutex:delay:nanoseconds:contentions:count"));
  const ProfileType custom = TypeOf(b, MakeProfile(b, "exceptions", "count", "", "", 0, {1}));
  EXPECT_TRUE(MatchType(custom, "exceptions"));
  EXPECT_EQ(ShortName(custom), custom.Id());
}

}  // namespace
}  // namespace wherefore::profile
