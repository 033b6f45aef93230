#include "profile/line_table.h"

#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

TEST(LineTable, CountsRecursionOnceAndOnlyTheLeafAsSelf) {
  LineTable table([](const FlameFunction& f) { return f.name != "main"; });
  const std::size_t f = table.Function({.name = "f", .file = "f.cc"});
  EXPECT_EQ(table.Function({.name = "main"}), LineTable::kNotWanted);
  table.BeginStack(10);  // f:7 <- f:7 <- f:9 <- main
  table.Add(f, 7);
  table.Add(f, 7);
  table.Add(f, 9);
  table.Add(LineTable::kNotWanted, 1);
  table.BeginStack(5);  // main calls something else that calls f:9
  table.Add(LineTable::kNotWanted, 3);
  table.Add(f, 9);
  const auto functions = table.Take();
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].self, 10);
  EXPECT_EQ(functions[0].total, 15);
  ASSERT_EQ(functions[0].lines.size(), 2u);
  EXPECT_EQ(functions[0].lines[0].self, 10);
  EXPECT_EQ(functions[0].lines[0].total, 10);
  EXPECT_EQ(functions[0].lines[1].self, 0);
  EXPECT_EQ(functions[0].lines[1].total, 15);
}

}  // namespace
}  // namespace wherefore::profile
