// The parts of the profiler that can be tried without a process to profile: queue, tables, markers.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sdk/platform/thread_state.h"
#include "sdk/sample/crash_marker.h"
#include "sdk/sample/event_queue.h"
#include "sdk/sample/heap_sampler.h"
#include "sdk/sample/heap_table.h"
#include "sdk/sample/shared.h"
#include "sdk/unwind/early_stacks.h"

namespace wherefore::sdk {
namespace {

TEST(EventQueue, OneThatWasNeverOpenedCanBeReset) {
  EventQueue queue;
  queue.Reset();
}

TEST(EventQueue, GivesEventsInOrderAndCountsWhatFoundNoRoom) {
  EventQueue queue;
  ASSERT_TRUE(queue.Open(8, 4));
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t i = 0; i < 8; ++i) {
      Event* event = queue.Claim();
      ASSERT_NE(event, nullptr);
      event->value = i;
      event->pcs[3] = static_cast<std::uint64_t>(i);
      queue.Publish(event);
    }
    EXPECT_EQ(queue.Claim(), nullptr);
    queue.CountLost(EventKind::kCpu, {}, 10, 1);
    queue.CountLost(EventKind::kWaiter, WaitKind::kSemaphore, 5, 2);
    queue.CountLost(EventKind::kWaiter, WaitKind::kSemaphore, 6, 1);
    std::vector<EventQueue::Lost> lost;
    const auto take = [&](const EventQueue::Lost& one) { lost.push_back(one); };
    queue.TakeLost(take);
    ASSERT_EQ(lost.size(), 2U);
    EXPECT_EQ(lost[0].kind, EventKind::kCpu);
    EXPECT_EQ(lost[0].events, 1U);
    EXPECT_EQ(lost[0].value, 10);
    EXPECT_EQ(lost[1].kind, EventKind::kWaiter);
    EXPECT_EQ(lost[1].wait, WaitKind::kSemaphore);
    EXPECT_EQ(lost[1].events, 2U);
    EXPECT_EQ(lost[1].value, 11);
    EXPECT_EQ(lost[1].count, 3);
    queue.TakeLost(take);
    EXPECT_EQ(lost.size(), 2U);
    for (std::int64_t i = 0; i < 8; ++i) {
      ASSERT_NE(queue.Front(), nullptr);
      EXPECT_EQ(queue.Front()->value, i);
      EXPECT_EQ(queue.Front()->pcs[3], static_cast<std::uint64_t>(i));
      queue.Pop();
    }
    EXPECT_EQ(queue.Front(), nullptr);
  }
}

TEST(EventQueue, TheFullerItIsTheLessOftenOneShouldCome) {
  EventQueue queue;
  ASSERT_TRUE(queue.Open(8, 1));
  std::vector<std::int64_t> crowding;
  for (int i = 0; i < 8; ++i) {
    crowding.push_back(queue.Crowding());
    queue.Publish(queue.Claim());
  }
  EXPECT_EQ(crowding, (std::vector<std::int64_t>{1, 1, 1, 1, 4, 16, 64, 256}));
  queue.Pop();
  EXPECT_EQ(queue.Crowding(), 256);
}

TEST(EventQueue, ManyThreadsLoseNothingButWhatIsCounted) {
  EventQueue queue;
  ASSERT_TRUE(queue.Open(64, 1));
  constexpr std::int64_t kThreads = 4;
  constexpr std::int64_t kEach = 20'000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> producers;
  producers.reserve(kThreads);
  for (std::int64_t t = 0; t < kThreads; ++t) {
    producers.emplace_back([&, t] {
      for (std::int64_t i = 0; i < kEach; ++i) {
        Event* event = queue.Claim();
        if (event == nullptr) {
          queue.CountLost(EventKind::kCpu, {}, 1, 1);
          continue;
        }
        event->value = (t * kEach) + i;
        queue.Publish(event);
      }
      --running;
    });
  }
  std::set<std::int64_t> seen;
  std::uint64_t lost = 0;
  const auto count = [&](const EventQueue::Lost& one) { lost += one.events; };
  while (running > 0 || queue.Front() != nullptr) {
    if (const Event* event = queue.Front(); event != nullptr) {
      EXPECT_TRUE(seen.insert(event->value).second) << event->value << " came twice";
      queue.Pop();
    }
    queue.TakeLost(count);
  }
  for (std::thread& producer : producers) producer.join();
  queue.TakeLost(count);
  EXPECT_EQ(seen.size() + lost, static_cast<std::size_t>(kThreads * kEach));
}

