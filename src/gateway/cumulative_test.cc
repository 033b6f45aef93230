#include "gateway/cumulative.h"

#include <unistd.h>

#include <filesystem>
#include <map>

#include <gtest/gtest.h>

#include "formats/stack_batch.h"

namespace wherefore::gateway {
namespace {

using Stacks = std::map<std::string, std::int64_t>;

// A profile of alloc_space with these values.
formats::DecodedProfiles Heap(const Stacks& stacks, std::uint64_t second,
                              const std::string& type = "alloc_space",
                              const std::string& instance = "a") {
  auto names = std::make_shared<std::string>();
  for (const auto& [stack, value] : stacks) *names += stack;
  formats::StackBatch batch(names);
  std::size_t at = 0;
  for (const auto& [stack, value] : stacks) {
    batch.AddFolded(std::string_view(*names).substr(at, stack.size()), value);
    at += stack.size();
  }
  return *batch.Finish({.service = "shop",
                        .labels = {{"instance", instance}},
                        .name = "memory",
                        .type = type,
                        .unit = "bytes",
                        .time_ns = second * 1'000'000'000});
}

// What is left, by leaf.
Stacks ValuesOf(const formats::DecodedProfiles& decoded) {
  EXPECT_TRUE(decoded.data.Validate());
  Stacks out;
  const profile::Batch& b = decoded.data;
  for (std::size_t i = 0; i < b.samples.size(); ++i) {
    const profile::Frame& leaf = b.frames[b.StackFrames(b.samples.stack[i])[0]];
    out[std::string(b.Text(b.functions[b.FrameLines(leaf)[0].function].name))] +=
        b.samples.value[i];
  }
  return out;
}

Stacks Next(Cumulative& cumulative, formats::DecodedProfiles decoded,
            Cumulative::First first = Cumulative::First::kCountsWhole) {
  (void)cumulative.Convert(decoded, 0, first);
  return ValuesOf(decoded);
}

TEST(Cumulative, DifferencesAddUpToTheCounter) {
  Cumulative c({});
  EXPECT_EQ(Next(c, Heap({{"a", 100}, {"b", 10}}, 1)), (Stacks{{"a", 100}, {"b", 10}}));
  EXPECT_EQ(Next(c, Heap({{"a", 150}, {"b", 10}}, 2)), (Stacks{{"a", 50}}));
  EXPECT_EQ(Next(c, Heap({{"a", 150}, {"b", 10}}, 3)), (Stacks{}));
  EXPECT_EQ(Next(c, Heap({{"a", 151}, {"b", 12}, {"n", 7}}, 100)),
            (Stacks{{"a", 1}, {"b", 2}, {"n", 7}}));
}

TEST(Cumulative, TheFirstOneMaySetTheBaseOnly) {
  Cumulative c({});
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 1), Cumulative::First::kSetsBase), (Stacks{}));
  EXPECT_EQ(Next(c, Heap({{"a", 130}}, 2), Cumulative::First::kSetsBase), (Stacks{{"a", 30}}));
}

TEST(Cumulative, ARestartCountsFromZero) {
  Cumulative c({});
  Next(c, Heap({{"a", 100}, {"b", 900}}, 1));
  EXPECT_EQ(Next(c, Heap({{"a", 20}, {"b", 30}}, 2)), (Stacks{{"a", 20}, {"b", 30}}));
  EXPECT_EQ(Next(c, Heap({{"a", 25}, {"b", 30}}, 3)), (Stacks{{"a", 5}}));
}

TEST(Cumulative, ARestartIsSeenAlsoWhenTheTotalGrew) {
  Cumulative c({});
  Next(c, Heap({{"a", 100}}, 1));
  EXPECT_EQ(Next(c, Heap({{"z", 500}}, 2)), (Stacks{{"z", 500}}));
}

TEST(Cumulative, AnEstimateTakenBackIsNotNegativeAndNotCountedTwice) {
  Cumulative c({});
  Next(c, Heap({{"a", 1000}, {"b", 50}}, 1));
  EXPECT_EQ(Next(c, Heap({{"a", 1000}, {"b", 45}}, 2)), (Stacks{}));
  EXPECT_EQ(Next(c, Heap({{"a", 1000}, {"b", 60}}, 3)), (Stacks{{"b", 10}}));
}

TEST(Cumulative, AGapIsOneLongInterval) {
  Cumulative c({});
  Next(c, Heap({{"a", 1}}, 100));
  auto later = Heap({{"a", 5}}, 4000);
  (void)c.Convert(later, 0, Cumulative::First::kCountsWhole);
  EXPECT_EQ(later.data.profiles[0].duration_ns, 3900'000'000'000U);
  EXPECT_EQ(later.data.profiles[0].time_ns, 4000'000'000'000U);
}

TEST(Cumulative, SeriesAndTypesAndTenantsAreApart) {
  Cumulative c({});
  Next(c, Heap({{"a", 100}}, 1));
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 1, "alloc_space", "b")), (Stacks{{"a", 100}}));
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 1, "alloc_objects")), (Stacks{{"a", 100}}));
  auto other = Heap({{"a", 100}}, 1);
  (void)c.Convert(other, 7, Cumulative::First::kCountsWhole);
  EXPECT_EQ(ValuesOf(other), (Stacks{{"a", 100}}));
}

