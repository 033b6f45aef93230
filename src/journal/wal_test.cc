#include "journal/wal.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/test_directory.h"
#include "journal/identities.h"

namespace wherefore::journal {
namespace {

std::string SegmentWith(const std::vector<std::string>& payloads) {
  const TestDirectory directory;
  Wal wal;
  EXPECT_TRUE(wal.Open(directory.path(), 1));
  for (const std::string& payload : payloads) EXPECT_TRUE(wal.Append(payload));
  EXPECT_TRUE(wal.Rotate());
  const auto closed = wal.Closed();
  EXPECT_EQ(closed.size(), 1u);
  return *ReadWholeFile(closed.at(0).path);
}

TEST(Wal, FramesComeBackInOrder) {
  const std::string bytes = SegmentWith({"one", std::string(100'000, 'x'), ""});
  const auto content = ParseSegment(bytes);
  ASSERT_TRUE(content);
  ASSERT_EQ(content->frames.size(), 3u);
  EXPECT_EQ(content->frames[0], "one");
  EXPECT_EQ(content->frames[1].size(), 100'000u);
  EXPECT_TRUE(content->damaged.empty());
  EXPECT_EQ(content->torn_bytes, 0u);
  EXPECT_EQ(content->header.writer, 1u);
}

TEST(Wal, EveryTruncationKeepsTheFramesBeforeIt) {
  const std::string bytes = SegmentWith({"one", "two", "three"});
  const std::size_t first = kSegmentHeaderBytes + kFrameHeaderBytes + 3;
  const std::size_t second = first + kFrameHeaderBytes + 3;
  for (std::size_t size = kSegmentHeaderBytes; size < bytes.size(); ++size) {
    const auto content = ParseSegment(std::string_view(bytes).substr(0, size));
    ASSERT_TRUE(content);
    EXPECT_EQ(content->frames.size(), size < first ? 0u : size < second ? 1u : 2u) << size;
    EXPECT_TRUE(content->damaged.empty()) << size;
    EXPECT_EQ(content->torn_bytes > 0,
              size != kSegmentHeaderBytes && size != first && size != second);
  }
}

TEST(Wal, EveryFlippedBitIsDamageAndTheOtherFramesStay) {
  const std::string bytes = SegmentWith({"one", "two", "three"});
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto content = ParseSegment(damaged);
    ASSERT_TRUE(content) << bit;
    EXPECT_EQ(content->torn_bytes, 0u) << "nothing of this was cut short: bit " << bit;
    if (bit / 8 >= kSegmentHeaderBytes) {
      EXPECT_EQ(content->frames.size(), 2u) << bit;
      EXPECT_EQ(content->damaged.size(), 1u) << bit;
      continue;
    }
    EXPECT_TRUE(content->header_is_damaged) << bit;
    const bool in_nonce = bit / 8 >= 24 && bit / 8 < 32;
    EXPECT_EQ(content->frames.size(), in_nonce ? 0u : 3u) << bit;
    EXPECT_EQ(content->damaged.empty(), !in_nonce) << bit;
  }
}

TEST(Wal, AFileThatOnlyBecameLongerIsTorn) {
  const std::string bytes = SegmentWith({"one"}) + std::string(4096, '\0');
  const auto content = ParseSegment(bytes);
  ASSERT_TRUE(content);
  EXPECT_EQ(content->frames.size(), 1u);
  EXPECT_EQ(content->torn_bytes, 4096u);
}

TEST(Wal, AFolderOrALinkToNothingIsNamed) {
  for (const bool folder : {true, false}) {
    const TestDirectory directory;
    if (folder) {
      std::filesystem::create_directories(directory / "000007.log");
    } else {
      std::filesystem::create_symlink("/nowhere", directory / "000007.log");
    }
    Wal wal;
    const auto opened = wal.Open(directory.path(), 1);
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().message().find("000007.log"), std::string::npos)
        << opened.error().message();
  }
}

TEST(Wal, LeftoverSegmentsAreFoundAndNumbersGoOn) {
  const TestDirectory directory;
  {
    Wal wal;
    ASSERT_TRUE(wal.Open(directory.path(), 1));
    ASSERT_EQ(*wal.Append("a"), 1u);
    ASSERT_TRUE(wal.Rotate());
    ASSERT_EQ(*wal.Append("b"), 2u);
  }
  Wal wal;
  ASSERT_TRUE(wal.Open(directory.path(), 1));
  const auto closed = wal.Closed();
  ASSERT_EQ(closed.size(), 2u);
  EXPECT_EQ(closed[0].number, 1u);
  EXPECT_EQ(wal.current_number(), 3u);
  EXPECT_TRUE(wal.Remove(1));
  EXPECT_TRUE(wal.SetAside(2));
  EXPECT_TRUE(std::filesystem::exists(directory / "000002.bad"));
  EXPECT_TRUE(wal.Closed().empty());
  EXPECT_EQ(*wal.Append("c"), 3u);
}

TEST(Wal, FramesAreReadWhereTheyAre) {
  const TestDirectory directory;
  Wal wal;
  ASSERT_TRUE(wal.Open(directory.path(), 1));
  const auto first = wal.AppendPlaced("one");
  ASSERT_TRUE(wal.Rotate());
  const auto second = wal.AppendPlaced("two, in the open segment");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*wal.Read(*first, 3), "one");
  EXPECT_EQ(*wal.Read({second->segment, second->offset + 5}, 2), "in");
  EXPECT_EQ(*wal.Read(*second, 1000), "two, in the open segment") << "short where the file ends";
  EXPECT_FALSE(wal.Read({77, 0}, 1));
}

TEST(Wal, RotatingAnEmptySegmentDoesNothing) {
  const TestDirectory directory;
  Wal wal;
  ASSERT_TRUE(wal.Open(directory.path(), 1));
  ASSERT_TRUE(wal.Rotate());
  EXPECT_EQ(wal.current_number(), 1u);
  EXPECT_TRUE(wal.Closed().empty());
}

TEST(Identities, ForgetAfterTenMinutes) {
  Identities identities;
  identities.Add({HashString("a"), 1'000, 2, "two were bad"});
  const auto answer = identities.Find(HashString("a"), 1'000 + Identities::kLifetimeNs - 1);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->repeated);
  EXPECT_EQ(answer->rejected, 2u);
  EXPECT_EQ(answer->message, "two were bad");
  EXPECT_FALSE(identities.Find(HashString("a"), 1'000 + Identities::kLifetimeNs));
  identities.Add({HashString("b"), 2'000 + Identities::kLifetimeNs, 0, ""});
  EXPECT_EQ(identities.size(), 1u);
}

TEST(Identities, LogIsReadBackUpToTheDamage) {
  const TestDirectory directory;
  const std::string path = directory / "identities.log";
  {
    IdentityLog log;
    ASSERT_TRUE(log.Open(path));
    ASSERT_TRUE(log.Append(
        std::vector<IdentityRecord>{{HashString("a"), 5, 0, ""}, {HashString("b"), 6, 1, "x"}}, 7));
    ASSERT_TRUE(log.Append(std::vector<IdentityRecord>{{HashString("c"), 7, 0, ""}}, 8));
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  IdentityLog log;
  const auto records = log.Open(path);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ(records->at(1).message, "x");
  ASSERT_TRUE(log.Append(std::vector<IdentityRecord>{{HashString("d"), 9, 0, ""}}, 10));
  IdentityLog again;
  EXPECT_EQ(again.Open(path)->size(), 3u);
}

}  // namespace
}  // namespace wherefore::journal
