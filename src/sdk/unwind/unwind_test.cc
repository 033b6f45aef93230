#include "sdk/unwind/unwind.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <span>

#include "elf/elf_file.h"
#include "sdk/unwind/unwind_assembly.h"
#include "sdk/unwind/unwind_sampling.h"
#include "sdk/unwind/unwind_workload.h"

namespace wherefore::sdk {
namespace {

using Work = void (*)(const std::atomic<bool>&);

class SampledUnwind : public testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer holds signals back until the next call it intercepts";
#endif
  }
};

// At least 99 of 100 stacks reach the thread's start and pass through the work's own function.
void ExpectComplete(const char* name, Work work, bool other_stacks = false) {
  ModuleMap map;
  map.Update();
  Sampler sampler(map);
  if (other_stacks) sampler.AllowOtherStacks();
  sampler.Run(work);
  sampler.Print(name);
  EXPECT_GE(sampler.samples().size(), 1000u);
  EXPECT_GE(sampler.ShareWith(reinterpret_cast<const void*>(work)), 0.99);
}

TEST_F(SampledUnwind, OptimisedCode) {
  ExpectComplete("sort, map, printf, malloc", SortAndFormat);
}
TEST_F(SampledUnwind, ExceptionsInFlight) {
  ExpectComplete("exceptions", ThrowAndCatch);
}
TEST_F(SampledUnwind, Coroutines) {
  ExpectComplete("coroutines", ResumeCoroutines);
}
TEST_F(SampledUnwind, RealignedStacks) {
  ExpectComplete("realigned stacks", RealignStacks);
}
TEST_F(SampledUnwind, SignalFrames) {
  ExpectComplete("inside signal handlers", HandleSignals);
}
TEST_F(SampledUnwind, AlternateStack) {
  ExpectComplete("handlers on alternate stacks", HandleSignalsOnAlternateStack, true);
}

TEST_F(SampledUnwind, ThroughPlt) {
  ModuleMap map;
  map.Update();
  auto program = elf::ElfFile::Open("/proc/self/exe");
  ASSERT_TRUE(program);
  const elf::Section* const plt = program->FindSection(".plt");
  ASSERT_NE(plt, nullptr);
  const auto in_plt = [&](const Sample& sample) {
    const auto modules = map.Modules(sample.generation);
    const Module* const module = modules->Find(sample.pcs[0]);
    return module != nullptr && module->build_id == program->build_id() &&
           sample.pcs[0] - module->bias - plt->address < plt->size;
  };
  Sampler sampler(map);
  sampler.Step(CallThroughPlt);
  sampler.Print("PLT, each instruction");
  std::size_t seen = 0;
  std::size_t complete = 0;
  for (const Sample& sample : sampler.samples()) {
    if (!in_plt(sample)) continue;
    ++seen;
    const bool whole = sample.end == UnwindEnd::kComplete &&
                       sampler.Contains(sample, reinterpret_cast<const void*>(CallThroughPlt));
    complete += whole ? 1 : 0;
  }
  EXPECT_GE(seen, 10u);
  EXPECT_EQ(complete, seen);
}