TEST(EarlyStacks, KeepsStacksUntilItIsFull) {
  EarlyStacks stacks;
  std::uint64_t general[kGeneralRegisters] = {1, 2, 3};
  const Registers start = {.pc = 1, .sp = 4096, .bp = 3, .general = general};
  EXPECT_EQ(stacks.Claim(start, 4096, 8), nullptr) << "it was not opened";
  ASSERT_TRUE(stacks.Open());
  EXPECT_EQ(stacks.Claim({.pc = 1, .sp = 4095}, 4096, 8), nullptr) << "no stack pointer";
  std::vector<std::uint32_t> numbers;
  constexpr std::uint64_t kEach = 64U << 10U;
  while (EarlyStacks::Kept* kept = stacks.Claim(start, 4096, kEach)) {
    kept->bytes()[kEach - 1] = static_cast<std::uint8_t>(numbers.size());
    numbers.push_back(stacks.NumberOf(kept));
  }
  general[1] = 0;  // theirs are gone when it is followed
  // What is written before each takes the room of one.
  EXPECT_EQ(numbers.size(), EarlyStacks::kMostBytes / kEach - 1);
  EXPECT_TRUE(stacks.Filling());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_NE(numbers[i], 0U);
    const EarlyStacks::Kept& kept = stacks.Get(numbers[i]);
    EXPECT_EQ(kept.start.bp, 3U);
    EXPECT_EQ(kept.start.general[1], 2U);
    EXPECT_EQ(kept.size, kEach);
    EXPECT_EQ(kept.bytes()[kEach - 1], static_cast<std::uint8_t>(i));
  }
  stacks.Reset();
  EXPECT_NE(stacks.Claim(start, 4096, kEach), nullptr);
}

TEST(EarlyStacks, TheFullerItIsTheLessOftenOneShouldCome) {
  EarlyStacks stacks;
  ASSERT_TRUE(stacks.Open());
  constexpr std::uint64_t kEighth = EarlyStacks::kMostBytes / 8;
  std::vector<std::int64_t> crowding;
  std::vector<bool> filling;
  for (int i = 0; i < 9; ++i) {
    crowding.push_back(stacks.Crowding());
    filling.push_back(stacks.Filling());
    (void)stacks.Claim({.pc = 1, .sp = 4096}, 4096, kEighth);
  }
  EXPECT_EQ(crowding, (std::vector<std::int64_t>{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536}));
  EXPECT_EQ(filling, (std::vector<bool>{false, false, true, true, true, true, true, true, true}));
}

TEST(EarlyStacks, WhatIsDoneWithGivesItsPagesBackUnlessSomebodyCame) {
  EarlyStacks stacks;
  ASSERT_TRUE(stacks.Open());
  constexpr std::uint64_t kEach = 1U << 20U;
  const auto keep = [&](std::uint8_t with) {
    EarlyStacks::Kept* const kept = stacks.Claim({.pc = 1, .sp = 4096}, 4096, kEach);
    __builtin_memset(kept->bytes(), with, kEach);
    return kept;
  };
  const EarlyStacks::Kept* const first = keep(1);
  const std::uint64_t used = stacks.used();
  const EarlyStacks::Kept* const second = keep(2);
  stacks.Recycle(used);
  EXPECT_EQ(first->bytes()[kEach / 2], 0) << "its pages are gone";
  EXPECT_EQ(second->bytes()[kEach / 2], 2);
  EXPECT_GT(stacks.used(), used);
  stacks.Recycle(stacks.used());
  EXPECT_EQ(stacks.used(), 0U);
  EXPECT_EQ(keep(3), first);
}

