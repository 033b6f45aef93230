// What any thread may use, used by several at once: ThreadSanitizer finds a missing lock here.
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/cancel.h"
#include "base/metrics.h"

namespace wherefore {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 1000;

template <typename Work>
void InThreads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, ShareACancelToken) {
  const CancelToken token;
  std::atomic<int> cancelled = 0;
  const auto guard = token.OnCancel([&] { ++cancelled; });
  InThreads([&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      if (thread == 0 && i == kRounds / 2) token.Cancel();
      if (token.Charge(10)) token.Release(10);
      const auto another = token.OnCancel([] {});
      static_cast<void>(token.cancelled());
    }
  });
  EXPECT_TRUE(token.cancelled());
  EXPECT_EQ(cancelled, 1);
  EXPECT_EQ(token.memory_used(), 0);
}

TEST(Threads, ShareMetrics) {
  InThreads([](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      Metrics::Global().GetCounter("test_threads_total", "Counted by a test.").Add();
      if (thread == 0 && i % 100 == 0) static_cast<void>(Metrics::Global().PrometheusText());
    }
  });
  EXPECT_EQ(Metrics::Global().GetCounter("test_threads_total", "Counted by a test.").value(),
            static_cast<std::uint64_t>(kThreads * kRounds));
}

}  // namespace
}  // namespace wherefore
