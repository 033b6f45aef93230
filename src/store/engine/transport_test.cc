#include "store/engine/transport.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_directory.h"
#include "store/engine/embedded_transport.h"
#include "store/engine/query_rows.h"
#include "store/write/rows.h"

namespace wherefore::store {
namespace {

class TransportTest : public testing::Test {
 protected:
  void SetUp() override {
    WHEREFORE_SKIP_WITHOUT_ENGINE();
    auto opened = OpenEmbedded({.path = directory_ / "engine"});
    ASSERT_TRUE(opened) << opened.error().message();
    transport_ = std::move(*opened);
  }
  std::int64_t Number(std::string_view sql) {
    const auto numbers = QueryColumn<std::int64_t>(*transport_, sql);
    EXPECT_TRUE(numbers) << numbers.error().message();
    return numbers->at(0);
  }
  TestDirectory directory_;
  std::unique_ptr<Transport> transport_;
};

TEST(Quote, EscapesWhatWouldEndTheLiteral) {
  EXPECT_EQ(Quote("it's\\\n"), "'it\\'s\\\\\\x0A'");
}

TEST_F(TransportTest, QuotedTextComesBackUnchanged) {
  const std::string text("a'b\\c;\n\0\x01 -- /* \xff", 17);
  const auto answer = QueryValue<std::string>(*transport_, "SELECT " + Quote(text));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, text);
}

TEST_F(TransportTest, CreatesEveryTableTwiceWithoutComplaint) {
  for (int i = 0; i < 2; ++i) {
    const auto created = CreateTables(*transport_);
    ASSERT_TRUE(created) << created.error().message();
  }
  for (const char* view : {"services", "types", "series", "mappings", "functions", "frames",
                           "stacks", "details", "links", "samples", "profiles", "spans"}) {
    EXPECT_EQ(Number(std::string("SELECT count() FROM ") + view), 0) << view;
  }
}

TEST_F(TransportTest, ARepeatedTokenInsertsOnce) {
  ASSERT_TRUE(CreateTables(*transport_));
  RowSet rows;
  for (std::uint32_t i = 1; i <= 3; ++i) {
    rows[Table::kStacks]
        .Add()
        .Put(20261115u + i)
        .Put(0u)
        .Put(std::uint64_t{1})
        .Put(1u)
        .Put(i)
        .Array(std::vector<std::uint32_t>{i});
  }
  NativeCutter cutter(rows[Table::kStacks]);
  std::string block;
  std::size_t count = 0;
  ASSERT_TRUE(cutter.Next(block, count));
  for (int i = 0; i < 2; ++i) {
    const auto inserted = transport_->Insert("stacks_v1", block, "1-1-stacks-0");
    ASSERT_TRUE(inserted) << inserted.error().message();
  }
  EXPECT_EQ(Number("SELECT count() FROM stacks_v1"), 3);
  ASSERT_TRUE(transport_->Insert("stacks_v1", block, "1-2-stacks-0"));
  EXPECT_EQ(Number("SELECT count() FROM stacks_v1"), 6);
}

TEST_F(TransportTest, ATruncatedBlockIsRefusedWhole) {
  ASSERT_TRUE(CreateTables(*transport_));
  RowSet rows;
  rows[Table::kServices]
      .Add()
      .Put(20261115u)
      .Put(0u)
      .Put(std::uint64_t{1})
      .Put(1u)
      .Put(1u)
      .Text("shop");
  NativeCutter cutter(rows[Table::kServices]);
  std::string block;
  std::size_t count = 0;
  ASSERT_TRUE(cutter.Next(block, count));
  block.pop_back();
  EXPECT_FALSE(transport_->Insert("services_v1", block, "t"));
  EXPECT_EQ(Number("SELECT count() FROM services_v1"), 0);
}

TEST_F(TransportTest, CancelEndsARunningQuerySoon) {
  const CancelToken cancel;
  std::thread canceller([cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancel.Cancel();
  });
  const std::int64_t begin = MonotonicNs();
  const auto answer = transport_->Query("SELECT sum(cityHash64(number)) FROM numbers(100000000000)",
                                        {.timeout_ns = 20 * kNsPerSecond}, cancel);
  canceller.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kCancelled) << answer.error().message();
  EXPECT_LT(MonotonicNs() - begin, 8 * kNsPerSecond);
}

TEST_F(TransportTest, ALongQueryEndsWithALimitError) {
  const auto answer = transport_->Query("SELECT sum(cityHash64(number)) FROM numbers(100000000000)",
                                        {.timeout_ns = kNsPerSecond / 5}, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::kLimit) << answer.error().message();
}

TEST_F(TransportTest, AHeavyQueryDoesNotHoldUpInserts) {
  ASSERT_TRUE(CreateTables(*transport_));
  const CancelToken cancel;
  std::thread query([&] {
    EXPECT_FALSE(transport_->Query("SELECT sum(cityHash64(number)) FROM numbers(100000000000)",
                                   {.timeout_ns = 20 * kNsPerSecond}, cancel));
  });
  RowSet rows;
  rows[Table::kServices]
      .Add()
      .Put(20261115u)
      .Put(0u)
      .Put(std::uint64_t{1})
      .Put(1u)
      .Put(1u)
      .Text("shop");
  NativeCutter cutter(rows[Table::kServices]);
  std::string block;
  std::size_t count = 0;
  ASSERT_TRUE(cutter.Next(block, count));
  EXPECT_TRUE(transport_->Insert("services_v1", block, "t"));
  EXPECT_EQ(Number("SELECT count() FROM services_v1"), 1);
  cancel.Cancel();
  query.join();
}

}  // namespace
}  // namespace wherefore::store