// Four that find no room, at a small distance; then one at a far larger distance that does.
TEST(HeapSampler, WhatFoundNoRoomIsMadeUpForWithTheWeightItHad) {
  static CodeMapSlots no_maps;
  g_shared.code_maps = &no_maps;
  ASSERT_TRUE(g_shared.queue.Open(2048, 256));
  g_shared.queue.Reset();
  while (Event* const event = g_shared.queue.Claim()) g_shared.queue.Publish(event);
  const auto near = static_cast<double>(g_shared.queue.Crowding());
  constexpr std::size_t kSize = 100'000;  // seen for certain at the one, hardly at the other
  constexpr std::int64_t kFar = 10'000'000;
  std::vector<char> block(kSize);
  g_shared.heap_period.store(1);
  t_state.heap_armed = false;
  for (int i = 0; i < 4; ++i) OnAllocated(block.data(), kSize);  // the first begins the countdown
  g_shared.heap_period.store(kFar);
  OnAllocated(block.data(), kSize);
  g_shared.queue.Reset();
  t_state.heap_mean = kFar;
  OnAllocated(block.data(), kSize);
  g_shared.heap_period.store(0);
  t_state.heap_armed = false;
  const Event* const event = g_shared.queue.Front();
  ASSERT_NE(event, nullptr);
  const double chance = -std::expm1(-static_cast<double>(kSize) / kFar);
  EXPECT_NEAR(static_cast<double>(event->value), kSize * (4 + 1 / chance), 1);
  EXPECT_NEAR(event->count, 4 + 1 / chance, 1e-6);
  EXPECT_NEAR(event->distance, kFar + (4 * near), 1e-6);
  g_shared.queue.Reset();
  g_heap_table.Remove(block.data());
}