TEST(Cumulative, SnapshotsStayAsTheyAre) {
  Cumulative c({});
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 1, "inuse_space")), (Stacks{{"a", 100}}));
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 2, "inuse_space")), (Stacks{{"a", 100}}));
}

TEST(Cumulative, AnOlderProfileIsLeftOutWithAReason) {
  Cumulative c({});
  Next(c, Heap({{"a", 100}}, 10));
  auto old = Heap({{"a", 50}}, 9);
  (void)c.Convert(old, 0, Cumulative::First::kCountsWhole);
  EXPECT_TRUE(old.data.profiles.empty());
  EXPECT_EQ(old.rejected, 1U);
  EXPECT_NE(old.message.find("older"), std::string::npos);
}

TEST(Cumulative, AClockThatIsSetBackDoesNotStopTheCounter) {
  Cumulative c({});
  Next(c, Heap({{"a", 100}}, 1000));
  EXPECT_EQ(Next(c, Heap({{"a", 120}}, 400)), (Stacks{{"a", 20}}));
  EXPECT_EQ(Next(c, Heap({{"a", 130}}, 410)), (Stacks{{"a", 10}}));
}

TEST(Cumulative, ARestartWithTheClockSetBackIsSeenWithTheSecondProfile) {
  Cumulative c({});
  Next(c, Heap({{"a", 1000}}, 1000));
  EXPECT_EQ(Next(c, Heap({{"a", 5}}, 400)), (Stacks{}));
  EXPECT_EQ(Next(c, Heap({{"a", 10}}, 410)), (Stacks{{"a", 10}}));
  EXPECT_EQ(Next(c, Heap({{"a", 15}}, 420)), (Stacks{{"a", 5}}));
}

TEST(Cumulative, WhatWasNotStoredIsCountedNextTime) {
  Cumulative c({});
  Next(c, Heap({{"a", 100}}, 1));
  auto lost = Heap({{"a", 130}}, 2);
  const auto taken = c.Convert(lost, 0, Cumulative::First::kCountsWhole);
  c.GiveBack(taken);
  EXPECT_EQ(Next(c, Heap({{"a", 140}}, 3)), (Stacks{{"a", 40}}));
  auto far = Heap({{"a", 150}}, 1'000'000);
  c.GiveBack(c.Convert(far, 0, Cumulative::First::kCountsWhole));
  auto next = Heap({{"a", 150}}, 4);
  (void)c.Convert(next, 0, Cumulative::First::kCountsWhole);
  EXPECT_EQ(ValuesOf(next), (Stacks{{"a", 10}}));
  EXPECT_EQ(next.data.profiles[0].duration_ns, 1'000'000'000U) << "the time is given back too";
}

TEST(Cumulative, ValuesOutliveTheProcessAndMemoryIsBounded) {
  const std::string directory =
      (std::filesystem::temp_directory_path() / ("cumulative_test." + std::to_string(getpid())))
          .string();
  {
    Cumulative c({.directory = directory, .max_bytes = 40});
    for (int i = 0; i < 10; ++i) {
      Next(c, Heap({{"a", 100}, {"b", 1}}, 1, "alloc_space", std::to_string(i)));
    }
    EXPECT_EQ(Next(c, Heap({{"a", 101}, {"b", 1}}, 2, "alloc_space", "0")), (Stacks{{"a", 1}}))
        << "read back after it had to leave memory";
  }
  {
    Cumulative c({.directory = directory});
    EXPECT_EQ(Next(c, Heap({{"a", 103}, {"b", 1}}, 3, "alloc_space", "0")), (Stacks{{"a", 2}}));
    EXPECT_EQ(Next(c, Heap({{"a", 104}, {"b", 1}}, 3, "alloc_space", "9")), (Stacks{{"a", 4}}));
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace wherefore::gateway
