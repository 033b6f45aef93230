#include "store/write/rows.h"

#include <set>

#include <gtest/gtest.h>

#include "store/engine/query_rows.h"

namespace wherefore::store {
namespace {

using namespace std::string_view_literals;

void AddStack(RowSet& rows, std::uint32_t bucket, std::uint32_t id,
              std::vector<std::uint32_t> frames) {
  rows[Table::kStacks]
      .Add()
      .Put(bucket)
      .Put(7u)
      .Put(std::uint64_t{99})
      .Put(1u)
      .Put(id)
      .Array(frames);
}

struct StackRow {
  std::uint32_t bucket = 0;
  std::uint32_t tenant = 0;
  std::uint64_t service = 0;
  std::uint32_t writer = 0;
  std::uint32_t id = 0;
  std::vector<std::uint32_t> frames;
};
Result<std::vector<StackRow>> StacksOf(const std::string& block) {
  using Row = StackRow;
  constexpr auto kColumns = Columns<Row>(Col("bucket", &Row::bucket), Col("tenant", &Row::tenant),
                                         Col("service", &Row::service), Col("writer", &Row::writer),
                                         Col("stack", &Row::id), Col("frames", &Row::frames));
  std::vector<StackRow> stacks;
  WHEREFORE_RETURN_IF_ERROR(
      ReadRows(block, kColumns, [&](Row&& row) { stacks.push_back(std::move(row)); }));
  return stacks;
}

TEST(Rows, NativeBlockReadsBackAsWritten) {
  RowSet rows;
  AddStack(rows, 20261115, 1, {1, 2, 3});
  AddStack(rows, 20261115, 2, {});
  AddStack(rows, 20261116, 3, {9});
  NativeCutter cutter(rows[Table::kStacks]);
  std::string block;
  std::size_t count = 0;
  ASSERT_TRUE(cutter.Next(block, count));
  EXPECT_EQ(count, 3u);
  const auto stacks = StacksOf(block);
  ASSERT_TRUE(stacks) << stacks.error().message();
  ASSERT_EQ(stacks->size(), 3u);
  EXPECT_EQ(stacks->at(0).bucket, 20261115u);
  EXPECT_EQ(stacks->at(2).bucket, 20261116u);
  EXPECT_EQ(stacks->at(1).service, 99u);
  EXPECT_EQ(stacks->at(0).frames, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_TRUE(stacks->at(1).frames.empty());
  EXPECT_EQ(stacks->at(2).frames, (std::vector<std::uint32_t>{9}));
  EXPECT_FALSE(cutter.Next(block, count));
}

TEST(Rows, CutsByRowsWithoutLosingAny) {
  RowSet rows;
  for (std::uint32_t i = 1; i <= 10; ++i) AddStack(rows, 20261115, i, {i, i});
  NativeCutter cutter(rows[Table::kStacks], 4);
  std::string block;
  std::size_t count = 0;
  std::vector<std::uint32_t> ids;
  std::vector<std::size_t> sizes;
  while (cutter.Next(block, count)) {
    sizes.push_back(count);
    const auto stacks = StacksOf(block);
    ASSERT_TRUE(stacks) << stacks.error().message();
    EXPECT_EQ(stacks->size(), count);
    for (const StackRow& stack : *stacks) {
      ids.push_back(stack.id);
      EXPECT_EQ(stack.frames, (std::vector<std::uint32_t>{stack.id, stack.id}));
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{4, 4, 2}));
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(Rows, ABlockHoldsAtMostFiftyBuckets) {
  RowSet rows;
  for (std::uint32_t i = 0; i < 120; ++i) AddStack(rows, 200001 + i, i + 1, {1});
  NativeCutter cutter(rows[Table::kStacks]);
  std::string block;
  std::size_t count = 0;
  std::vector<std::size_t> sizes;
  while (cutter.Next(block, count)) sizes.push_back(count);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{50, 50, 20}));
}

TEST(Rows, SerializedSetsJoinByAppending) {
  RowSet first;
  AddStack(first, 20261115, 1, {1});
  first[Table::kServices]
      .Add()
      .Put(20261115u)
      .Put(7u)
      .Put(std::uint64_t{99})
      .Put(1u)
      .Put(1u)
      .Text("shop");
  RowSet second;
  AddStack(second, 20261115, 2, {1, 2});
  std::string bytes_one;
  std::string bytes_two;
  first.Serialize(bytes_one);
  second.Serialize(bytes_two);
  RowSet joined;
  ASSERT_TRUE(joined.ParseAndAppend(bytes_one));
  ASSERT_TRUE(joined.ParseAndAppend(bytes_two));
  EXPECT_EQ(joined[Table::kStacks].size(), 2u);
  EXPECT_EQ(joined[Table::kServices].size(), 1u);
  AddStack(joined, 20261115, 3, {5});
  NativeCutter cutter(joined[Table::kStacks]);
  std::string block;
  std::size_t count = 0;
  ASSERT_TRUE(cutter.Next(block, count));
  EXPECT_EQ(count, 3u);
}

TEST(Rows, BucketsThatAlternateMakeNoMoreBlocksThanTheirNumberNeeds) {
  // 120 buckets, again and again, as senders of old profiles interleave: three blocks, not
  // hundreds.
  constexpr std::uint32_t kBuckets = 120;
  constexpr std::uint32_t kRounds = 40;
  RowSet rows;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
      AddStack(rows, 20000000 + bucket, round * kBuckets + bucket, {bucket, round});
    }
  }
  NativeCutter cutter(rows[Table::kStacks], 1500);
  std::string block;
  std::size_t count = 0;
  std::set<std::uint32_t> ids;
  std::set<std::string> names;
  std::vector<std::size_t> sizes;
  while (cutter.Next(block, count)) {
    sizes.push_back(count);
    names.insert(cutter.name());
    const auto stacks = StacksOf(block);
    ASSERT_TRUE(stacks) << stacks.error().message();
    EXPECT_EQ(stacks->size(), count);
    std::set<std::uint32_t> buckets;
    for (const StackRow& stack : *stacks) {
      EXPECT_TRUE(ids.insert(stack.id).second);
      buckets.insert(stack.bucket);
      EXPECT_EQ(stack.bucket, 20000000 + stack.id % kBuckets);
      EXPECT_EQ(stack.frames,
                (std::vector<std::uint32_t>{stack.id % kBuckets, stack.id / kBuckets}));
    }
    EXPECT_LE(buckets.size(), 50u);
  }
  EXPECT_EQ(ids.size(), std::size_t{kBuckets} * kRounds);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1500, 500, 1500, 500, 800}));
  EXPECT_EQ(names.size(), sizes.size());
}

TEST(Rows, EveryTruncationIsRefusedAndAddsNothing) {
  RowSet rows;
  AddStack(rows, 20261115, 1, {1, 2});
  rows[Table::kServices]
      .Add()
      .Put(20261115u)
      .Put(7u)
      .Put(std::uint64_t{99})
      .Put(1u)
      .Put(1u)
      .Text("shop");
  std::string bytes;
  rows.Serialize(bytes);
  RowSet parsed;
  const std::size_t services_end = [&] {
    RowSet only;
    only[Table::kServices].Append(rows[Table::kServices]);
    std::string out;
    only.Serialize(out);
    return out.size();
  }();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    if (size == services_end) continue;
    EXPECT_FALSE(parsed.ParseAndAppend(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_TRUE(parsed.empty());
}

}  // namespace
}  // namespace wherefore::store
