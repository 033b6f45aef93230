#include "cli/backup_root.h"

#include <stdlib.h>

#include <gtest/gtest.h>

namespace wherefore::cli {
namespace {

namespace fs = std::filesystem;

class BackupRootTest : public testing::Test {
 protected:
  BackupRootTest() {
    std::string name = fs::temp_directory_path() / "wherefore-backup-root-XXXXXX";
    folder_ = fs::canonical(mkdtemp(name.data()));
    for (const char* made : {"data/wal", "backups/old", "elsewhere"}) {
      fs::create_directories(folder_ / made);
    }
  }
  ~BackupRootTest() override { fs::remove_all(folder_); }

  [[nodiscard]] BackupRoot Open(const std::string& root) const {
    auto opened = BackupRoot::Open(folder_ / root, folder_ / "data");
    EXPECT_TRUE(opened) << opened.error().message();
    return opened ? *opened : BackupRoot();
  }
  void ExpectRefused(const BackupRoot& root, const fs::path& target, const char* why) const {
    const auto resolved = root.Resolve(target.string());
    ASSERT_FALSE(resolved) << *resolved;
    EXPECT_EQ(resolved.error().code(), Code::kInvalid);
    EXPECT_NE(resolved.error().message().find(why), std::string::npos)
        << resolved.error().message();
  }

  fs::path folder_;
};

TEST_F(BackupRootTest, WithoutOneNothingIsWrittenAndTheRefusalNamesTheOption) {
  const auto resolved = BackupRoot().Resolve("/tmp/x");
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().code(), Code::kUnsupported);
  EXPECT_NE(resolved.error().message().find("--backup-root"), std::string::npos);
}

TEST_F(BackupRootTest, TakesPathsBelowItAbsoluteOrNot) {
  const BackupRoot root = Open("backups");
  EXPECT_EQ(*root.Resolve("2026-11-15"), folder_ / "backups/2026-11-15");
  EXPECT_EQ(*root.Resolve("a/b/c"), folder_ / "backups/a/b/c");
  EXPECT_EQ(*root.Resolve(folder_ / "backups/x"), folder_ / "backups/x");
  EXPECT_EQ(*root.Resolve("old/../new"), folder_ / "backups/new");
  EXPECT_EQ(*root.Resolve("//" + (folder_ / "backups/./x").string()), folder_ / "backups/x");
}

TEST_F(BackupRootTest, RefusesWhatLiesElsewhere) {
  const BackupRoot root = Open("backups");
  for (const fs::path& target :
       {folder_ / "elsewhere/x", folder_ / "data/wal/000999.log", fs::path("../elsewhere/x"),
        fs::path("old/../../elsewhere/x"), fs::path("new/../../elsewhere/x"), fs::path("/"),
        folder_ / "backups-of-others/x", fs::path("."), fs::path("old/..")}) {
    ExpectRefused(root, target, "--backup-root");
  }
  ExpectRefused(root, "", "a new folder");
  ExpectRefused(root, std::string("a\0b", 3), "a new folder");
}

TEST_F(BackupRootTest, FollowsLinksBeforeItDecides) {
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "backups/out");
  fs::create_directory_symlink(folder_ / "backups/old", folder_ / "backups/in");
  fs::create_directory_symlink(folder_ / "not-there", folder_ / "backups/dangling");
  fs::create_directory_symlink(folder_ / "backups", folder_ / "elsewhere/back");
  const BackupRoot root = Open("backups");
  ExpectRefused(root, "out", "--backup-root");
  ExpectRefused(root, "out/x", "--backup-root");
  ExpectRefused(root, "in/../../x", "--backup-root");
  ExpectRefused(root, "dangling", "dangling");
  ExpectRefused(root, "dangling/x", "dangling");
  EXPECT_EQ(*root.Resolve("in/x"), folder_ / "backups/old/x");
  EXPECT_EQ(*root.Resolve(folder_ / "elsewhere/back/x"), folder_ / "backups/x");
}

TEST_F(BackupRootTest, TheDataDirectoryIsNoPlaceForBackups) {
  EXPECT_FALSE(BackupRoot::Open(folder_ / "data", folder_ / "data"));
  EXPECT_FALSE(BackupRoot::Open(folder_ / "data/wal", folder_ / "data"));
  EXPECT_FALSE(BackupRoot::Open(folder_ / "not-there", folder_ / "data"));
  const BackupRoot around = Open("");
  ExpectRefused(around, "data/wal/000999.log", "data directory");
  ExpectRefused(around, "data", "data directory");
  EXPECT_EQ(*around.Resolve("elsewhere/x"), folder_ / "elsewhere/x");
}

}  // namespace
}  // namespace wherefore::cli
