#include "net/worker_pool.h"

#include <future>
#include <stdexcept>

#include <gtest/gtest.h>

namespace wherefore::net {
namespace {

TEST(WorkerPool, FinishesWhatIsQueuedBeforeItEnds) {
  std::atomic<int> done{0};
  {
    WorkerPool pool(2, 1000);
    for (int i = 0; i < 500; ++i) EXPECT_TRUE(pool.Submit([&] { ++done; }));
  }
  EXPECT_EQ(done, 500);
}

TEST(WorkerPool, RefusesWhenTheQueueIsFull) {
  std::promise<void> started;
  std::promise<void> release;
  WorkerPool pool(1, 2);
  ASSERT_TRUE(pool.Submit([&] {
    started.set_value();
    release.get_future().wait();
  }));
  started.get_future().wait();
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_FALSE(pool.Submit([] {}));
  release.set_value();
}

TEST(WorkerPool, SurvivesATaskThatThrows) {
  std::promise<void> reached;
  WorkerPool pool(1, 10);
  ASSERT_TRUE(pool.Submit([] { throw std::runtime_error("from a library"); }));
  ASSERT_TRUE(pool.Submit([&] { reached.set_value(); }));
  reached.get_future().wait();
}

}  // namespace
}  // namespace wherefore::net
