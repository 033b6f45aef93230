#include "profile/counters.h"

#include <map>

#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

using Stacks = std::map<std::string, std::int64_t>;

// A profile of alloc_space with these values, one function per stack.
Batch Heap(const Stacks& stacks, std::uint64_t second, const std::string& type = "alloc_space",
           const std::string& instance = "a") {
  Batch batch;
  const auto attribute = [&](const char* key, const std::string& value) {
    batch.own_attributes.push_back(
        {batch.AddText(key), 0, {Value::Kind::kString, batch.AddText(value), 0}});
  };
  attribute("service.name", "shop");
  attribute("instance", instance);
  batch.resources.push_back({.attributes = {0, 2}});
  for (const auto& [name, value] : stacks) {
    const auto n = static_cast<std::uint32_t>(batch.samples.size());
    batch.functions.push_back({.name = batch.AddText(name)});
    batch.lines.push_back({.function = n + 1});
    batch.frames.push_back({.lines = {n, 1}});
    batch.stack_frames.push_back(n + 1);
    batch.stacks.push_back({n, 1});
    batch.values.push_back(value);
    batch.samples.Append(n + 1, {}, 0, value, {}, {n, 1});
  }
  Profile profile{.resource = 1, .name = batch.AddText("memory")};
  profile.sample_type = {batch.AddText(type), batch.AddText("bytes")};
  profile.time_ns = second * 1'000'000'000;
  profile.sample_count = static_cast<std::uint32_t>(stacks.size());
  batch.profiles.push_back(profile);
  return batch;
}

// The remaining values, by function.
Stacks ValuesOf(const Batch& b) {
  EXPECT_TRUE(b.Validate());
  Stacks out;
  for (std::size_t i = 0; i < b.samples.size(); ++i) {
    const Frame& leaf = b.frames[b.StackFrames(b.samples.stack[i])[0]];
    out[std::string(b.Text(b.functions[b.FrameLines(leaf)[0].function].name))] +=
        b.samples.value[i];
  }
  return out;
}

Stacks Next(CounterMemory& bases, Batch batch, FirstReading first = FirstReading::kCountsWhole) {
  (void)bases.Convert(batch, 0, first);
  return ValuesOf(batch);
}

TEST(Counters, DifferencesAddUpToTheCounter) {
  CounterMemory c;
  EXPECT_EQ(Next(c, Heap({{"a", 100}, {"b", 10}}, 1)), (Stacks{{"a", 100}, {"b", 10}}));
  EXPECT_EQ(Next(c, Heap({{"a", 150}, {"b", 10}}, 2)), (Stacks{{"a", 50}}));
  EXPECT_EQ(Next(c, Heap({{"a", 150}, {"b", 10}}, 3)), (Stacks{}));
  EXPECT_EQ(Next(c, Heap({{"a", 151}, {"b", 12}, {"n", 7}}, 100)),
            (Stacks{{"a", 1}, {"b", 2}, {"n", 7}}));
}

TEST(Counters, TheFirstOneMaySetTheBaseOnly) {
  CounterMemory c;
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 1), FirstReading::kSetsBase), (Stacks{}));
  EXPECT_EQ(Next(c, Heap({{"a", 130}}, 2), FirstReading::kSetsBase), (Stacks{{"a", 30}}));
}

TEST(Counters, ARestartCountsFromZero) {
  CounterMemory c;
  Next(c, Heap({{"a", 100}, {"b", 900}}, 1));
  EXPECT_EQ(Next(c, Heap({{"a", 20}, {"b", 30}}, 2)), (Stacks{{"a", 20}, {"b", 30}}));
  EXPECT_EQ(Next(c, Heap({{"a", 25}, {"b", 30}}, 3)), (Stacks{{"a", 5}}));
}

TEST(Counters, ARestartIsSeenAlsoWhenTheTotalGrew) {
  CounterMemory c;
  Next(c, Heap({{"a", 100}}, 1));
  EXPECT_EQ(Next(c, Heap({{"z", 500}}, 2)), (Stacks{{"z", 500}}));
}

TEST(Counters, AnEstimateTakenBackIsNotNegativeAndNotCountedTwice) {
  CounterMemory c;
  Next(c, Heap({{"a", 1000}, {"b", 50}}, 1));
  EXPECT_EQ(Next(c, Heap({{"a", 1000}, {"b", 45}}, 2)), (Stacks{}));
  EXPECT_EQ(Next(c, Heap({{"a", 1000}, {"b", 60}}, 3)), (Stacks{{"b", 10}}));
}