TEST(HeapSampler, WhatAThreadThatEndsCouldNotMakeUpForIsCounted) {
  static CodeMapSlots no_maps;
  g_shared.code_maps = &no_maps;
  ASSERT_TRUE(g_shared.queue.Open(2048, 256));
  g_shared.queue.Reset();
  g_shared.queue.TakeLost([](const EventQueue::Lost& /*earlier*/) {});
  while (Event* const event = g_shared.queue.Claim()) g_shared.queue.Publish(event);
  std::vector<char> block(100'000);
  g_shared.heap_period.store(1);
  t_state.heap_armed = false;
  for (int i = 0; i < 4; ++i)
    OnAllocated(block.data(), block.size());  // the first begins the countdown
  g_shared.heap_period.store(0);
  t_state.heap_armed = false;
  CountLostAllocations();
  CountLostAllocations();
  int kinds = 0;
  g_shared.queue.TakeLost([&](const EventQueue::Lost& lost) {
    ++kinds;
    EXPECT_EQ(lost.kind, EventKind::kAlloc);
    EXPECT_EQ(lost.value, 300'000);
    EXPECT_EQ(lost.count, 3);
  });
  EXPECT_EQ(kinds, 1);
  g_shared.queue.Reset();
}

TEST(HeapTable, KnowsWhatIsThereAndForgetsWhatIsFreed) {
  auto table = std::make_unique<HeapTable>();
  std::vector<char> memory(4096);
  void* first = memory.data();
  void* second = memory.data() + 64;
  EXPECT_FALSE(table->MayHold(first));
  const std::uint32_t slot = table->Insert(first, 7);
  ASSERT_NE(slot, HeapTable::kNone);
  EXPECT_TRUE(table->MayHold(first));
  EXPECT_TRUE(table->StillThere(slot, 7));
  EXPECT_EQ(table->Remove(second).slot, HeapTable::kNone);
  EXPECT_EQ(table->Remove(first).id, 7U);
  EXPECT_FALSE(table->StillThere(slot, 7));
  EXPECT_FALSE(table->MayHold(first));
  EXPECT_EQ(table->Remove(first).slot, HeapTable::kNone);
}

TEST(HeapTable, AddsUpWhatIsInUse) {
  auto table = std::make_unique<HeapTable>();
  std::vector<char> memory(4096);
  table->Insert(memory.data(), 1, {.bytes = 524'800.0F, .objects = 32'800.5F});
  table->Insert(memory.data() + 512, 2, {.bytes = 100'000'003.0F, .objects = 1.0F});
  EXPECT_NEAR(static_cast<double>(table->in_use().bytes), 100'524'803, 16);
  EXPECT_EQ(table->in_use().objects, 32'801);
  const HeapTable::Removed moved = table->Remove(memory.data());
  EXPECT_EQ(table->in_use().objects, 1);
  table->Insert(memory.data(), moved.id, moved.weight);  // it stayed after all
  EXPECT_EQ(table->in_use().objects, 32'801);
  table->Remove(memory.data());
  table->Remove(memory.data() + 512);
  EXPECT_EQ(table->in_use().bytes, 0);
  EXPECT_EQ(table->in_use().objects, 0);
}

void* Address(std::uint64_t number) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the table remembers it, nobody follows it
  return reinterpret_cast<void*>(number);
}

TEST(HeapTable, AFullBucketIsCounted) {
  auto table = std::make_unique<HeapTable>();
  // Far more than the table has places: some must be refused, none may be lost silently.
  std::uint64_t kept = 0;
  constexpr std::uint64_t kTries = 100'000;
  for (std::uint64_t i = 1; i <= kTries; ++i) {
    if (table->Insert(Address(i * 16), i) != HeapTable::kNone) ++kept;
  }
  EXPECT_EQ(kept + table->TakeUntracked(), kTries);
  EXPECT_GT(kept, 60'000U);
}

TEST(HeapTable, ManyThatMeetInTheFilterStayKnown) {
  auto table = std::make_unique<HeapTable>();
  const auto meets = [](std::uint64_t i) { return Address((i << 24) | (i << 8)); };
  std::vector<void*> kept;
  constexpr std::uint64_t kTries = 1'000;
  for (std::uint64_t i = 1; i <= kTries; ++i) {
    if (table->Insert(meets(i), i) != HeapTable::kNone) kept.push_back(meets(i));
  }
  EXPECT_EQ(kept.size() + table->TakeUntracked(), kTries);
  EXPECT_GT(kept.size(), 100U);
  for (void* pointer : kept) {
    EXPECT_TRUE(table->MayHold(pointer));
    EXPECT_NE(table->Remove(pointer).slot, HeapTable::kNone);
  }
  EXPECT_FALSE(table->MayHold(meets(1)));
}

TEST(ThreadState, StepsHaveTheMeanThatWasAskedFor) {
  double sum = 0;
  constexpr int kSteps = 200'000;
  for (int i = 0; i < kSteps; ++i) sum += static_cast<double>(ExponentialStep(1000));
  EXPECT_NEAR(sum / kSteps, 1000, 15);
}

// Crashes in a child, inside `part` of the profiler, and gives how the child ended.
int CrashInside(const std::string& folder, Part part) {
  const pid_t child = fork();
  if (child == 0) {
    if (!InstallCrashMarker(folder, "program")) _exit(9);
    const Inside inside(part);
    std::raise(SIGSEGV);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(CrashMarker, SaysThatNothingCanBeWritten) {
  const std::string file = ::testing::TempDir() + "crash_marker_file." + std::to_string(getpid());
  std::ofstream(file) << "x";
  EXPECT_FALSE(InstallCrashMarker(file, "program"));
  EXPECT_FALSE(InstallCrashMarker(file + ".not/there", "program"));
  EXPECT_FALSE(InstallCrashMarker(std::string(600, 'x'), "program"));
  std::filesystem::remove(file);
}

TEST(CrashMarker, NamesThePartAndLetsTheCrashGoOn) {
  const std::string folder = ::testing::TempDir() + "crash_marker." + std::to_string(getpid());
  const std::string marker = folder + "/wherefore-crash-program";
  std::filesystem::create_directory(folder);
  // raise() is no instruction that fails again, so the child gets to its _exit: what counts is the
  // file.
  CrashInside(folder, Part::kNone);
  EXPECT_FALSE(std::filesystem::exists(marker)) << "a crash of the host's own was blamed on us";
  CrashInside(folder, Part::kHeap);
  ASSERT_TRUE(std::filesystem::exists(marker));
  std::string text;
  std::ifstream(marker) >> text;
  EXPECT_EQ(text, "heap");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace wherefore::sdk
