#include "sdk/unwind/module_map.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

#include "sdk/unwind/jit_names.h"
#include "sdk/unwind/modules.h"
#include "sdk/unwind/unwind_sampling.h"
#include "sdk/unwind/unwind_workload.h"

namespace wherefore::sdk {
namespace {

TEST(ModuleMap, KnowsTheProgramAndItsLibraries) {
  ModuleMap map;
  EXPECT_EQ(map.Modules(), nullptr);
  EXPECT_TRUE(map.Update());
  EXPECT_FALSE(map.Update());
  const auto modules = map.Modules();
  ASSERT_NE(modules, nullptr);
  EXPECT_EQ(modules->generation, 1u);
  const Module* const own = modules->Find(reinterpret_cast<std::uint64_t>(&Recurse));
  ASSERT_NE(own, nullptr);
  EXPECT_TRUE(own->path.ends_with("/sdk_test")) << own->path;
  EXPECT_EQ(own->build_id.size(), 20u);
  const Module* const libc =
      modules->Find(reinterpret_cast<std::uint64_t>(dlsym(RTLD_NEXT, "gnu_get_libc_version")));
  ASSERT_NE(libc, nullptr);
  EXPECT_TRUE(libc->path.ends_with("/libc.so.6")) << libc->path;
  EXPECT_GT(libc->table->rows().row_count, 20'000u);
  EXPECT_EQ(modules->Find(0), nullptr);
  EXPECT_EQ(modules->Find(UINT64_MAX), nullptr);
  const bool has_vdso = std::ranges::any_of(
      modules->modules, [](const Module& module) { return module.path.starts_with("linux-vdso"); });
  EXPECT_TRUE(has_vdso);
}

TEST(ModuleMap, RemembersWhatWasUnloaded) {
  ModuleMap map;
  map.Update();
  void* const library = dlopen(UNWIND_PLUGIN_A, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto address = reinterpret_cast<std::uint64_t>(dlsym(library, "PluginRun"));
  EXPECT_EQ(map.Modules()->Find(address), nullptr);
  ASSERT_TRUE(map.Update());
  const std::uint64_t loaded = map.Modules()->generation;
  const std::size_t bytes = map.table_bytes();
  dlclose(library);
  ASSERT_TRUE(map.Update());
  EXPECT_EQ(map.Modules()->Find(address), nullptr);
  ASSERT_NE(map.Modules(loaded), nullptr);
  EXPECT_NE(map.Modules(loaded)->Find(address), nullptr);
  for (int i = 0; i < 70; ++i) {
    void* const again = dlopen(UNWIND_PLUGIN_A, RTLD_NOW);
    map.Update();
    dlclose(again);
    map.Update();
  }
  EXPECT_EQ(map.table_bytes(), bytes) << "a known build id costs nothing";
  EXPECT_EQ(map.Modules(loaded), nullptr) << "only so many generations are kept";
}

TEST(Modules, FindsWhatWasLoadedAfterAnAddressWasSeen) {
  ModuleMap map;
  Modules modules(map);
  EXPECT_EQ(map.generation(), 0U);
  map.Update();
  const std::uint64_t before = map.generation();
  const auto own = reinterpret_cast<std::uint64_t>(&Recurse);
  const std::uint32_t program = modules.Find(own, before).module;
  void* const library = dlopen(UNWIND_PLUGIN_A, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto address = reinterpret_cast<std::uint64_t>(dlsym(library, "PluginRun"));
  EXPECT_EQ(modules.Find(address, before).module, Modules::kUnknown);
  ASSERT_TRUE(map.Update());
  const Modules::Place since = modules.Find(address, before);
  ASSERT_NE(since.module, Modules::kUnknown);
  EXPECT_TRUE(modules.info(since.module).path.ends_with("unwind_plugin_a.so"));
  EXPECT_EQ(modules.NameOf(since.module, since.address).name, "PluginRun");
  EXPECT_EQ(modules.Find(own, before).module, program);
  dlclose(library);
  ASSERT_TRUE(map.Update());
  EXPECT_EQ(modules.Find(address, map.generation()).module, Modules::kUnknown);
}

// Threads unwind all the time while libraries come and go under them.
TEST(ModuleMap, ReadersWhileLibrariesComeAndGo) {
  ModuleMap map;
  map.Update();
  std::atomic<bool> stop{false};
  std::atomic<std::size_t> unwound{0}, complete{0};
  std::vector<std::thread> readers;
  readers.reserve(3);
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      const StackMemory stack = OwnStack();
      const auto cache = std::make_unique<RuleCache>();
      std::uint64_t pcs[64];
      while (!stop) {
        const CodeMapSlots::Reader reader(map.slots());
        UnwindEnd end = UnwindEnd::kNoTable;
        Unwind(CaptureRegisters(), stack,
               {.map = reader.get(), .cache = cache.get(), .max_depth = 64}, pcs, &end);
        ++unwound;
        complete += end == UnwindEnd::kComplete ? 1 : 0;
      }
    });
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  int rounds = 0;
  while (rounds <= 100 || std::chrono::steady_clock::now() < until) {
    void* const library = dlopen(rounds++ % 2 == 0 ? UNWIND_PLUGIN_A : UNWIND_PLUGIN_B, RTLD_NOW);
    map.Update();
    dlclose(library);
    map.Update();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  printf("%zu unwound, %d loads\n", unwound.load(), rounds);
  EXPECT_GE(complete, unwound - unwound / 100);
}

// What a program does that ends before it needed tables.
TEST(ModuleMap, AStackCanBeFollowedWithTheFunctionsOnItAlone) {
  ModuleMap whole;
  ModuleMap part;
  whole.Update();
  const StackMemory stack = OwnStack();
  const Registers start = CaptureRegisters();
  UnwindEnd end = UnwindEnd::kNoTable;
  std::uint64_t expected[64];
  std::uint64_t pcs[64];
  const auto follow = [&](ModuleMap& map, std::uint64_t* into) {
    const CodeMapSlots::Reader reader(map.slots());
    const int depth = Unwind(start, stack, {.map = reader.get(), .max_depth = 64}, into, &end);
    return std::span<const std::uint64_t>(into, static_cast<std::size_t>(depth));
  };
  const auto all = follow(whole, expected);
  ASSERT_EQ(end, UnwindEnd::kComplete);
  while (part.UpdateFor(follow(part, pcs))) {
  }
  EXPECT_TRUE(std::ranges::equal(follow(part, pcs), all));
  EXPECT_EQ(end, UnwindEnd::kComplete);
  std::size_t functions = 0;
  for (const Module& module : part.Modules()->modules) functions += module.table->function_count();
  EXPECT_LT(functions, 200U) << "of tens of thousands";
  part.ForgetPart();
  EXPECT_FALSE(part.slots().published());
  EXPECT_TRUE(part.Update());
  EXPECT_TRUE(std::ranges::equal(follow(part, pcs), all));
}

TEST(ModuleMap, WorksInTheChildOfAFork) {
  ModuleMap map;
  map.Update();
  const CodeMapSlots::Reader held(map.slots());  // a reader that does not exist in the child
  map.BeforeFork();
  const pid_t child = fork();
  if (child == 0) {
    map.AfterForkInChild();
    dlopen(UNWIND_PLUGIN_A, RTLD_NOW);
    const bool updated = map.Update();
    _exit(updated && map.Modules()->generation == 2 ? 0 : 1);
  }
  map.AfterForkInParent();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class JitNamesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "jit-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/perf-" + std::to_string(getpid()) + ".map";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Append(std::string_view text) const { std::ofstream(path_, std::ios::app) << text; }

  std::string folder_;
  std::string path_;
};

TEST_F(JitNamesTest, AFunctionIsWhereItsCompilerSaid) {
  JitNames names(folder_);
  EXPECT_EQ(names.Find(0x1000), "") << "there is no file";
  Append("1000 20 LazyCompile:*parse app.js:3\n0x2000 0x10 py::main:/app.py\n");
  names.Refresh();
  EXPECT_EQ(names.Find(0xfff), "");
  EXPECT_EQ(names.Find(0x1000), "LazyCompile:*parse app.js:3");
  EXPECT_EQ(names.Find(0x101f), "LazyCompile:*parse app.js:3");
  EXPECT_EQ(names.Find(0x1020), "");
  EXPECT_EQ(names.Find(0x200f), "py::main:/app.py");
}

TEST_F(JitNamesTest, WhatIsAppendedCountsOnceItsLineIsWhole) {
  JitNames names(folder_);
  Append("1000 20 first\n2000 20 sec");
  names.Refresh();
  EXPECT_EQ(names.Find(0x2000), "");
  Append("ond\n1000 8 again\n");
  names.Refresh();
  EXPECT_EQ(names.Find(0x2000), "second");
  EXPECT_EQ(names.Find(0x1000), "again") << "the last one counts";
  EXPECT_EQ(names.Find(0x1010), "");
}

TEST_F(JitNamesTest, WhatIsNoLineIsPassedOver) {
  JitNames names(folder_);
  Append(
      "\nnonsense\n1000\n1000 20\n1000 0 nothing\n99999999999999999999 1 too large\n3000 1 fine\n");
  Append("4000 1 " + std::string(100'000, 'x') + "\n");
  names.Refresh();
  EXPECT_EQ(names.Find(0x1000), "");
  EXPECT_EQ(names.Find(0x3000), "fine");
  EXPECT_EQ(names.Find(0x4000), std::string(512, 'x'));
}

TEST_F(JitNamesTest, ALinkIsNotFollowedAndAnotherFileStartsAgain) {
  JitNames names(folder_);
  std::ofstream(folder_ + "/other") << "1000 20 secret\n";
  std::filesystem::create_symlink(folder_ + "/other", path_);
  names.Refresh();
  EXPECT_EQ(names.Find(0x1000), "");
  std::filesystem::remove(path_);
  Append("2000 20 mine\n");
  names.Refresh();
  EXPECT_EQ(names.Find(0x2000), "mine");
  std::filesystem::rename(folder_ + "/other", path_);
  names.Refresh();
  EXPECT_EQ(names.Find(0x2000), "");
  EXPECT_EQ(names.Find(0x1000), "secret");
}

}  // namespace
}  // namespace wherefore::sdk