TEST(Counters, AGapIsOneLongInterval) {
  CounterMemory c;
  Next(c, Heap({{"a", 1}}, 100));
  auto later = Heap({{"a", 5}}, 4000);
  (void)c.Convert(later, 0, FirstReading::kCountsWhole);
  EXPECT_EQ(later.profiles[0].duration_ns, 3900'000'000'000U);
  EXPECT_EQ(later.profiles[0].time_ns, 4000'000'000'000U);
}

TEST(Counters, SeriesAndTypesAndTenantsAreApart) {
  CounterMemory c;
  Next(c, Heap({{"a", 100}}, 1));
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 1, "alloc_space", "b")), (Stacks{{"a", 100}}));
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 1, "alloc_objects")), (Stacks{{"a", 100}}));
  auto other = Heap({{"a", 100}}, 1);
  (void)c.Convert(other, 7, FirstReading::kCountsWhole);
  EXPECT_EQ(ValuesOf(other), (Stacks{{"a", 100}}));
}

TEST(Counters, SnapshotsStayAsTheyAre) {
  CounterMemory c;
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 1, "inuse_space")), (Stacks{{"a", 100}}));
  EXPECT_EQ(Next(c, Heap({{"a", 100}}, 2, "inuse_space")), (Stacks{{"a", 100}}));
}

TEST(Counters, AnOlderProfileIsLeftOutWithAReason) {
  CounterMemory c;
  Next(c, Heap({{"a", 100}}, 10));
  auto old = Heap({{"a", 50}}, 9);
  const CounterDifferences differences = c.Convert(old, 0, FirstReading::kCountsWhole);
  EXPECT_TRUE(old.profiles.empty());
  EXPECT_EQ(differences.rejected, 1U);
  EXPECT_NE(differences.message.find("older"), std::string::npos);
}

TEST(Counters, AClockThatIsSetBackDoesNotStopTheCounter) {
  CounterMemory c;
  Next(c, Heap({{"a", 100}}, 1000));
  EXPECT_EQ(Next(c, Heap({{"a", 120}}, 400)), (Stacks{{"a", 20}}));
  EXPECT_EQ(Next(c, Heap({{"a", 130}}, 410)), (Stacks{{"a", 10}}));
}

TEST(Counters, ARestartWithTheClockSetBackIsSeenWithTheSecondProfile) {
  CounterMemory c;
  Next(c, Heap({{"a", 1000}}, 1000));
  EXPECT_EQ(Next(c, Heap({{"a", 5}}, 400)), (Stacks{}));
  EXPECT_EQ(Next(c, Heap({{"a", 10}}, 410)), (Stacks{{"a", 10}}));
  EXPECT_EQ(Next(c, Heap({{"a", 15}}, 420)), (Stacks{{"a", 5}}));
}

TEST(Counters, MovesLeadToTheSameBaseFromAnywhereBeforeThem) {
  CounterBase base;
  std::vector<CounterBase> states{base};
  std::vector<CounterMove> moves;
  const std::vector<Stacks> readings = {{{"a", 10}, {"b", 5}},
                                        {{"a", 12}, {"b", 5}},
                                        {{"a", 1}},
                                        {{"a", 1}, {"c", 7}},
                                        {{"a", 4}, {"c", 7}}};
  for (std::size_t i = 0; i < readings.size(); ++i) {
    Batch batch = Heap(readings[i], 10 + i);
    auto taken = TakeDifferences(batch, CounterReadings(batch, 0), FirstReading::kCountsWhole,
                                 [&](const Hash128&) -> CounterBase& { return base; });
    ASSERT_EQ(taken.moves.size(), 1u);
    moves.push_back(std::move(taken.moves[0]));
    states.push_back(base);
  }
  EXPECT_TRUE(moves[2].restarted);
  for (std::size_t from = 0; from < states.size(); ++from) {
    for (std::size_t first = 0; first <= std::min(from, moves.size() - 1); ++first) {
      CounterBase again = states[from];
      for (std::size_t i = first; i < moves.size(); ++i) Apply(moves[i], again);
      EXPECT_EQ(again.values, base.values) << from << " " << first;
      EXPECT_EQ(again.time_ns, base.time_ns);
    }
  }
}

}  // namespace
}  // namespace wherefore::profile
