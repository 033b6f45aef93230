#include "profile/tree_path.h"

#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

FlameTree Sample() {
  TreeBuilder builder;
  const auto main = builder.AddFunction({.name = "main", .module = "app"});
  const auto work = builder.AddFunction({.name = "würk<int>", .module = "libcore.so"});
  const auto top = builder.Child(0, main);
  builder.AddValue(top, 1, 1);
  const auto below = builder.Child(top, work);
  builder.AddValue(below, 5, 2);
  builder.AddValue(builder.Child(below, work), 7, 3);
  return builder.Build();
}

TEST(TreePath, AddressesAreThoseThePageComputes) {
  const auto hashes = PathHashes(Sample());
  ASSERT_EQ(hashes.size(), 4u);
  EXPECT_EQ(hashes[0], 0u);
  // The same vectors as in ui/test/path.test.ts.
  EXPECT_EQ(PathHashText(hashes[1]), "f3520e06e945e123");
  EXPECT_EQ(PathHashText(hashes[2]), "cb2c92eaac3a14e7");
  EXPECT_EQ(PathHashText(hashes[3]), "205a7ba5174ab9ff");
}

TEST(TreePath, TextComesBackAsTheSameHash) {
  EXPECT_EQ(ParsePathHash(PathHashText(0x0123456789abcdefu)), 0x0123456789abcdefu);
  EXPECT_FALSE(ParsePathHash("0123"));
  EXPECT_FALSE(ParsePathHash("0123456789abcdeg"));
}

TEST(TreePath, TheSubtreeKeepsItsValues) {
  const FlameTree part = Subtree(Sample(), 2);
  ASSERT_EQ(part.size(), 2u);
  EXPECT_EQ(part.Name(0), "würk<int>");
  EXPECT_EQ(part.depth[1], 1u);
  EXPECT_EQ(part.total[0], 12);
  EXPECT_EQ(part.total_count[0], 5);
}

}  // namespace
}  // namespace wherefore::profile
