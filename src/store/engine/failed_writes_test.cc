// The engine's writes fail for real here: the kernel refuses bytes beyond a limit on the size of
// files. Everything that was answered with success must be there, once, also after a restart.
#include "store/engine/failed_writes.h"

#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "base/test_directory.h"
#include "store/engine/embedded_transport.h"
#include "store/engine/query_rows.h"
#include "store/write/rows.h"

namespace wherefore::store {
namespace {

// No file of this process grows beyond `bytes` while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uintmax_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = old_limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::ignore = std::signal(SIGXFSZ, old_handler_);
  }

 private:
  void (*old_handler_)(int);
  rlimit old_limit_{};
};

class FailedWritesTest : public testing::Test {
 protected:
  void SetUp() override {
    WHEREFORE_SKIP_WITHOUT_ENGINE();
    Open();
    ASSERT_TRUE(CreateTables(*transport_));
  }
  void Open() {
    transport_.reset();
    auto opened = OpenEmbedded({.path = directory_ / "engine"});
    ASSERT_TRUE(opened) << opened.error().message();
    transport_ = std::move(*opened);
  }
  // Rows whose stack is `number`, one in each of two days.
  Result<> Insert(std::uint32_t number) {
    RowSet rows;
    for (const std::uint32_t day : {20261115u, 20261116u}) {
      rows[Table::kStacks]
          .Add()
          .Put(day)
          .Put(0u)
          .Put(std::uint64_t{1})
          .Put(1u)
          .Put(number)
          .Array(std::vector<std::uint32_t>{number});
    }
    NativeCutter cutter(rows[Table::kStacks]);
    std::string block;
    std::size_t count = 0;
    EXPECT_TRUE(cutter.Next(block, count));
    return transport_->Insert("stacks_v1", block, std::to_string(number));
  }
  // Both rows of each number, before and after a restart.
  void ExpectEachOnce(std::uint32_t numbers) {
    for (const char* when : {"before", "after"}) {
      for (const std::string count : {"count()", "uniqExact(bucket, stack)"}) {
        const auto rows =
            QueryValue<std::uint64_t>(*transport_, "SELECT toUInt64(" + count + ") FROM stacks_v1");
        ASSERT_TRUE(rows) << rows.error().message();
        EXPECT_EQ(*rows, 2 * numbers) << count << " " << when << " a restart";
      }
      Open();
      if (HasFatalFailure()) return;
    }
  }
  // Of the list of the only table with rows; merges come and go elsewhere.
  std::uintmax_t TokenBytes() {
    const std::filesystem::path folder =
        QueryValue<std::string>(
            *transport_,
            "SELECT arrayElement(data_paths, 1) FROM system.tables WHERE name = 'stacks_v1'")
            .value();
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder / kTokenFolder))
      bytes += entry.file_size();
    return bytes;
  }

  TestDirectory directory_;
  std::unique_ptr<Transport> transport_;
};

TEST_F(FailedWritesTest, AnInsertSaysSoAndCountsOnceWhenRepeated) {
  ASSERT_TRUE(Insert(1));
  {
    const FileSizeLimit limit(16);
    const auto inserted = Insert(2);
    ASSERT_FALSE(inserted);
    EXPECT_EQ(inserted.error().code(), Code::kUnavailable);
    EXPECT_NE(inserted.error().message().find("cannot write"), std::string::npos);
    EXPECT_NE(inserted.error().message().find("File too large"), std::string::npos);
    // Still no room: nothing is touched.
    EXPECT_FALSE(transport_->Mend());
    EXPECT_FALSE(Insert(2));
  }
  for (std::uint32_t number = 1; number <= 3; ++number) {
    const auto inserted = Insert(number);
    ASSERT_TRUE(inserted) << inserted.error().message();
  }
  ExpectEachOnce(3);
}

TEST_F(FailedWritesTest, ATokenThatWasNotWrittenStillKeepsItsInsertFromCountingTwice) {
  // Files of such small parts have some hundred bytes; the list of tokens has more soon.
  std::uint32_t numbers = 0;
  while (TokenBytes() < 4000) ASSERT_TRUE(Insert(++numbers));
  // No byte of the two lines; the first line torn; the second one torn.
  for (const std::uintmax_t more : {0, 10, 90}) {
    ++numbers;
    ASSERT_TRUE(transport_->Execute("SYSTEM STOP MERGES stacks_v1"));  // they have larger files
    {
      const FileSizeLimit limit(TokenBytes() + more);
      const auto inserted = Insert(numbers);
      ASSERT_FALSE(inserted);
      EXPECT_NE(inserted.error().message().find(kTokenFolder), std::string::npos)
          << inserted.error().message();
    }
    const auto inserted = Insert(numbers);
    ASSERT_TRUE(inserted) << inserted.error().message();
    ExpectEachOnce(numbers);
    if (HasFatalFailure()) return;
  }
}

TEST_F(FailedWritesTest, AMergeLosesNothing) {
  constexpr std::uint32_t kNumbers = 5;
  for (std::uint32_t number = 1; number <= kNumbers; ++number) ASSERT_TRUE(Insert(number));
  {
    const FileSizeLimit limit(16);
    const auto merged = transport_->Execute("OPTIMIZE TABLE stacks_v1 FINAL");
    ASSERT_FALSE(merged);
    EXPECT_NE(merged.error().message().find("cannot write"), std::string::npos)
        << merged.error().message();
  }
  const auto mended = transport_->Mend();
  ASSERT_TRUE(mended) << mended.error().message();
  ExpectEachOnce(kNumbers);
}

TEST_F(FailedWritesTest, ReadersDoNotNoticeThatATableIsAway) {
  ASSERT_TRUE(Insert(1));
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      const auto answer = transport_->Query("SELECT count() FROM stacks_v1", {}, {});
      if (!answer) {
        EXPECT_FALSE(IsUnknownTable(answer.error().message())) << answer.error().message();
      }
    }
  });
  for (std::uint32_t number = 2; number <= 10; ++number) {
    {
      const FileSizeLimit limit(16);
      EXPECT_FALSE(Insert(number));
    }
    const auto inserted = Insert(number);
    EXPECT_TRUE(inserted) << inserted.error().message();
  }
  done = true;
  reader.join();
  ExpectEachOnce(10);
}

TEST_F(FailedWritesTest, AnEngineIsNotBegunOnAFullDisk) {
  transport_.reset();
  const std::string path = directory_ / "another";
  for (int attempt = 0; attempt < 2; ++attempt) {
    const FileSizeLimit limit(16);
    const auto opened = OpenEmbedded({.path = path});
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message().find("cannot write"), std::string::npos);
  }
  auto opened = OpenEmbedded({.path = path});
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_TRUE(CreateTables(**opened));
}

TEST_F(FailedWritesTest, ABackupThatDoesNotFitIsNone) {
  ASSERT_TRUE(Insert(1));
  const std::string sql = "BACKUP DATABASE default TO File(" + Quote(directory_ / "backup/") + ")";
  {
    const FileSizeLimit limit(16);
    EXPECT_FALSE(transport_->Execute(sql));
  }
  ExpectEachOnce(1);
}

}  // namespace
}  // namespace wherefore::store
