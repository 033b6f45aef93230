// The parts of the engine that can be tried without a process to profile: queue, tables, governor.
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

#include "sdk/crash_marker.h"
#include "sdk/early_stacks.h"
#include "sdk/event_queue.h"
#include "sdk/governor.h"
#include "sdk/heap_sampler.h"
#include "sdk/heap_table.h"
#include "sdk/lock_sampler.h"
#include "sdk/rate_control.h"
#include "sdk/shared.h"
#include "sdk/thread_state.h"

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
  const Registers start = {.pc = 1, .sp = 4096, .bp = 3};
  EXPECT_EQ(stacks.Claim(start, 8), nullptr) << "it was not opened";
  ASSERT_TRUE(stacks.Open());
  EXPECT_EQ(stacks.Claim({.pc = 1, .sp = 4095}, 8), nullptr) << "no stack pointer";
  std::vector<std::uint32_t> numbers;
  constexpr std::uint64_t kEach = 64U << 10U;
  while (EarlyStacks::Kept* kept = stacks.Claim(start, kEach)) {
    kept->bytes()[kEach - 1] = static_cast<std::uint8_t>(numbers.size());
    numbers.push_back(stacks.NumberOf(kept));
  }
  // What is written before each takes the room of one.
  EXPECT_EQ(numbers.size(), EarlyStacks::kMostBytes / kEach - 1);
  EXPECT_TRUE(stacks.MoreThanHalfFull());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_NE(numbers[i], 0U);
    const EarlyStacks::Kept& kept = stacks.Get(numbers[i]);
    EXPECT_EQ(kept.start.bp, 3U);
    EXPECT_EQ(kept.size, kEach);
    EXPECT_EQ(kept.bytes()[kEach - 1], static_cast<std::uint8_t>(i));
  }
  stacks.Reset();
  EXPECT_NE(stacks.Claim(start, kEach), nullptr);
}

class WaitTest : public testing::Test {
 protected:
  struct Seen {
    double value = 0;
    double count = 0;
    int events = 0;
  };

