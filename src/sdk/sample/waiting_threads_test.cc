// Threads that wait, as they are seen from outside; and how many looks there may be.
#include "sdk/sample/waiting_threads.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sdk/platform/thread_state.h"
#include "sdk/sample/look_budget.h"
#include "sdk/sample/shared.h"
#include "sdk/sample/thread_census.h"
#include "sdk/sample/thread_registry.h"
#include "sdk/unwind/module_map.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// A thread that looks: ticks cost `tick` and looks `look` nanoseconds.
class Looker {
 public:
  Looker(double share, std::int64_t tick, std::int64_t look) : tick_(tick), look_(look) {
    budget_.SetShare(share);
    budget_.Begin(0, 0);
  }

  // At most twenty ticks a second. Gives the looks.
  std::size_t Second(std::size_t wanted) {
    std::size_t looks = 0;
    for (const std::int64_t end = now_ + kSecond; now_ < end;) {
      now_ += std::max(kSecond / 20, static_cast<std::int64_t>(budget_.PauseNs()));
      used_ += tick_;
      budget_.Settle(now_, used_);
      const std::size_t granted = budget_.Grant(wanted);
      used_ += static_cast<std::int64_t>(granted) * look_;
      if (granted > 0) budget_.Looked(granted, static_cast<std::int64_t>(granted) * look_);
      looks += granted;
    }
    return looks;
  }
  LookBudget& budget() { return budget_; }
  std::int64_t& used() { return used_; }
  [[nodiscard]] std::int64_t now() const { return now_; }

 private:
  LookBudget budget_;
  std::int64_t tick_;
  std::int64_t look_;
  std::int64_t now_ = 0;
  std::int64_t used_ = 0;
};

