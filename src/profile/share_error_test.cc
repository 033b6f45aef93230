#include "profile/share_error.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/test_source.h"

namespace wherefore::profile {
namespace {

TEST(ShareError, IsThatOfTheSharedVectors) {
  std::ifstream in(TestSource("tests/golden/share_errors.txt"));
  std::string line;
  int checked = 0;
  while (std::getline(in, line)) {
    std::int64_t seen = 0;
    std::int64_t all = 0;
    double points = 0;
    std::string text;
    if (!(std::istringstream(line) >> seen >> all >> points >> text)) continue;  // a comment
    EXPECT_NEAR(ShareError(seen, all), points, 1e-5) << line;
    EXPECT_EQ(ShareErrorText(seen, all), text) << line;
    ++checked;
  }
  EXPECT_GT(checked, 10) << "no vectors found";
}

}  // namespace
}  // namespace wherefore::profile