  WaitTest() {
    static CodeMapSlots no_maps;
    g_shared.code_maps = &no_maps;
    EXPECT_TRUE(g_shared.queue.Open(2048, 256));
    g_shared.wait_period_ns.store(100'000);
    t_state.wait_countdown = 0;
  }
  void TearDown() override { g_shared.wait_period_ns.store(0); }

  // What is sampled of `times` waits.
  static Seen Wait(int times, std::int64_t nanoseconds) {
    Seen seen;
    for (int i = 0; i < times; ++i) {
      OnWaited(WaitKind::kMutex, nanoseconds);
      for (const Event* event = g_shared.queue.Front(); event != nullptr; event = g_shared.queue.Front()) {
        seen.value += static_cast<double>(event->value);
        seen.count += event->count;
        ++seen.events;
        g_shared.queue.Pop();
      }
    }
    return seen;
  }
};

TEST_F(WaitTest, OneFarAboveTheDistanceIsSeenOnceAndCountsAsItIs) {
  const Seen seen = Wait(100, 10'000'000);
  EXPECT_EQ(seen.events, 100);
  EXPECT_DOUBLE_EQ(seen.value, 100 * 10'000'000.0);
  EXPECT_NEAR(seen.count, 100, 1e-9);
}

TEST_F(WaitTest, SumsOfSmallOnesAreRight) {
  // Of 200,000 waits at a fifth of the distance 18 % are seen: the sum is off by 0.5 % (one sigma).
  constexpr int kWaits = 200'000;
  const Seen seen = Wait(kWaits, 20'000);
  EXPECT_NEAR(seen.events, kWaits * 0.1813, 1'000);
  EXPECT_NEAR(seen.value / (kWaits * 20'000.0), 1, 0.025);
  EXPECT_NEAR(seen.count / kWaits, 1, 0.025);
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
  OnLastAllocation();
  OnLastAllocation();
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

class ContendedTableTest : public ::testing::Test {
 protected:
  ContendedTableTest() { g_shared.pid.store(getpid()); }
  ~ContendedTableTest() override { g_shared.pid.store(0); }

  std::unique_ptr<ContendedTable> table_ = std::make_unique<ContendedTable>();
  int mutex_ = 0;
};

// A child has no thread to let go what one of its parent's held when it forked.
TEST_F(ContendedTableTest, AForkedChildDoesNotWaitForItsParent) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        if (table_->BeginWait(&mutex_, 1, 1)) table_->EndWait(&mutex_, 1, 1, true);
      }
    });
  }
  int hung = 0;
  for (int i = 0; i < 200; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      if (i % 2 == 0) g_shared.pid.store(getpid());  // or not yet
      table_->Charge(&mutex_, 2, 1);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    hung += status == 0 ? 0 : 1;
    if (hung > 0) break;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hung, 0);
}

// At a distance of a nanosecond every charge is seen and stands for what was waited.
TEST_F(ContendedTableTest, HoldersAreChargedWhatWaitersWait) {
  EXPECT_FALSE(table_->IsDue(&mutex_));
  EXPECT_EQ(table_->Charge(&mutex_, 50'000, 1).delay, 0);
  ASSERT_TRUE(table_->BeginWait(&mutex_, 100'000, 1));
  ASSERT_TRUE(table_->BeginWait(&mutex_, 150'000, 1));
  EXPECT_TRUE(table_->IsDue(&mutex_));
  const ContendedTable::Charged both = table_->Charge(&mutex_, 200'000, 1);
  EXPECT_NEAR(static_cast<double>(both.delay), 150'000, 50);
  EXPECT_NEAR(both.waits, 2, 0.01);
  table_->EndWait(&mutex_, 100'000, 200'000, true);
  EXPECT_NEAR(static_cast<double>(table_->Charge(&mutex_, 260'000, 1).delay), 60'000, 50);
  table_->EndWait(&mutex_, 150'000, 260'000, true);
  EXPECT_FALSE(table_->IsDue(&mutex_));
}

TEST_F(ContendedTableTest, AWaitThatWasGivenUpChargesNobody) {
  ASSERT_TRUE(table_->BeginWait(&mutex_, 100'000, 1));
  ASSERT_TRUE(table_->BeginWait(&mutex_, 500'000, 1));
  table_->EndWait(&mutex_, 100'000, 500'000, false);
  EXPECT_NEAR(static_cast<double>(table_->Charge(&mutex_, 510'000, 1).delay), 10'000, 50);
}

// One holder lets ten wait for 3 us at a time, the other one for 30 us: ten times 3 us against 30.
TEST_F(ContendedTableTest, WhoHoldsWhileManyWaitIsChargedForAllOfThem) {
  constexpr int kRounds = 200'000;
  constexpr std::int64_t kPeriod = 100'000;
  std::array<double, 2> charged{};
  std::int64_t now = 0;
  for (int i = 0; i < kRounds; ++i) {
    const bool many = i % 2 == 0;
    const int waiters = many ? 10 : 1;
    const std::int64_t began = now;
    for (int w = 0; w < waiters; ++w) ASSERT_TRUE(table_->BeginWait(&mutex_, now, kPeriod));
    now += many ? 3'000 : 30'000;
    charged[many ? 0 : 1] += static_cast<double>(table_->Charge(&mutex_, now, kPeriod).delay);
    for (int w = 0; w < waiters; ++w) table_->EndWait(&mutex_, began, now, true);
  }
  // Some 30,000 samples each.
  EXPECT_NEAR(charged[0] / (kRounds / 2 * 30'000.0), 1, 0.04);
  EXPECT_NEAR(charged[1] / (kRounds / 2 * 30'000.0), 1, 0.04);
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

TEST(RateControl, GrowsAtOnceAndComesBackSlowly) {
  RateControl control(100);
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_FALSE(control.Observe(150, kSecond));
  EXPECT_TRUE(control.Observe(1000, kSecond / 10));  // 10,000 a second
  EXPECT_EQ(control.factor(), 100);
  EXPECT_FALSE(control.Observe(100, kSecond));
  EXPECT_FALSE(control.Observe(10, kSecond));
  EXPECT_TRUE(control.Observe(10, kSecond));
  EXPECT_EQ(control.factor(), 50);
}

class GovernorTest : public ::testing::Test {
 protected:
  // One second in which the host used all of one CPU.
  bool Second(Governor& governor, double share) {
    usage_.process_ns += 1'000'000'000;
    // Half of it for samples of allocations, the rest for the others.
    const double cost = 1e9 * share;
    usage_.samplers[static_cast<std::size_t>(Sampler::kHeap)] +=
        static_cast<std::int64_t>(cost / 2);
    usage_.samplers[static_cast<std::size_t>(Sampler::kCpu)] += static_cast<std::int64_t>(cost / 4);
    usage_.rest += static_cast<std::int64_t>(cost / 4);
    return governor.Step(usage_);
  }
  // As long as it takes to be judged once.
  bool Seconds(Governor& governor, double share) {
    bool changed = false;
    for (int i = 0; i < 3; ++i) changed = Second(governor, share) || changed;
    return changed;
  }
  Usage usage_;
};

TEST_F(GovernorTest, HalvesRatesAboveTheBudgetAndComesBackSlowly) {
  Options options;
  options.max_overhead = 0.01;
  Governor governor(options);
  EXPECT_FALSE(Second(governor, 0.5));  // what starting cost
  EXPECT_FALSE(Seconds(governor, 0.009));
  EXPECT_FALSE(Second(governor, 0.02));  // one expensive second
  EXPECT_FALSE(Second(governor, 0.001));
  EXPECT_FALSE(Second(governor, 0.001));
  EXPECT_TRUE(Seconds(governor, 0.03));
  EXPECT_TRUE(Second(governor, 0.2));  // too much to wait for three
  EXPECT_EQ(governor.scale(Sampler::kHeap), 4);
  EXPECT_EQ(governor.scale(Sampler::kCpu), 1);  // it was not the expensive one
  EXPECT_FALSE(Seconds(governor, 0.006));       // below, but one step up would be above again
  int judged = 0;
  while (governor.scale(Sampler::kHeap) > 1 && judged < 100) {
    Seconds(governor, 0.001);
    ++judged;
  }
  EXPECT_EQ(judged, 8);
}

TEST_F(GovernorTest, OneJudgementAboveTheBudgetMayBeAnExport) {
  Options options;
  options.max_overhead = 0.01;
  Governor governor(options);
  Second(governor, 0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(Seconds(governor, 0.015));
    EXPECT_FALSE(Seconds(governor, 0.008));
  }
  EXPECT_FALSE(Seconds(governor, 0.015));
  EXPECT_TRUE(Seconds(governor, 0.015));
}

// What the threads of the profiler use whatever is sampled is no reason to sample next to nothing.
TEST_F(GovernorTest, WhatCostsLittleIsLeftAloneAndComesBackFirst) {
  Options options;
  options.max_overhead = 0.01;
  Governor governor(options);
  const auto seconds = [&](double cpu, double rest) {
    bool changed = false;
    for (int i = 0; i < 3; ++i) {
      usage_.process_ns += 1'000'000'000;
      usage_.samplers[static_cast<std::size_t>(Sampler::kCpu)] +=
          static_cast<std::int64_t>(1e9 * cpu);
      usage_.rest += static_cast<std::int64_t>(1e9 * rest);
      changed = governor.Step(usage_) || changed;
    }
    return changed;
  };
  governor.Step(usage_);
  EXPECT_TRUE(seconds(0.015, 0.015));
  EXPECT_EQ(governor.scale(Sampler::kCpu), 2);
  for (int i = 0; i < 6; ++i) EXPECT_FALSE(seconds(0.001, 0.03));
  EXPECT_EQ(governor.scale(Sampler::kCpu), 2);
  EXPECT_NEAR(governor.excess().value_or(0), 0.031, 1e-6);
  for (int i = 0; i < 8; ++i) seconds(0.001, 0.005);
  EXPECT_EQ(governor.scale(Sampler::kCpu), 1);
}

TEST_F(GovernorTest, NeverGoesBeyondItsLargestScale) {
  Governor governor(Options{});
  for (int i = 0; i < 20; ++i) Second(governor, 0.5);
  EXPECT_EQ(governor.scale(Sampler::kHeap), 64);
}

TEST_F(GovernorTest, SlowsTheNextWhenTheMostExpensiveCannotAndKnowsWhenNoneCan) {
  Options options;
  options.max_overhead = 0.00001;
  Governor governor(options);
  Second(governor, 0.5);
  // Two samplers that cost something, six steps each.
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(Second(governor, 0.002));
    EXPECT_FALSE(governor.excess());
  }
  EXPECT_EQ(governor.scale(Sampler::kHeap), 64);
  EXPECT_EQ(governor.scale(Sampler::kCpu), 64);
  EXPECT_EQ(governor.scale(Sampler::kLocks), 1);  // costs nothing
  Second(governor, 0.002);
  Second(governor, 0.002);
  EXPECT_FALSE(governor.excess());
  Second(governor, 0.002);
  EXPECT_NEAR(governor.excess().value_or(0), 0.002, 1e-6);
  Seconds(governor, 0);
  EXPECT_FALSE(governor.excess());
}

TEST_F(GovernorTest, ShedsAndAdaptsByTheMachinesLoad) {
  static Governor::Machine machine;
  Options options;
  options.load_shedding = {.enabled = true, .cpu = 0.9, .memory_bytes = 1000};
  options.adaptive = {.enabled = true, .cpu = 0.5};
  Governor governor(options);
  governor.ReplaceReader([] { return machine; });
  machine = {.cpu = 0.6, .resident_bytes = 1};
  EXPECT_TRUE(Second(governor, 0));
  EXPECT_EQ(governor.scale(Sampler::kCpu), 2);
  machine.cpu = 0.95;
  EXPECT_TRUE(Second(governor, 0));
  EXPECT_TRUE(governor.shedding());
  machine = {.cpu = 0.1, .resident_bytes = 2000};
  EXPECT_FALSE(Second(governor, 0));
  EXPECT_TRUE(governor.shedding());
  machine = {};
  EXPECT_TRUE(Second(governor, 0));
  EXPECT_FALSE(governor.shedding());
  EXPECT_EQ(governor.scale(Sampler::kCpu), 1);
}

}  // namespace
}  // namespace wherefore::sdk
