#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/testing.h"

namespace wherefore::formats {
namespace {

using testing::Shared;

profile::FlameTree SmallTree() {
  profile::TreeBuilder builder;
  const auto main = builder.Child(0, builder.AddFunction({.name = "main"}));
  const auto a = builder.Child(main, builder.AddFunction({.name = "a;b"}));
  const auto z = builder.Child(main, builder.AddFunction({.name = "<z&>"}));
  builder.AddValue(main, 1, 1);
  builder.AddValue(a, 5, 1);
  builder.AddValue(z, 7, 1);
  return builder.Build();
}

TEST(Folded, StacksAreReadRootFirst) {
  auto decoded =
      DecodeFolded(Shared("main;work with space;leaf 12\r\n\n# comment\nmain 3"), {.service = "s"});
  ASSERT_TRUE(decoded) << decoded.error().message();
  const profile::Batch& b = decoded->data;
  ASSERT_TRUE(b.Validate());
  ASSERT_EQ(b.samples.size(), 2U);
  EXPECT_EQ(b.samples.value[0], 12);
  const auto name = [&b](profile::Id frame) {
    return b.Text(b.functions[b.FrameLines(b.frames[frame])[0].function].name);
  };
  const auto frames = b.StackFrames(b.samples.stack[0]);
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_EQ(name(frames[0]), "leaf");
  EXPECT_EQ(name(frames[1]), "work with space");
  EXPECT_EQ(frames[2], b.StackFrames(b.samples.stack[1])[0]);
  EXPECT_EQ(profile::ServiceName(b, b.resources[1]), "s");
}

TEST(Folded, WrongLinesAreCorruptWithTheirNumber) {
  EXPECT_EQ(DecodeFolded(Shared("a;b 1\nc;d\n"), {}).error().message(),
            "line 2: a stack, a space and a number are expected");
  EXPECT_EQ(DecodeFolded(Shared("a;b x1"), {}).error().message(),
            "line 1: the line does not end in a whole number");
  EXPECT_EQ(DecodeFolded(Shared("\n"), {}).error().code(), Code::kCorrupt);
}

TEST(Folded, TreeIsWrittenWithEveryValueOnce) {
  EXPECT_EQ(EncodeFolded(SmallTree()), "main 1\nmain;<z&> 7\nmain;a:b 5\n");
  // A diff has both values, also if one of them is 0.
  const std::vector<std::int64_t> before = {0, 0, 9, 5};
  EXPECT_EQ(EncodeFolded(SmallTree(), before), "main 0 1\nmain;<z&> 9 7\nmain;a:b 5 5\n");
}

}  // namespace
}  // namespace wherefore::formats
