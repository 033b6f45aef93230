#include "api/run.h"

#include <future>
#include <semaphore>

#include <gtest/gtest.h>

namespace wherefore::api {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using net::WorkKind;

// Routes /quick and /heavy; the latter answers when it is told to.
class Run : public testing::Test {
 protected:
  void Start(int threads, std::size_t max_queued) {
    workers_ = std::make_unique<net::Workers>(threads, max_queued);
    const auto add = [&](const std::string& path, WorkKind kind, auto answer) {
      AddHttpQuery(router_, *workers_,
                   {.pattern = path,
                    .name = "run_test",
                    .kind = kind,
                    .answer = answer,
                    .failure = net::JsonError});
    };
    add("/quick", WorkKind::kQuick,
        [](HttpRequest&) { return Result<HttpResponse>(HttpResponse{.body = "quick"}); });
    add("/heavy", WorkKind::kHeavy, [this](HttpRequest&) {
      started_.release();
      released_.wait();
      return Result<HttpResponse>(HttpResponse{.body = "heavy"});
    });
    add("/throws", WorkKind::kQuick,
        [](HttpRequest&) -> Result<HttpResponse> { throw std::bad_alloc(); });
  }
  void TearDown() override { Release(); }
  void Release() {
    if (!std::exchange(is_released_, true)) release_.set_value();
  }

  std::future<HttpResponse> Ask(const std::string& path) {
    auto answer = std::make_shared<std::promise<HttpResponse>>();
    auto future = answer->get_future();
    router_.Handle({.method = "GET", .path = path},
                   [answer](HttpResponse response) { answer->set_value(std::move(response)); });
    return future;
  }

  std::counting_semaphore<> started_{0};
  std::promise<void> release_;
  bool is_released_ = false;
  std::shared_future<void> released_ = release_.get_future().share();
  net::Router router_;
  std::unique_ptr<net::Workers> workers_;
};

TEST_F(Run, ASmallQuestionDoesNotWaitBehindLargeOnes) {
  Start(2, 100);
  std::vector<std::future<HttpResponse>> heavy;
  for (int i = 0; i < 20; ++i) heavy.push_back(Ask("/heavy"));
  auto quick = Ask("/quick");
  ASSERT_EQ(quick.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  EXPECT_EQ(quick.get().body, "quick");
  EXPECT_EQ(heavy[0].wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  Release();
  for (auto& one : heavy) EXPECT_EQ(one.get().body, "heavy");
}

TEST_F(Run, AFullQueueIsSaidAndTakesNothingFromOtherKinds) {
  Start(1, 1);
  const auto at_work = Ask("/heavy");
  started_.acquire();
  const auto waiting = Ask("/heavy");
  auto beyond = Ask("/heavy");
  ASSERT_EQ(beyond.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  const HttpResponse refused = beyond.get();
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("too many large queries are waiting; try again"), std::string::npos)
      << refused.body;
  EXPECT_EQ(refused.headers.at("Retry-After"), "1");
  EXPECT_EQ(Ask("/quick").get().body, "quick");
}

TEST_F(Run, WithoutMemoryTheQuestionIsToldToComeAgain) {
  Start(1, 10);
  const HttpResponse refused = Ask("/throws").get();
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("out of memory for now"), std::string::npos) << refused.body;
  EXPECT_EQ(Ask("/quick").get().body, "quick");
}

}  // namespace
}  // namespace wherefore::api
