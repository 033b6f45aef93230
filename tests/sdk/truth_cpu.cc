// Programs that know their CPU time: of functions, of threads that live shortly, of children, and
// on stacks of every kind. See truth.h.
#include <pthread.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <coroutine>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "measure.h"
#include "truth.h"

void Brief(double seconds) {
  Print({{"Brief", Burn(seconds)}});
}

namespace {

// Of random length: work in step with the kernel's clock would be seen always at the same place.
// Gives how many rounds it worked.
[[gnu::always_inline]] inline int WorkAround(int rounds) {
  thread_local unsigned seed = 1;
  rounds = rounds / 2 + rand_r(&seed) % rounds;
  Work(rounds);
  return rounds;
}
[[gnu::noinline]] int CpuLarge() {
  return WorkAround(600'000);
}
[[gnu::noinline]] int CpuMiddle() {
  return WorkAround(300'000);
}
[[gnu::noinline]] int CpuSmall() {
  return WorkAround(100'000);
}

void CpuTruth(double seconds) {
  std::map<std::string, double> truth;
  std::mutex guard;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      // The clock is not asked in between: a system call is where the scheduler likes to switch,
      // and what follows it would then be in step with the kernel's ticks.
      double rounds[3] = {};
      const double end = Wall() + seconds;
      while (Wall() < end) {
        rounds[0] += CpuLarge();
        rounds[1] += CpuMiddle();
        rounds[2] += CpuSmall();
      }
      const double seconds_per_round = Cpu() / (rounds[0] + rounds[1] + rounds[2]);
      const std::lock_guard hold(guard);
      truth["CpuLarge"] += rounds[0] * seconds_per_round;
      truth["CpuMiddle"] += rounds[1] * seconds_per_round;
      truth["CpuSmall"] += rounds[2] * seconds_per_round;
    });
  }
  for (std::thread& thread : threads) thread.join();
  Print(truth);
}

// --- Short threads ---
// Threads that end before the kernel's clock ticks once, beside as much of a thread that does not.
[[gnu::noinline]] void OneMillisecond() {
  const double end = Cpu() + 0.001;
  while (Cpu() < end) Work(100);
}
[[gnu::noinline]] void* EndsAtOnce(void* seconds) {
  OneMillisecond();
  *static_cast<double*>(seconds) += Cpu();
  return nullptr;
}
[[gnu::noinline]] void StaysHere() {
  OneMillisecond();
  g_sink = 1;
}

void BriefThreads(double seconds) {
  std::map<std::string, double> truth = {{"EndsAtOnce", 0}, {"StaysHere", 0}};
  while (truth["EndsAtOnce"] < seconds) {
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, EndsAtOnce, &truth["EndsAtOnce"]) != 0) std::abort();
    pthread_join(thread, nullptr);
    const double begin = Cpu();
    StaysHere();
    truth["StaysHere"] += Cpu() - begin;
  }
  Print(truth);
}

// --- Stacks ---
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};

[[gnu::noinline]] Task InCoroutine() {
  for (int i = 0; i < 10; ++i) {
    Work(100'000);
    co_await std::suspend_always();
  }
}

[[gnu::noinline]] int Recurse(int depth) {
  if (depth == 0) {
    Work(200'000);
    return 1;
  }
  const int below = Recurse(depth - 1);
  g_sink = below;
  return below + 1;
}

[[gnu::noinline]] void Throwing(int depth) {
  if (depth == 0) {
    Work(100'000);
    throw 1;
  }
  Throwing(depth - 1);
  g_sink = depth;
}

// A child that only computes: it calls nothing that is hooked.
[[gnu::noinline]] void InChild(double seconds) {
  const double end = Cpu() + seconds;
  while (Cpu() < end) Work(100'000);
}

// How a child ended that did this work.
template <typename Work>
int StatusOfChild(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void ForkTruth(double seconds) {
  const int status = StatusOfChild([&] { InChild(seconds); });
  Print({{"InChild", seconds}, {"status", status}});
}

// As daemons do it: the child of a child works.
void ForkTwice(double seconds) {
  const int status = StatusOfChild([&] { StatusOfChild([&] { InChild(seconds); }); });
  Print({{"InChild", seconds}, {"status", status}});
}

// A coroutine on a stack of its own.
ucontext_t g_caller;
ucontext_t g_coroutine;
double g_seconds;
[[gnu::noinline]] void OnOwnStack() {
  const double end = Wall() + g_seconds;
  while (Wall() < end) Work(100'000);
  g_sink = 3;
}

void ContextTruth(double seconds) {
  g_seconds = seconds;
  std::vector<char> stack(256 * 1024);
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = stack.data();
  g_coroutine.uc_stack.ss_size = stack.size();
  g_coroutine.uc_link = &g_caller;
  makecontext(&g_coroutine, OnOwnStack, 0);
  swapcontext(&g_caller, &g_coroutine);
  Print({{"OnOwnStack", seconds}});
}

void DepthTruth(double seconds) {
  const double end = Wall() + seconds;
  double rounds = 0;
  while (Wall() < end) {
    Recurse(50);
    try {
      Throwing(10);
    } catch (int) {
      ++rounds;
    }
    Task task = InCoroutine();
    while (!task.handle.done()) task.handle.resume();
    task.handle.destroy();
    std::vector<int> numbers(20'000);
    for (int& number : numbers) number = std::rand();
    std::qsort(numbers.data(), numbers.size(), sizeof(int), [](const void* a, const void* b) {
      return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
  }
  Print({{"rounds", rounds}});
}

constexpr Program kPrograms[] = {
    {"cpu", CpuTruth},     {"brief", Brief},          {"brief-threads", BriefThreads},
    {"depth", DepthTruth}, {"context", ContextTruth}, {"fork", ForkTruth},
    {"twice", ForkTwice},
};

}  // namespace

std::span<const Program> CpuPrograms() {
  return kPrograms;
}
