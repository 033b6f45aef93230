// Questions over as many services as anybody has: conditions stay lists, never chains of
// expressions, which the engine does not take at any length; and long lists are texts, which take
// little of the memory a question may have.
#include "store/test_batch.h"
#include "store/test_store.h"

namespace wherefore::store {
namespace {

constexpr std::uint32_t kServices = 100'000;

class ManyServices : public StoreTest {
 protected:
  ManyServices() { options_.query_memory_bytes = 256 << 20; }
  // One real service, last of many that nobody has heard of.
  [[nodiscard]] SampleQuery AllOfThem() {
    Write(BatchBuilder()
              .Add({.service = "real", .time_ns = now_},
                   {{.stack = {"f", "main"}, .value = 5},
                    {.stack = {"g", "main"}, .value = 2, .attributes = {{"a", "b"}}}})
              .Request("real"));
    Flush();
    SampleQuery query = StoreTest::Everything("real");
    query.range = {now_ - 1'000'000'000, now_ + 1'000'000'000};
    EXPECT_EQ(query.selections.size(), 1u);
    const DictionaryKey real = query.selections.at(0).dictionary;
    query.selections.clear();
    for (std::uint32_t i = 1; i < kServices; ++i) {
      DictionaryKey other = real;
      other.service = real.service + i;
      query.selections.push_back({.dictionary = other});
    }
    query.selections.push_back({.dictionary = real});
    return query;
  }
  static std::int64_t Total(const Result<std::vector<StackSum>>& sums) {
    EXPECT_TRUE(sums) << sums.error().message().substr(0, 300);
    std::int64_t total = 0;
    if (!sums) return total;
    for (const StackSum& sum : *sums) {
      EXPECT_EQ(sum.dictionary, kServices - 1);
      total += sum.value;
    }
    return total;
  }
};

TEST_F(ManyServices, AreAskedForWhole) {
  const SampleQuery query = AllOfThem();
  Reader& reader = store_->reader();
  EXPECT_EQ(Total(reader.SumStacks(query, {})), 7);
  EXPECT_EQ(reader.SumStacksBySeries(query, {})->size(), 2u);
  EXPECT_EQ(reader.Timeline(query, {.width_ns = 1'000'000'000}, false, {})->size(), 1u);
  EXPECT_EQ(reader.Timeline(query, {.width_ns = 1'000'000'000}, true, {})->size(), 2u);
  EXPECT_EQ(reader.Timeline(query, {.width_ns = 1'000'000'000, .spread = true}, false, {})->size(),
            2u);
  EXPECT_EQ(reader.Coverage(query, Reader::CoverBy::kType, {})->size(), 1u);
  EXPECT_EQ(reader.SumProfiles(query, false, {})->size(), 1u);
  EXPECT_EQ(reader.Profiles(query, 10, {})->size(), 1u);
  std::vector<DictionaryKey> keys;
  for (const SeriesSelection& one : query.selections) keys.push_back(one.dictionary);
  EXPECT_EQ(reader.Types(keys, {})->size(), 1u);
  EXPECT_EQ(reader.SeriesOf(keys, Reader::SeriesParts::kLabels, {})
                ->at(query.selections.back().dictionary)
                .size(),
            2u);
  EXPECT_EQ(reader.Seen(query, Reader::SeenAs::kTogether, {})->size(), 1u);
  const auto sizes = reader.FramesOf(keys, {});
  EXPECT_EQ(sizes->size(), 1u);
  EXPECT_EQ(sizes->at(keys.back()), 6u) << "two stacks of two frames";
  // All at once they are what each is by itself.
  const auto names = reader.Dictionaries(keys, {});
  ASSERT_TRUE(names) << names.error().message();
  ASSERT_EQ(names->size(), 1u);
  const DictionaryRows& together = names->at(keys.back());
  const auto alone = reader.Dictionary(keys.back(), {}, {});
  ASSERT_TRUE(alone) << alone.error().message();
  EXPECT_EQ(together.stack_frames, alone->stack_frames);
  EXPECT_EQ(together.frames.size(), alone->frames.size());
  ASSERT_EQ(together.functions.size(), alone->functions.size());
  for (std::size_t i = 0; i < together.functions.size(); ++i)
    EXPECT_EQ(together.functions[i].name, alone->functions[i].name);
}

TEST_F(ManyServices, AreAskedForInPart) {
  SampleQuery query = AllOfThem();
  for (SeriesSelection& one : query.selections) one.series = {2, 7};
  Reader& reader = store_->reader();
  EXPECT_EQ(Total(reader.SumStacks(query, {})), 2) << "the samples with a label of their own";
  EXPECT_EQ(reader.Timeline(query, {.width_ns = 1'000'000'000}, true, {})->size(), 1u);
  const auto types = reader.Types({query.selections.back().dictionary}, {});
  ASSERT_EQ(types->size(), 1u);
  for (SeriesSelection& one : query.selections) {
    one.series.clear();
    one.types = {types->at(0).type, 1, 2};
  }
  EXPECT_EQ(reader.Profiles(query, 10, {})->size(), 1u);
  query.selections.back().types = {1, 2};
  EXPECT_EQ(reader.Profiles(query, 10, {})->size(), 0u) << "of other services, it would be wanted";
  query.selections.back().types.clear();
  query.selections.back().stacks = StackSet{.stacks = {1}, .all_below = {}};
  EXPECT_EQ(Total(reader.SumStacks(query, {})), 5);
}

}  // namespace
}  // namespace wherefore::store
