#include "formats/trees/flame_binary.h"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace wherefore::formats {
namespace {

using profile::FlameTree;
using profile::TreeBuilder;

FlameTree RandomTree(unsigned seed) {
  std::mt19937_64 random(seed);
  TreeBuilder b;
  for (int i = 0; i < 300; ++i) {
    std::uint32_t node = 0;
    for (std::uint64_t d = random() % 12; d > 0; --d) {
      const std::uint64_t f = random() % 9;
      node = b.Child(node, b.AddFunction({.name = fmt::format("fn{}", f),
                                          .module = f % 2 == 0 ? "app" : "libc.so",
                                          .file = "a.cc",
                                          .start_line = static_cast<std::int64_t>(f)}));
    }
    // Beyond 2^53 and negative: values must come back exactly.
    b.AddValue(node, static_cast<std::int64_t>(random()) >> 8, 3);
  }
  return b.Build();
}

TEST(FlameBinary, RoundTripsToTheLastBit) {
  const FlameTree tree = profile::Prune(RandomTree(1), {.max_nodes = 200});
  const auto back = DecodeFlameBinary(
      EncodeFlameBinary(tree, R"({"unit":"count"})", {.self = tree.total, .count = tree.self}));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->meta, R"({"unit":"count"})");
  EXPECT_EQ(back->tree.depth, tree.depth);
  EXPECT_EQ(back->tree.function, tree.function);
  EXPECT_EQ(back->tree.self, tree.self);
  EXPECT_EQ(back->tree.total, tree.total);
  EXPECT_EQ(back->tree.self_count, tree.self_count);
  EXPECT_EQ(back->tree.hidden_nodes, tree.hidden_nodes);
  EXPECT_EQ(back->before_self, tree.total);
  EXPECT_EQ(back->before_count, tree.self);
  for (std::size_t i = 0; i < tree.size(); ++i) EXPECT_EQ(back->tree.Name(i), tree.Name(i));
}

TEST(FlameBinary, SurvivesEveryTruncationAndFlippedByte) {
  const std::string bytes = EncodeFlameBinary(RandomTree(2), "{}");
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_FALSE(DecodeFlameBinary(bytes.substr(0, n)));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    [[maybe_unused]] const bool ok = DecodeFlameBinary(damaged).has_value();
  }
}

}  // namespace
}  // namespace wherefore::formats
