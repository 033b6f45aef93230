// Programs that know how long they wait: for locks, for each other, for time to pass. See truth.h.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "measure.h"
#include "truth.h"

namespace {

// --- Locks ---
std::mutex g_lock;
double g_waited[2];
std::mutex g_waited_guard;

void Wait(int who) {
  const double start = Wall();
  g_lock.lock();
  const double waited = Wall() - start;
  if (waited > 2e-6) {
    const std::lock_guard hold(g_waited_guard);
    g_waited[who] += waited;
  }
}
// Holds long, waits little in comparison.
[[gnu::noinline]] void LockLong() {
  Wait(0);
  Work(400'000);
  g_lock.unlock();
  g_sink = 1;  // no tail call: this function must be on the stack when it unlocks
}
[[gnu::noinline]] void LockShort() {
  Wait(1);
  Work(20'000);
  g_lock.unlock();
  g_sink = 2;
}

void LocksTruth(double seconds) {
  const double end = Wall() + seconds;
  std::thread a([&] {
    while (Wall() < end) {
      LockLong();
      usleep(300);
    }
  });
  std::thread b([&] {
    while (Wall() < end) {
      LockShort();
      usleep(200);
    }
  });
  std::thread c([&] {
    while (Wall() < end) {
      LockShort();
      usleep(400);
    }
  });
  a.join();
  b.join();
  c.join();
  Print({{"LockLong", g_waited[0]}, {"LockShort", g_waited[1]}});
}

// A lock that is held for ten milliseconds while one other waits: each wait is one sample.
std::mutex g_turn;
std::atomic<bool> g_there;

[[gnu::noinline]] void WaitMyTurn() {
  g_there = true;
  g_turn.lock();
  g_turn.unlock();
  g_sink = 4;
}
[[gnu::noinline]] void HoldTurn() {
  g_turn.lock();
  g_there = false;
  std::thread other(WaitMyTurn);
  while (!g_there) std::this_thread::yield();
  usleep(10'000);
  g_turn.unlock();
  other.join();
}

void TurnsTruth(double seconds) {
  double turns = 0;
  for (const double end = Wall() + seconds; Wall() < end; ++turns) HoldTurn();
  Print({{"HoldTurn", turns}, {"WaitMyTurn", turns}});
}

// --- Time ---
[[gnu::noinline]] double WaitSleep() {
  const double start = Wall();
  usleep(30'000);
  return Wall() - start;
}
[[gnu::noinline]] double WaitPoll() {
  const double start = Wall();
  pollfd none{.fd = -1, .events = 0, .revents = 0};
  poll(&none, 1, 50);
  return Wall() - start;
}
[[gnu::noinline]] double WaitCondition() {
  static std::mutex lock;
  static std::condition_variable condition;
  const double start = Wall();
  std::unique_lock hold(lock);
  condition.wait_for(hold, std::chrono::milliseconds(20));
  return Wall() - start;
}

void WaitsTruth(double seconds) {
  std::map<std::string, double> truth;
  const double end = Wall() + seconds;
  while (Wall() < end) {
    truth["WaitSleep"] += WaitSleep();
    truth["WaitPoll"] += WaitPoll();
    truth["WaitCondition"] += WaitCondition();
  }
  Print(truth);
}

[[gnu::noinline]] void ShortWait() {
  usleep(20'000);
  asm volatile("");
}

// A thread for every request, as some servers have it.
void ShortThreads(double seconds) {
  int threads = 0;
  const double end = Wall() + seconds;
  for (; Wall() < end; ++threads) std::thread(ShortWait).join();
  // What a thread waits for its turn on a busy machine is no waiting of its own.
  Print({{"ShortWait", threads * 0.02}});
}

constexpr Program kPrograms[] = {
    {"locks", LocksTruth},
    {"turns", TurnsTruth},
    {"waits", WaitsTruth},
    {"short", ShortThreads},
};

}  // namespace

std::span<const Program> WaitPrograms() {
  return kPrograms;
}
