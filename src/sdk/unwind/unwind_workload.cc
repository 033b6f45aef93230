#include "sdk/unwind/unwind_workload.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <coroutine>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace wherefore::sdk {
namespace {

volatile unsigned sink;

[[gnu::noinline]] void Burn(int rounds) {
  unsigned x = sink;
  for (int i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
  sink = x;
}

int CompareWords(const void* a, const void* b) {
  return strcmp(*static_cast<const char* const*>(a), *static_cast<const char* const*>(b));
}

[[gnu::noinline]] std::size_t CountWords(const std::vector<std::string>& words) {
  std::map<std::string, int> counts;
  for (const std::string& word : words) ++counts[word + "/"];
  char line[4000];
  std::size_t total = 0;
  for (const auto& [word, count] : counts) {
    total += static_cast<std::size_t>(
        snprintf(line, sizeof line, "%s %d %f", word.c_str(), count, count / 3.0));
  }
  return total;
}

[[gnu::noinline]] int ThrowAt(int depth) {
  const std::string local(static_cast<std::size_t>(depth) + 20, 'x');
  if (depth == 0) throw std::runtime_error("thrown on purpose");
  return ThrowAt(depth - 1) + static_cast<int>(local.size());
}

struct Task {
  struct promise_type {  // NOLINTBEGIN(readability-identifier-naming): names of the language
    std::coroutine_handle<> waiting;
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
        return h.promise().waiting ? h.promise().waiting : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { abort(); }
  };
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) {
    handle.promise().waiting = h;
    return handle;
  }
  void await_resume() { handle.destroy(); }  // NOLINTEND(readability-identifier-naming)

  std::coroutine_handle<promise_type> handle;
};

Task Child(int rounds) {
  Burn(rounds);
  co_return;
}

Task Parent(int children) {
  for (int i = 0; i < children; ++i) co_await Child(500 + i);
  Burn(300);
}

// Arguments on the stack and an alloca together make the compiler keep the CFA in a slot.
[[gnu::noinline]] int Realigned(int n, double, double, double, double, double, double, double,
                                double, double x) {
  alignas(64) volatile char aligned[128];
  auto* const more = static_cast<volatile char*>(__builtin_alloca(static_cast<std::size_t>(n)));
  aligned[n & 127] = 1;
  more[0] = 2;
  Burn(400);
  return aligned[n & 127] + more[0] + static_cast<int>(x);
}

void WorkInHandler(int) {
  Burn(20'000);
}

void HandleSignalsWith(int flags, const std::atomic<bool>& stop) {
  struct sigaction action{}, before{};
  action.sa_handler = WorkInHandler;
  action.sa_flags = flags;
  sigaction(SIGUSR1, &action, &before);
  while (!stop) {
    raise(SIGUSR1);
    Burn(50);
  }
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace

[[gnu::noinline]] void SpinUntilStop(const std::atomic<bool>* stop) {
  while (!*stop) Burn(100);
}

void SortAndFormat(const std::atomic<bool>& stop) {
  while (!stop) {
    std::vector<std::string> words;
    for (int i = 0; i < 300; ++i)
      words.push_back(std::to_string(i * 7919 % 1000) + " a longer word");
    std::vector<const char*> pointers;
    for (const auto& word : words) pointers.push_back(word.c_str());
    qsort(pointers.data(), pointers.size(), sizeof(char*), CompareWords);
    std::sort(words.begin(), words.end());
    sink = sink + static_cast<unsigned>(CountWords(words));
  }
}

void CallThroughPlt(const std::atomic<bool>& stop) {
  while (!stop) {
    for (int i = 0; i < 100; ++i) {
      sink = sink + static_cast<unsigned>(toupper(i) + abs(i) + rand() % 3);  // NOLINT: tiny calls
    }
  }
}

// A function of its own, because the compiler moves the catching part of one elsewhere.
[[gnu::noinline]] static void CatchOne() {
  try {
    ThrowAt(12);
  } catch (const std::runtime_error& error) {
    sink = sink + static_cast<unsigned char>(error.what()[0]);
  }
}

void ThrowAndCatch(const std::atomic<bool>& stop) {
  while (!stop) CatchOne();
}

void ResumeCoroutines(const std::atomic<bool>& stop) {
  while (!stop) {
    const Task task = Parent(8);
    task.handle.resume();
    task.handle.destroy();
  }
}

void RealignStacks(const std::atomic<bool>& stop) {
  int n = 16;
  while (!stop) {
    n = 16 + Realigned(n, 1, 2, 3, 4, 5, 6, 7, 8, 9) % 64;
  }
}

void HandleSignals(const std::atomic<bool>& stop) {
  HandleSignalsWith(0, stop);
  Burn(1);  // or the call above would be a jump
}

void HandleSignalsOnAlternateStack(const std::atomic<bool>& stop) {
  std::vector<char> memory(65536);
  stack_t alternate{}, before{};
  alternate.ss_sp = memory.data();
  alternate.ss_size = memory.size();
  sigaltstack(&alternate, &before);
  HandleSignalsWith(SA_ONSTACK, stop);
  sigaltstack(&before, nullptr);
}

[[gnu::noipa]] int Recurse(int depth, const std::atomic<bool>& stop) {
  if (depth == 0) {
    SpinUntilStop(&stop);
    return 1;
  }
  volatile char frame[40];
  frame[depth & 31] = 1;
  return Recurse(depth - 1, stop) + frame[depth & 31];
}

void SpinIn(void (*code)(void (*)(const std::atomic<bool>*), const std::atomic<bool>*),
            const std::atomic<bool>& stop) {
  code(SpinUntilStop, &stop);
  Burn(1);
}

template int SleepDeep<0>(int depth, int descriptor);

}  // namespace wherefore::sdk
