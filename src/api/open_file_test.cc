#include "api/open_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/clock.h"

namespace wherefore::api {
namespace {

// Folded stacks of 20 frames, all different.
std::shared_ptr<const std::string> ManyStacks(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    for (int depth = 0; depth < 20; ++depth) text += fmt::format("f{};", (i * 31 + depth) % 7919);
    text += fmt::format("leaf{} 1\n", i);
  }
  return std::make_shared<const std::string>(std::move(text));
}

TEST(OpenFile, AddsUpAFile) {
  const auto opened = OpenFile(ManyStacks(1000), "", CancelToken());
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ(opened->tree.total[0], 1000);
}

TEST(OpenFile, EndsWhenItsTimeIsOver) {
  const auto file = ProfileFile::Read(ManyStacks(50'000), CancelToken());
  ASSERT_TRUE(file);
  const CancelToken cancel;
  cancel.SetDeadline(MonotonicNs() + 1);
  const auto tree = file->Tree("", cancel);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code(), Code::kLimit);
  EXPECT_NE(tree.error().message().find("--query-timeout"), std::string::npos);
  const auto again = ProfileFile::Read(ManyStacks(10), cancel);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::kLimit);
}

TEST(OpenFile, EndsWhenItsMemoryIsUsedUp) {
  for (const std::int64_t limit : {std::int64_t{1} << 20, std::int64_t{30} << 20}) {
    const CancelToken cancel;
    cancel.SetMemoryLimit(limit);
    const auto opened = OpenFile(ManyStacks(50'000), "", cancel);
    ASSERT_FALSE(opened) << limit;
    EXPECT_EQ(opened.error().code(), Code::kLimit);
    EXPECT_NE(opened.error().message().find("--query-memory"), std::string::npos);
  }
}

}  // namespace
}  // namespace wherefore::api