TEST(LookBudget, IsKeptFromTheFirstSecondOnWhateverLooksCost) {
  for (const double share : {0.003, 0.0005}) {
    for (const std::int64_t tick : {3'000, 50'000, 200'000}) {
      for (const std::int64_t look : {400, 5'000, 30'000}) {
        const auto second = static_cast<std::int64_t>(share * kSecond);
        Looker looker(share, tick, look);
        looker.Second(1'000);
        // What the first ones really cost is known after they were made.
        EXPECT_LE(looker.used(), 2 * second + tick + 10 * look)
            << share << ' ' << tick << ' ' << look;
        const std::int64_t before = looker.used();
        const std::int64_t began = looker.now();
        while (looker.now() < began + 30 * kSecond) looker.Second(1'000);
        const auto earned = static_cast<double>(looker.now() - began) * share;
        const auto spent = static_cast<double>(looker.used() - before);
        EXPECT_LE(spent, 1.05 * earned) << share << ' ' << tick << ' ' << look;
        EXPECT_GE(spent, 0.6 * earned)
            << "the budget is there to be used: " << share << ' ' << tick << ' ' << look;
      }
    }
  }
}

TEST(LookBudget, WhatCanBePaidForIsDone) {
  Looker looker(0.003, 50'000, 400);
  looker.Second(40);
  EXPECT_EQ(looker.Second(40), 800U);
  Looker unlimited(0, 50'000, 300'000);
  EXPECT_EQ(unlimited.Second(40), 800U);
}

TEST(LookBudget, WhatIsSpentForSomethingElseDoesNotCount) {
  Looker looker(0.003, 50'000, 400);
  looker.Second(40);
  looker.used() += kSecond;
  looker.budget().Exempt(kSecond);
  EXPECT_EQ(looker.Second(40), 800U);
}

TEST(ThreadCensus, KnowsOfThreadsThatCameAndWent) {
  ThreadRegistry registry;
  ThreadCensus census;
  EXPECT_TRUE(census.OutOfDate(registry));
  EXPECT_FALSE(census.OutOfDate(registry));
  std::atomic<bool> stop{false};
  std::thread other([&] { stop.wait(false); });
  EXPECT_TRUE(census.OutOfDate(registry));
  EXPECT_FALSE(census.OutOfDate(registry));
  stop = true;
  stop.notify_all();
  other.join();
  EXPECT_TRUE(census.OutOfDate(registry));
  census.Distrust();
  EXPECT_TRUE(census.OutOfDate(registry));
  registry.EnterThisThread(0, 0);
  EXPECT_TRUE(census.OutOfDate(registry));
  int calls = 0;
  while (!census.OutOfDate(registry)) ++calls;
  EXPECT_EQ(calls, 9);
}

// A thread that waits in one of two functions for a byte from a pipe.
class Waiter {
 public:
  Waiter() {
    EXPECT_EQ(pipe(pipe_), 0);
    thread_ = std::thread([this] { Wait(); });
    while (tid_ == 0) std::this_thread::yield();
  }
  ~Waiter() { End(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  [[nodiscard]] std::uint32_t tid() const { return tid_; }
  // 'a' and 'b': where to wait next.
  void Go(char where) { EXPECT_EQ(write(pipe_[1], &where, 1), 1); }
  void End() {
    if (!thread_.joinable()) return;
    Go('e');
    thread_.join();
    close(pipe_[0]);
    close(pipe_[1]);
  }

 private:
  [[gnu::noinline]] char WaitHere() { return Read(); }
  [[gnu::noinline]] char WaitThere() {
    const char got = Read();
    asm volatile("" ::: "memory");
    return got;
  }
  [[gnu::noinline]] char Read() {
    char where = 0;
    EXPECT_EQ(read(pipe_[0], &where, 1), 1);
    return where;
  }
  void Wait() {
    tid_ = CurrentTid();
    for (char where = 'a'; where != 'e';) where = where == 'a' ? WaitHere() : WaitThere();
  }

  int pipe_[2] = {};
  std::atomic<std::uint32_t> tid_{0};
  std::thread thread_;
};

class WaitingThreadsTest : public ::testing::Test {
 protected:
  WaitingThreadsTest() {
    before_ = g_shared.code_maps;
    g_shared.code_maps = &map_.slots();
    EXPECT_TRUE(g_shared.queue.Open(2048, 256));
    waiting_.ReadTables();
  }
  ~WaitingThreadsTest() override {
    while (g_shared.queue.Front() != nullptr) g_shared.queue.Pop();
    g_shared.code_maps = before_;
  }

  // Until it is seen to wait, having run since the last look if it was told to.
  void LookUntilItWaits(std::uint32_t tid, std::int64_t value) {
    while (waiting_.Look(tid, value, 1) != WaitingThreads::Found::kWaits) std::this_thread::yield();
  }
  struct Sum {
    std::int64_t value = 0;
    double waits = 0;
    std::uint32_t looks = 0;
    std::vector<std::uint64_t> pcs;
  };
  std::vector<Sum> Taken() {
    std::vector<Sum> sums;
    waiting_.Take([&](const Event& event) {
      EXPECT_EQ(event.kind, EventKind::kBlocked);
      EXPECT_EQ(event.detail, static_cast<std::uint64_t>(SYS_read));
      EXPECT_EQ(event.end, StackEnd::kComplete);
      sums.push_back({.value = event.value,
                      .waits = event.count,
                      .looks = event.looks,
                      .pcs = {event.pcs, event.pcs + event.depth}});
    });
    return sums;
  }

  CodeMapSlots* before_ = nullptr;
  ThreadRegistry registry_;
  ModuleMap map_;
  WaitingThreads waiting_{registry_, map_};
};

TEST_F(WaitingThreadsTest, AWaitThatGoesOnIsOneWaitAndOneEvent) {
  const Waiter waiter;
  LookUntilItWaits(waiter.tid(), 10);
  // It may have been on its way into the system call: from here on it does not run.
  while (waiting_.Look(waiter.tid(), 0, 0) != WaitingThreads::Found::kWaits) {
  }
  Taken();
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(waiting_.Look(waiter.tid(), 10, 3), WaitingThreads::Found::kWaits);
  const std::vector<Sum> sums = Taken();
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].value, 50);
  EXPECT_EQ(sums[0].looks, 5U);
  EXPECT_EQ(sums[0].waits, 0);  // it began before
  EXPECT_EQ(g_shared.queue.Front(), nullptr);
  EXPECT_TRUE(Taken().empty());
}

// Waits for the clock of another thread to stand still, which it does as soon as that waits.
void UntilItWaits(WaitingThreads& waiting, std::uint32_t tid) {
  while (waiting.Look(tid, 0, 0) != WaitingThreads::Found::kWaits) std::this_thread::yield();
}

TEST_F(WaitingThreadsTest, AThreadThatRanIsSeenWhereItIsNow) {
  Waiter waiter;
  UntilItWaits(waiting_, waiter.tid());
  usleep(20'000);  // it has nothing left to do before its wait
  EXPECT_EQ(waiting_.Look(waiter.tid(), 1, 1), WaitingThreads::Found::kWaits);
  waiter.Go('b');
  usleep(20'000);
  LookUntilItWaits(waiter.tid(), 2);
  Event* const left = g_shared.queue.Front();
  ASSERT_NE(left, nullptr) << "what was counted where it waited before";
  EXPECT_EQ(left->kind, EventKind::kBlocked);
  EXPECT_EQ(left->value, 1);
  const std::vector<std::uint64_t> before(left->pcs, left->pcs + left->depth);
  g_shared.queue.Pop();
  std::vector<Sum> sums = Taken();
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].value, 2);
  EXPECT_EQ(sums[0].waits, 1);
  EXPECT_NE(sums[0].pcs, before);
  // And back to the same place: that is another wait, but not another event.
  waiter.Go('b');
  usleep(20'000);
  LookUntilItWaits(waiter.tid(), 4);
  LookUntilItWaits(waiter.tid(), 8);
  EXPECT_EQ(g_shared.queue.Front(), nullptr);
  sums = Taken();
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0].value, 12);
  EXPECT_EQ(sums[0].waits, 1);
  EXPECT_EQ(sums[0].looks, 2U);
}

TEST_F(WaitingThreadsTest, OneThatEndedIsGoneAndWhatItWaitedIsNot) {
  Waiter waiter;
  UntilItWaits(waiting_, waiter.tid());
  LookUntilItWaits(waiter.tid(), 7);
  const std::uint32_t tid = waiter.tid();
  waiter.End();
  EXPECT_EQ(waiting_.Look(tid, 7, 1), WaitingThreads::Found::kGone);
  EXPECT_EQ(waiting_.known(), 1U);
  waiting_.KeepOnly({});
  EXPECT_EQ(waiting_.known(), 0U);
  ASSERT_NE(g_shared.queue.Front(), nullptr);
  EXPECT_EQ(g_shared.queue.Front()->value, 7);
}

TEST_F(WaitingThreadsTest, OneThatRunsIsSaidToRun) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> tid{0};
  std::thread busy([&] {
    tid = CurrentTid();
    while (!stop) {
    }
  });
  while (tid == 0) std::this_thread::yield();
  EXPECT_EQ(waiting_.Look(tid, 1, 1), WaitingThreads::Found::kRuns);
  waiting_.Show(tid);
  stop = true;
  busy.join();
  ASSERT_NE(g_shared.queue.Front(), nullptr);
  EXPECT_EQ(g_shared.queue.Front()->kind, EventKind::kThread);
  EXPECT_EQ(g_shared.queue.Front()->depth, 0);
  EXPECT_TRUE(Taken().empty());
}

}  // namespace
}  // namespace wherefore::sdk
