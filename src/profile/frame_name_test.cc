#include "profile/frame_name.h"

#include <gtest/gtest.h>

namespace wherefore::profile {
namespace {

TEST(Demangle, KnowsCppAndRust) {
  EXPECT_EQ(Demangle("_ZN3foo3barEi"), "foo::bar(int)");
  EXPECT_EQ(Demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(Demangle("main.main"), "main.main");
  EXPECT_EQ(Demangle("_Zbroken"), "_Zbroken");
}

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
