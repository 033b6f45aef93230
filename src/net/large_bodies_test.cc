// Workers unpack and handle large bodies, so that other connections do not wait for them.
#include <future>
#include <semaphore>
#include <thread>

#include "base/gzip.h"
#include "net/grpc.h"
#include "net/test_grpc.h"
#include "net/test_http.h"
#include "net/worker_pool.h"

namespace wherefore::net {
namespace {

const std::string kLargeBody(300'000, 'x');

class LargeBodies : public HttpServerTest {
 protected:
  LargeBodies() {
    router_->Add("POST", "/hold", [this](const HttpRequest& request, const Respond& respond) {
      held_.release();
      go_on_.acquire();
      Echo(request, respond);
    });
  }
  void StartWith(WorkerPool& workers) {
    HttpServerOptions options;
    options.max_body_bytes = 1'000'000;
    options.large_bodies = &workers;
    Start(std::move(options));
  }
  [[nodiscard]] std::future<ClientResponse> PostTo(std::string path, std::string body) const {
    return std::async(std::launch::async, [this, path = std::move(path), body = std::move(body)] {
      auto response = Fetch("POST", Url(path), body, "text/plain");
      EXPECT_TRUE(response) << response.error().message();
      return response ? *std::move(response) : ClientResponse{};
    });
  }

  std::counting_semaphore<> held_{0};
  std::counting_semaphore<> go_on_{0};
};

TEST_F(LargeBodies, OthersAreAnsweredWhileTheyAreHandled) {
  WorkerPool workers(2, 10);
  StartWith(workers);
  auto one = PostTo("/hold", kLargeBody);
  auto two = PostTo("/hold", kLargeBody + "y");
  held_.acquire();
  held_.acquire();  // one per I/O thread
  EXPECT_EQ(Post("small").body, "POST /echo [] small");
  go_on_.release(2);
  EXPECT_EQ(one.get().body, "POST /hold [] " + kLargeBody);
  EXPECT_EQ(two.get().body, "POST /hold [] " + kLargeBody + "y");
}

TEST_F(LargeBodies, AreUnpackedAndRefusedAsSmallOnes) {
  WorkerPool workers(2, 10);
  StartWith(workers);
  std::string noise(40'000, 0);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>(i * i / 7);
  const Headers gzip = {{"Content-Encoding", "gzip"}};
  EXPECT_EQ(Post(Gzip(noise), gzip).body, "POST /echo [] " + noise);
  EXPECT_EQ(Post(noise, gzip).status, 400);
  EXPECT_EQ(Post(Gzip(std::string(30'000'000, 'x')), gzip).status, 413);
  EXPECT_EQ(Post(kLargeBody).body, "POST /echo [] " + kLargeBody);
}

TEST_F(LargeBodies, WhenTooManyWaitTheNextIsToldToComeBack) {
  WorkerPool workers(1, 1);
  StartWith(workers);
  const auto hold = [this] {
    held_.release();
    go_on_.acquire();
  };
  ASSERT_TRUE(workers.Submit(hold));
  held_.acquire();  // the worker is busy
  ASSERT_TRUE(workers.Submit(hold));
  ClientResponse refused = Post(kLargeBody);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers["Retry-After"], "1");
  EXPECT_EQ(Post("small").status, 200);
  go_on_.release(2);
  held_.acquire();  // nobody waits any more
  EXPECT_EQ(Post(kLargeBody).status, 200);
}

TEST_F(LargeBodies, AClientThatGoesAwayLeavesNothingBehind) {
  WorkerPool workers(1, 10);
  StartWith(workers);
  {
    RawClient client(server_->port());
    client.Send(
        fmt::format("POST /hold HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                    kLargeBody.size(), kLargeBody));
    held_.acquire();
  }
  go_on_.release();
  EXPECT_EQ(Post(kLargeBody).status, 200);
}

TEST(LargeMessages, OfGrpcAreHandledByWorkers) {
  WorkerPool workers(1, 1);
  IoThreads io(1);
  GrpcServerOptions options;
  options.large_bodies = &workers;
  std::atomic<std::thread::id> worker;
  ASSERT_TRUE(workers.Submit([&] { worker = std::this_thread::get_id(); }));
  GrpcServer server(io, std::move(options), [&](const GrpcRequest& request, const auto& respond) {
    const bool here = worker.load() == std::this_thread::get_id();
    respond({0, {}, fmt::format("{} {}", here, request.body->size()), {}});
  });
  ASSERT_TRUE(server.Start());
  EXPECT_EQ(CallGrpc(server.port(), "/s/M", "small", {}).body, "false 5");
  EXPECT_EQ(CallGrpc(server.port(), "/s/M", kLargeBody, {}).body, "true 300000");
  EXPECT_EQ(CallGrpc(server.port(), "/s/M", kLargeBody, {}, true).body, "false 300000") << "packed";
}

}  // namespace
}  // namespace wherefore::net