TEST_F(SampledUnwind, InSeveralThreads) {
  ModuleMap map;
  map.Update();
  Sampler sampler(map, 4000);
  sampler.Run([&](const std::atomic<bool>& stop) {
    std::vector<std::thread> threads;
    for (const Work work : {SortAndFormat, ThrowAndCatch, ResumeCoroutines}) {
      threads.emplace_back([&, work] {
        const Sampler::ThreadTimer timer(sampler);
        work(stop);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  sampler.Print("several threads");
  EXPECT_GE(sampler.Share(UnwindEnd::kComplete), 0.99);
}

int CountFrames(const Sampler& sampler, const Sample& sample, const void* function) {
  int frames = 0;
  for (int i = 0; i < sample.depth; ++i) {
    const bool same =
        sampler.FunctionOf(sample, sample.pcs[i]) == reinterpret_cast<std::uint64_t>(function);
    frames += same ? 1 : 0;
  }
  return frames;
}

TEST_F(SampledUnwind, DepthIsExactAndCut) {
  ModuleMap map;
  map.Update();
  for (const int depth : {5, 60, 1000}) {
    Sampler sampler(map, 300);
    sampler.Run([&](const std::atomic<bool>& stop) { Recurse(depth, stop); });
    std::size_t right = 0;
    for (const Sample& sample : sampler.samples()) {
      const int frames = CountFrames(sampler, sample, reinterpret_cast<const void*>(Recurse));
      const bool cut = sample.end == UnwindEnd::kTruncated && sample.depth == kMaxDepth;
      const bool whole = sample.end == UnwindEnd::kComplete && frames == depth + 1;
      right += (depth > kMaxDepth ? cut : whole) ? 1 : 0;
    }
    EXPECT_GE(right, sampler.samples().size() * 99 / 100) << depth;
  }
}

// A library, then another one in its place: the rows of the first would be wrong.
TEST_F(SampledUnwind, LibrariesThatComeAndGo) {
  using PluginRun = int (*)(int (*)(void*), void*, int);
  ModuleMap map;
  map.Update();
  Sampler sampler(map);
  std::vector<const void*> places;
  for (const char* path : {UNWIND_PLUGIN_A, UNWIND_PLUGIN_B, UNWIND_PLUGIN_A, UNWIND_PLUGIN_B}) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto run = reinterpret_cast<PluginRun>(dlsym(library, "PluginRun"));
    places.push_back(reinterpret_cast<const void*>(run));
    EXPECT_TRUE(map.Update());
    EXPECT_FALSE(map.Update());
    sampler.Clear();
    sampler.Run([&](const std::atomic<bool>& stop) {
      const auto call = [](void* argument) {
        return Recurse(3, *static_cast<const std::atomic<bool>*>(argument));
      };
      run(call, const_cast<std::atomic<bool>*>(&stop), 7);
    });
    sampler.Print(path == std::string_view(UNWIND_PLUGIN_A) ? "plugin a" : "plugin b");
    EXPECT_GE(sampler.ShareWith(places.back()), 0.99);
    dlclose(library);
  }
  EXPECT_EQ(places[0], places[2]) << "the second load was not in the first one's place";
}

// Of samples below `code`, which calls its second argument with its first, those that lead on to
// its caller.
double ShareThrough(const char* what, std::span<const std::uint8_t> code) {
  void* const memory =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return -1;
  memcpy(memory, code.data(), code.size());
  if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0) return -1;
  ModuleMap map;
  map.Update();
  Sampler sampler(map, 1000);
  sampler.AllowOtherStacks();
  sampler.Run([&](const std::atomic<bool>& stop) {
    SpinIn(reinterpret_cast<void (*)(void (*)(const std::atomic<bool>*), const std::atomic<bool>*)>(
               memory),
           stop);
  });
  sampler.Print(what);
  munmap(memory, 4096);
  return sampler.ShareWith(reinterpret_cast<const void*>(SpinIn));
}

// Code without any unwind information: push rbp; mov rbp, rsp; xchg rdi, rsi; call rsi; pop rbp;
// ret
TEST_F(SampledUnwind, GeneratedCodeByFramePointers) {
  constexpr std::uint8_t kCode[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x87,
                                    0xfe, 0xff, 0xd6, 0x5d, 0xc3};
  EXPECT_GE(ShareThrough("generated code", kCode), 0.99);
}

TEST_F(SampledUnwind, GeneratedCodeByItsWayOut) {
  // sub rsp, 8; xchg rdi, rsi; call rsi; add rsp, 8; ret
  constexpr std::uint8_t kTrampoline[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x87, 0xfe,
                                          0xff, 0xd6, 0x48, 0x83, 0xc4, 0x08, 0xc3};
  EXPECT_GE(ShareThrough("trampoline", kTrampoline), 0.99);
  // push rbp; push r12; push rbx; xor ebp, ebp; sub rsp, 16; xchg rdi, rsi; call rsi; add rsp, 16;
  // pop rbx; pop r12; pop rbp; ret
  constexpr std::uint8_t kPushes[] = {0x55, 0x41, 0x54, 0x53, 0x31, 0xed, 0x48, 0x83,
                                      0xec, 0x10, 0x48, 0x87, 0xfe, 0xff, 0xd6, 0x48,
                                      0x83, 0xc4, 0x10, 0x5b, 0x41, 0x5c, 0x5d, 0xc3};
  EXPECT_GE(ShareThrough("pushes", kPushes), 0.99);
}

// What is on the way from the leaf to RunAssembly, as AssemblyCase::way says it.
std::string WayToRunAssembly(const Sampler& sampler, const Sample& sample) {
  std::string way;
  for (int i = 0; i < sample.depth; ++i) {
    if (sample.pcs[i] == kRecoveredMark) {
      way += 'r';
      continue;
    }
    const std::uint64_t function = sampler.FunctionOf(sample, sample.pcs[i]);
    if (function == reinterpret_cast<std::uint64_t>(RunAssembly)) return way;
    if (function == reinterpret_cast<std::uint64_t>(SpinUntilStop))
      way.assign("S");
    else
      way += function == 0 ? '?' : 'A';
  }
  return way + "...";
}

TEST_F(SampledUnwind, HandWrittenCode) {
  ModuleMap map;
  map.Update();
  for (int i = 0; i < kAssemblyCaseCount; ++i) {
    const AssemblyCase& c = kAssemblyCases[i];
    Sampler sampler(map, 1000);
    sampler.AllowOtherStacks();
    sampler.Run([&](const std::atomic<bool>& stop) { RunAssembly(c.code, &stop); });
    sampler.Print(c.name);
    std::map<std::string, std::size_t> ways;
    for (const Sample& sample : sampler.samples()) {
      if (sample.end == UnwindEnd::kComplete) ++ways[WayToRunAssembly(sampler, sample)];
    }
    EXPECT_GE(ways[c.way], sampler.samples().size() * 99 / 100) << c.name;
    for (const auto& [way, count] : ways) {
      if (way != c.way) printf("    %zu by another way: %s\n", count, way.c_str());
    }
  }
}

// A return address alone proves nothing: from there it must lead to the thread's start.
TEST_F(SampledUnwind, WhatDoesNotLeadToTheStartIsNotTakenForACaller) {
  ModuleMap map;
  map.Update();
  Sampler sampler(map, 1);
  sampler.AllowOtherStacks();
  const AssemblyCase& leaf = kAssemblyCases[0];
  sampler.Run([&](const std::atomic<bool>& stop) { RunAssembly(leaf.code, &stop); });
  const Sample& sample = sampler.samples()[0];
  ASSERT_EQ(WayToRunAssembly(sampler, sample), "?r");
  const CodeMapSlots::Reader reader(map.slots());
  const std::uint64_t caller = sample.pcs[2] + 1;
  // Nothing above it; something that is no frame; the same again and again.
  for (const std::uint64_t above : {std::uint64_t{0}, std::uint64_t{0x1234}, caller}) {
    std::vector<std::uint64_t> stack(512, above);
    stack[0] = caller;
    const auto low = reinterpret_cast<std::uint64_t>(stack.data());
    std::uint64_t pcs[256];
    UnwindEnd end = UnwindEnd::kComplete;
    const int count = Unwind({.pc = sample.pcs[0], .sp = low, .bp = low},
                             {.low = low, .high = low + stack.size() * 8, .pid = getpid()},
                             {.map = reader.get()}, pcs, &end);
    EXPECT_NE(end, UnwindEnd::kComplete) << above;
    EXPECT_LE(count, 2) << above;
  }
}

// From ordinary code, as the hooks of malloc and of locks do it.
[[gnu::noinline]] int UnwindHere(ModuleMap& map, std::uint64_t* pcs, UnwindEnd* end) {
  const CodeMapSlots::Reader reader(map.slots());
  const int count = Unwind(CaptureRegisters(), OwnStack(), {.map = reader.get()}, pcs, end);
  asm volatile("" ::: "memory");
  return count;
}

TEST(Unwind, FromOrdinaryCode) {
  ModuleMap map;
  map.Update();
  std::uint64_t pcs[256];
  UnwindEnd end = UnwindEnd::kNoTable;
  const int count = UnwindHere(map, pcs, &end);
  EXPECT_EQ(end, UnwindEnd::kComplete);
  ASSERT_GT(count, 3);
  const auto function = [&](std::uint64_t pc) {
    const auto modules = map.Modules();
    const Module* const module = modules->Find(pc);
    return module->bias + module->table->FindFunction(pc - module->bias)->start;
  };
  EXPECT_EQ(function(pcs[0]), reinterpret_cast<std::uint64_t>(UnwindHere));
  EXPECT_EQ(function(pcs[1]), function(CaptureRegisters().pc));
}

TEST(Unwind, WithoutAMapOnlyTheLeafIsKnown) {
  std::uint64_t pcs[256];
  UnwindEnd end = UnwindEnd::kComplete;
  EXPECT_EQ(Unwind({.pc = 1234, .sp = 0, .bp = 0}, {}, {}, pcs, &end), 1);
  EXPECT_EQ(pcs[0], 1234u);
  EXPECT_EQ(end, UnwindEnd::kNoTable);
}

// Any registers over any bytes: an end, no fault, never more than asked for.
TEST(Unwind, DamagedStacks) {
  ModuleMap map;
  map.Update();
  const CodeMapSlots::Reader reader(map.slots());
  std::mt19937_64 random(20261115);
  std::vector<std::uint64_t> stack(4096);
  const auto low = reinterpret_cast<std::uint64_t>(stack.data());
  static RuleCache cache;
  std::uint64_t pcs[64];
  std::size_t longer = 0;
  for (int round = 0; round < 200'000; ++round) {
    const auto code_address = [&] {
      const CodeRange& range = reader.get()->ranges[random() % reader.get()->count];
      return range.start + random() % (range.end - range.start);
    };
    const auto stack_address = [&] { return low + random() % (stack.size() * 8) / 8 * 8; };
    for (int i = 0; i < 64; ++i) {
      stack[random() % stack.size()] = random() % 2 == 0 ? code_address() : stack_address();
    }
    const Registers start{.pc = code_address(),
                          .sp = random() % 16 == 0 ? random() : stack_address(),
                          .bp = random() % 4 == 0 ? random() : stack_address(),
                          .bp_known = random() % 4 != 0};
    const StackMemory memory{
        .low = low, .high = low + stack.size() * 8, .pid = round % 8 == 0 ? getpid() : 0};
    UnwindEnd end = UnwindEnd::kComplete;
    const int count =
        Unwind(start, memory, {.map = reader.get(), .cache = &cache, .max_depth = 64}, pcs, &end);
    ASSERT_GE(count, 1);
    ASSERT_LE(count, 64);
    longer += count > 2 ? 1 : 0;
  }
  EXPECT_GT(longer, 1000u);
}

struct Place {
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;
};

// Waits until the thread sleeps in poll() and says where.
Place WaitForPoll(int tid) {
  const std::string path = "/proc/self/task/" + std::to_string(tid) + "/syscall";
  while (true) {
    std::ifstream file(path);
    std::vector<std::string> words{std::istream_iterator<std::string>(file), {}};
    if (words.size() != 9 || words[0] != "7") continue;
    return {.pc = std::stoull(words[8], nullptr, 16), .sp = std::stoull(words[7], nullptr, 16)};
  }
}

// Another thread, asleep: its pc and sp from /proc, a copy of its stack, no rbp.
Sample UnwindSleeper(ModuleMap& map, int (*sleep)(int depth, int descriptor)) {
  Sample sample{.generation = map.Modules()->generation};
  int pipe_ends[2];
  EXPECT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  std::atomic<int> tid{0};
  StackMemory bounds;
  std::thread sleeper([&] {
    bounds = OwnStack();
    tid = static_cast<int>(syscall(SYS_gettid));
    tid.notify_one();
    sleep(10, pipe_ends[0]);
  });
  tid.wait(0);
  const Place place = WaitForPoll(tid);
  std::vector<std::uint8_t> copy(bounds.high - place.sp);
  const iovec local{copy.data(), copy.size()};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): another thread's stack
  const iovec remote{reinterpret_cast<void*>(place.sp), copy.size()};
  EXPECT_EQ(process_vm_readv(getpid(), &local, 1, &remote, 1, 0),
            static_cast<ssize_t>(copy.size()));
  const CodeMapSlots::Reader reader(map.slots());
  sample.depth = Unwind({.pc = place.pc, .sp = place.sp, .bp_known = false},
                        {.low = place.sp, .high = bounds.high, .copy = copy.data()},
                        {.map = reader.get()}, sample.pcs, &sample.end);
  EXPECT_EQ(write(pipe_ends[1], "x", 1), 1);
  sleeper.join();
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  return sample;
}

TEST(Unwind, ASleepingThread) {
  ModuleMap map;
  map.Update();
  const Sampler lookup(map, 1);
  for (int (*const sleep)(int, int) : {SleepDeep<0>, SleepDeep<1>}) {
    const Sample sample = UnwindSleeper(map, sleep);
    EXPECT_EQ(sample.end, UnwindEnd::kComplete);
    EXPECT_EQ(CountFrames(lookup, sample, reinterpret_cast<const void*>(sleep)), 11);
  }
}

}  // namespace
}  // namespace wherefore::sdk
