#include "profile/frame_name.h"

#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

TEST(NameFrame, FallsBackToModuleAndFileOffset) {
  const FlameFunction f = NameFrame({.mapping_file = "/usr/lib/libx.so",
                                     .mapping_start = 0x1000,
                                     .mapping_offset = 0x200,
                                     .address = 0x1010});
  EXPECT_EQ(f.name, "libx.so+0x210");
  EXPECT_EQ(f.module, "libx.so");
  EXPECT_EQ(NameFrame({.address = 0x10}).name, "0x10");
  EXPECT_EQ(NameFrame({}).name, "[unknown]");
}

}  // namespace
}  // namespace wherefore::profile
