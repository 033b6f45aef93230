// Cumulative profiles through the store: the base moves with the commit that used it, or not at
// all.
#include "journal/counter_bases.h"

#include <thread>

#include "store/test_store.h"

namespace wherefore::store {
namespace {

class CountersInStore : public StoreTest {
 protected:
  // A reading of a counter that says `value`.
  profile::WriteRequest Reading(std::int64_t value, const std::string& identity, int series = 0,
                                std::int64_t second = 0) {
    BatchBuilder batch;
    batch.Add({.resource = {{"instance", std::to_string(series)}},
               .time_ns = now_ - 1'000'000'000'000 + second * 1'000'000'000,
               .duration_ns = 0,
               .type = "alloc_space",
               .unit = "bytes"},
              {{{"Allocate", "main"}, value}});
    auto request = batch.Request(identity);
    request.counters = profile::FirstReading::kCountsWhole;
    return request;
  }
  std::int64_t Total() {
    EXPECT_TRUE(store_->Flush());
    return StackTotals(*store_, "shop")["main;Allocate"];
  }
};

TEST_F(CountersInStore, TwoIdenticalRequestsAtOnceCountOnce) {
  constexpr int kSeries = 30;
  for (int i = 0; i < kSeries; ++i) Write(Reading(100, "first " + std::to_string(i), i));
  for (int i = 0; i < kSeries; ++i) {
    std::thread other([&] { Write(Reading(130, "second " + std::to_string(i), i, 1)); });
    Write(Reading(130, "second " + std::to_string(i), i, 1));
    other.join();
  }
  EXPECT_EQ(Total(), kSeries * 130);
}

TEST_F(CountersInStore, ARetryAfterARestartCountsNothingAndLosesNothing) {
  Write(Reading(100, "first"));
  Write(Reading(130, "second", 0, 1));
  Open();
  EXPECT_TRUE(Write(Reading(130, "second", 0, 1)).repeated);
  Write(Reading(150, "third", 0, 2));
  EXPECT_EQ(Total(), 150);
}

TEST_F(CountersInStore, WhatIsRefusedCountsWithTheNextOne) {
  Write(Reading(100, "first"));
  const std::int64_t far = 1'000'000;  // beyond the hour that clocks may be ahead
  EXPECT_EQ(Write(Reading(130, "second", 0, far)).rejected, 1u);
  Write(Reading(150, "third", 0, 2));
  EXPECT_EQ(Total(), 150);
  Open();
  Write(Reading(151, "fourth", 0, 3));
  EXPECT_EQ(Total(), 151);
}

TEST_F(CountersInStore, ALateOneSentTwiceIsLeftOutTwice) {
  Write(Reading(100, "first", 0, 10));
  EXPECT_EQ(Write(Reading(20, "late", 0, 5)).rejected, 1u);
  const auto again = Write(Reading(20, "late", 0, 5));
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.rejected, 1u);
  EXPECT_EQ(Total(), 100);
}

TEST_F(CountersInStore, ManySeriesDoNotStayInMemory) {
  const TestDirectory directory;
  journal::CounterFiles files(directory / "bases");
  journal::CounterBases bases(files);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    bases.Change({i, i}, i).values = {{1, 10}, {2, 20}};
    bases.Keep();
  }
  // Only what is in the engine may go: the rest is nowhere else.
  bases.Trim(10, 0);
  EXPECT_EQ(bases.Change({10, 10}, 21).values.size(), 0u);
  EXPECT_EQ(bases.Change({11, 11}, 21).values.size(), 2u);
}

TEST(CounterBases, SomeSeriesArePutBackAndThenAll) {
  const TestDirectory directory;
  const journal::CounterFiles files(directory / "bases");
  journal::CounterBases bases(files);
  const Hash128 one{1, 1};
  const Hash128 two{2, 2};
  const auto change = [&](const Hash128& series, std::uint64_t time_ns) {
    profile::CounterBase& base = bases.Change(series, 1);
    const std::uint64_t was = base.time_ns;
    base.time_ns = time_ns;
    return was;
  };
  change(one, 10);
  const std::size_t mark = bases.Mark();
  change(one, 20);
  change(two, 21);
  change(one, 30);
  bases.PutBack(mark, {one});
  EXPECT_EQ(change(one, 40), 10u) << "as it was at the mark, not at its last change";
  EXPECT_EQ(change(two, 41), 21u);
  bases.PutBack(0);
  EXPECT_EQ(change(one, 50), 0u);
  EXPECT_EQ(change(two, 51), 0u);
}

TEST(CounterFiles, AreOldOrNewAndMovesMayComeTwice) {
  const TestDirectory directory;
  const Hash128 series{3, 4};
  const profile::CounterMove first{.series = series, .time_ns = 5, .values = {{1, 10}, {7, 2}}};
  const profile::CounterMove second{.series = series, .time_ns = 6, .values = {{1, 12}}};
  journal::CounterFiles files(directory / "bases");
  ASSERT_TRUE(files.Write({{first}}));
  EXPECT_EQ(files.Load(series).time_ns, 0u) << "not before it is published";
  ASSERT_TRUE(files.Publish());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(files.Write({{first, second}}));
    ASSERT_TRUE(files.Publish());
    const profile::CounterBase base = journal::CounterFiles(directory / "bases").Load(series);
    EXPECT_EQ(base.time_ns, 6u);
    EXPECT_EQ(base.values, (profile::CounterValues{{1, 12}, {7, 2}}));
  }
  std::filesystem::resize_file(directory / "bases/00000000000000040000000000000003", 30);
  EXPECT_EQ(files.Load(series).time_ns, 0u) << "a damaged one was never seen";
}

TEST(CounterMoves, AnyCutIsNoticed) {
  std::string bytes;
  journal::AppendMoves(bytes,
                       {{{.series = {1, 2}, .time_ns = 3, .restarted = true, .values = {{4, 5}}},
                         {.series = {6, 7}, .time_ns = 8, .values = {}}}});
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    std::string_view in = std::string_view(bytes).substr(0, size);
    std::vector<profile::CounterMove> moves;
    EXPECT_EQ(journal::TakeMoves(in, moves), size == bytes.size()) << size;
  }
  std::string_view in = bytes;
  std::vector<profile::CounterMove> moves;
  ASSERT_TRUE(journal::TakeMoves(in, moves));
  EXPECT_TRUE(moves[0].restarted);
  EXPECT_EQ(moves[0].values, (profile::CounterValues{{4, 5}}));
  EXPECT_EQ(moves[1].time_ns, 8u);
}

}  // namespace
}  // namespace wherefore::store
