#include "base/shell.h"

#include <gtest/gtest.h>

namespace wherefore {
namespace {

TEST(Shell, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(ShellQuoted("shop"), "shop");
  EXPECT_EQ(ShellQuoted("a/b-c.d:e@f"), "a/b-c.d:e@f");
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("-rf"), "'-rf'");
  EXPECT_EQ(ShellQuoted("shop GET /"), "'shop GET /'");
  EXPECT_EQ(ShellQuoted("shop; touch x #"), "'shop; touch x #'");
  EXPECT_EQ(ShellQuoted("$(id) `id` \"x\""), "'$(id) `id` \"x\"'");
  EXPECT_EQ(ShellQuoted("it's\n"), "'it'\\''s\n'");
}

}  // namespace
}  // namespace wherefore
