// Limits as containers set them, how they are divided, and what is refused.
#include "base/memory_budget.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/memory_limit.h"

namespace wherefore {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMb = 1u << 20;

// A fake /proc and cgroup tree.
class FakeMachine {
 public:
  FakeMachine() : root_(fs::temp_directory_path() / ("memory_limit." + std::to_string(getpid()))) {}
  ~FakeMachine() { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] MemoryLimit Limit() const { return FindMemoryLimit(root_.string()); }

 private:
  fs::path root_;
};

TEST(MemoryLimit, OfTheSecondVersionIsTheLeastUpToTheRoot) {
  FakeMachine machine;
  machine.Write("proc/self/cgroup", "0::/kube/pod/container\n");
  machine.Write("proc/self/mountinfo",
                "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  machine.Write("sys/fs/cgroup/kube/pod/container/memory.max", "max\n");
  machine.Write("sys/fs/cgroup/kube/pod/memory.max", "314572800\n");
  machine.Write("sys/fs/cgroup/kube/memory.max", "524288000\n");
  EXPECT_EQ(machine.Limit().bytes, 300 * kMb);
  EXPECT_EQ(machine.Limit().of, "the cgroup");
  machine.Write("sys/fs/cgroup/kube/pod/container/memory.high", "209715200\n");
  EXPECT_EQ(machine.Limit().bytes, 200 * kMb) << "above it the kernel slows us down";
}

TEST(MemoryLimit, OfTheFirstVersionIsFoundAlsoInAContainer) {
  FakeMachine machine;
  machine.Write("proc/self/cgroup", "4:memory:/docker/abc\n0::/\n");
  machine.Write(
      "proc/self/mountinfo",
      "31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "35 25 0:31 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory\n");
  machine.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "734003200\n");
  EXPECT_EQ(machine.Limit().bytes, 700 * kMb);
}

TEST(MemoryLimit, WithoutCgroupsItIsTheMachines) {
  const FakeMachine machine;
  EXPECT_EQ(machine.Limit().of, "the machine");
  EXPECT_GT(machine.Limit().bytes, 100 * kMb);
}

TEST(MemoryLimit, UseIsWhatTheKernelCounts) {
  const MemoryUse before = ReadMemoryUse();
  const std::string block(64 * kMb, 'x');
  const MemoryUse after = ReadMemoryUse();
  EXPECT_GE(after.anonymous, before.anonymous + 60 * kMb);
  EXPECT_GE(after.address_space, before.address_space + 60 * kMb);
  EXPECT_EQ(block[1], 'x');
}

TEST(MemoryBudget, SharesAddUpToLessThanTheLimit) {
  for (const std::size_t mb : {200u, 300u, 500u, 700u, 1000u, 4000u, 64'000u}) {
    const MemoryShares shares = DivideMemory(mb * kMb);
    EXPECT_LE(shares.engine + shares.work, mb * kMb) << mb;
    EXPECT_GE(shares.work, 16 * kMb) << mb;
  }
}

TEST(MemoryBudget, WhatIsNotThereIsRefusedAndWhatIsGivenBackIsThereAgain) {
  MemoryBudget budget;
  EXPECT_TRUE(budget.Take(SIZE_MAX / 2)) << "no limit yet";
  budget.Give(SIZE_MAX / 2);
  budget.SetLimit(1000 * kMb);
  const std::size_t work = budget.shares().work;
  EXPECT_FALSE(budget.Fits(work + 1));
  EXPECT_FALSE(budget.Take(work + 1));
  EXPECT_TRUE(budget.Take(work - kMb));
  EXPECT_FALSE(budget.Take(2 * kMb));
  budget.Give(work - kMb);
  budget.TakeAnyway(2 * work);
  EXPECT_FALSE(budget.Take(1)) << "what had to go on leaves nothing for newcomers";
  budget.Give(2 * work);
  EXPECT_TRUE(budget.Take(2 * kMb));
}

TEST(MemoryBudget, WhatIsReallyUsedCountsToo) {
  MemoryBudget budget;
  int asked = 0;
  budget.SetReclaim([&] { ++asked; });
  budget.SetLimit(ReadMemoryUse().anonymous + 200 * kMb);
  EXPECT_TRUE(budget.HasRoom(20 * kMb));
  EXPECT_EQ(asked, 0);
  const std::string block(190 * kMb, 'x');
  EXPECT_FALSE(budget.HasRoom(20 * kMb));
  EXPECT_EQ(asked, 1) << "free memory is asked for first";
  EXPECT_EQ(block[1], 'x');
}

}  // namespace
}  // namespace wherefore
