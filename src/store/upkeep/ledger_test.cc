#include "store/upkeep/ledger.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/test_directory.h"
#include "journal/file.h"
#include "profile/batch.h"
#include "store/engine/broken_parts.h"

namespace wherefore::store {
namespace {

constexpr TableBucket kSamplesToday{Table::kSamples, 20261116};

RowSet TraceRows(std::uint32_t bucket, int rows) {
  RowSet set;
  for (int i = 0; i < rows; ++i) {
    set[Table::kTraceIndex]
        .Begin(bucket, 0)
        .Bytes(profile::TraceId{1, 2, 3})
        .Put(std::uint64_t{7})
        .Put(std::int64_t{1})
        .Put(std::int64_t{2});
  }
  return set;
}

TEST(Ledger, ASegmentThatIsInsertedAgainCountsOnceAlsoAfterARestart) {
  const TestDirectory directory;
  const TableBucket where{Table::kTraceIndex, 20261116};
  for (int start = 0; start < 3; ++start) {
    Ledger ledger;
    ASSERT_TRUE(ledger.Open(directory / "ledger"));
    ledger.Add(TraceRows(20261116, 5), {.number = 3, .nonce = 9});
    EXPECT_EQ(ledger.rows().at(where), 5u);
    ASSERT_TRUE(ledger.Save());
  }
  Ledger ledger;
  ASSERT_TRUE(ledger.Open(directory / "ledger"));
  ledger.Add(TraceRows(20261116, 2), {.number = 4, .nonce = 9});
  EXPECT_EQ(ledger.rows().at(where), 7u);
}

TEST(Ledger, WhatIsMissingStaysLostUntilItComesBack) {
  const TestDirectory directory;
  {
    Ledger ledger;
    ASSERT_TRUE(ledger.Open(directory / "ledger"));
    EXPECT_TRUE(ledger.Compare({{kSamplesToday, 100}}, {})) << "nothing was known";
    EXPECT_FALSE(ledger.Compare({{kSamplesToday, 100}}, {}));
    EXPECT_TRUE(ledger.Compare({{kSamplesToday, 60}}, {}));
    EXPECT_EQ(ledger.lost().at(kSamplesToday), 40u);
    EXPECT_FALSE(ledger.Compare({{kSamplesToday, 60}}, {})) << "said once";
    ASSERT_TRUE(ledger.Save());
  }
  Ledger ledger;
  ASSERT_TRUE(ledger.Open(directory / "ledger"));
  EXPECT_EQ(ledger.lost().at(kSamplesToday), 40u) << "over restarts";
  EXPECT_TRUE(ledger.Compare({{kSamplesToday, 85}}, {}));
  EXPECT_EQ(ledger.lost().at(kSamplesToday), 15u);
  EXPECT_TRUE(ledger.Compare({{kSamplesToday, 100}}, {}));
  EXPECT_TRUE(ledger.lost().empty());
  EXPECT_TRUE(ledger.Compare({}, {}));
  EXPECT_EQ(ledger.lost().at(kSamplesToday), 100u) << "a whole bucket";
}

TEST(Ledger, APartThatSaysTooMuchIsNotBelieved) {
  const TestDirectory directory;
  Ledger ledger;
  ASSERT_TRUE(ledger.Open(directory / "ledger"));
  (void)ledger.Compare({{kSamplesToday, 40}}, {});
  (void)ledger.Compare({{kSamplesToday, 44}}, {});
  (void)ledger.Compare({}, {});
  EXPECT_EQ(ledger.lost().at(kSamplesToday), 40u);
}

TEST(Ledger, WhatADeleteRemovesIsNotMissed) {
  const TestDirectory directory;
  Ledger ledger;
  ASSERT_TRUE(ledger.Open(directory / "ledger"));
  (void)ledger.Compare({{kSamplesToday, 40}, {{Table::kSamples, 20261115}, 9}}, {});
  EXPECT_TRUE(ledger.Compare({{kSamplesToday, 10}}, {20261116}));
  EXPECT_EQ(ledger.lost(), (BucketRows{{{Table::kSamples, 20261115}, 9}}));
  EXPECT_EQ(ledger.rows().at(kSamplesToday), 10u);
}

TEST(Ledger, AnyFlippedBitMeansThatNothingIsKnown) {
  const TestDirectory directory;
  {
    Ledger ledger;
    ASSERT_TRUE(ledger.Open(directory / "ledger"));
    (void)ledger.Compare({{kSamplesToday, 40}}, {});
    ASSERT_TRUE(ledger.Save());
  }
  const std::string good = *journal::ReadWholeFile(directory / "ledger");
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    std::ofstream(directory / "ledger", std::ios::binary) << bad;
    Ledger ledger;
    ASSERT_TRUE(ledger.Open(directory / "ledger"));
    EXPECT_TRUE(ledger.rows().empty()) << bit;
    (void)ledger.Compare({{kSamplesToday, 1}}, {});
    EXPECT_TRUE(ledger.lost().empty()) << "no false alarm";
  }
}

TEST(BrokenParts, TheEnginesMessageNamesThem) {
  const BrokenPart part = PartInMessage(
      "Code: 33. DB::Exception: Cannot read all data: (while reading column value): (while reading "
      "from part /data/engine/store/dd5/dd5614a6/20261116_3_3_0/ in table default.samples_v1 "
      "(dd5614a6) located on disk default of type local");
  EXPECT_EQ(part, (BrokenPart{"samples_v1", "20261116_3_3_0"}));
  EXPECT_EQ(PartInMessage("Code: 40. DB::Exception: Checksum doesn't match"), BrokenPart{});
}

}  // namespace
}  // namespace wherefore::store
