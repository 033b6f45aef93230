// The gRPC server over real loopback sockets, with gRPC's own generic client.
#include "net/grpc.h"

#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "base/gzip.h"
#include "base/metrics.h"
#include "net/connection_limit.h"
#include "net/test_grpc_server.h"
#include "net/test_http.h"
#include "net/test_tls.h"

namespace wherefore::net {
namespace {

using std::chrono::seconds;

TEST(GrpcServer, CarriesBytesBothWaysOnBothLoopbackAddresses) {
  const auto server = Started();
  const std::string big(3'000'000, '\0');
  EXPECT_EQ(GrpcTestClient(server->port()).Call("hello").body, "echo hello");
  EXPECT_EQ(GrpcTestClient(server->port()).Call("").body, "echo ");
  EXPECT_EQ(GrpcTestClient(server->port()).Call(big).body, "echo " + big);
  const GrpcAnswer v6 =
      GrpcTestClient(server->port(), grpc::InsecureChannelCredentials(), "[::1]").Call("x");
  if (v6.status.ok()) {
    EXPECT_EQ(v6.body, "echo x");
  }
}

TEST(GrpcServer, TakesGzipAndNamesWhatItDoesNotTake) {
  const auto server = Started();
  grpc::ClientContext gzip;
  gzip.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const std::string text(50'000, 'x');
  EXPECT_EQ(GrpcTestClient(server->port()).Call(gzip, text).body, "echo " + text);
  grpc::ClientContext deflate;
  deflate.set_compression_algorithm(GRPC_COMPRESS_DEFLATE);
  EXPECT_EQ(GrpcTestClient(server->port()).Call(deflate, text).status.error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST(GrpcServer, ABombIsNotUnpacked) {
  const auto server = Started();
  const std::int64_t before = ReadProcessMemory().resident_bytes;
  std::string bomb;
  // 6 GB of zeros in 6 MB, as several gzip members because packing a single one would take long.
  const std::string member = Gzip(std::string(64u << 20, '\0'), 9);
  for (int i = 0; i < 96; ++i) bomb += member;
  const GrpcAnswer outcome = GrpcTestClient(server->port()).Call(bomb);
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr std::int64_t kAllowed = std::int64_t{3} << 30;  // their shadow memory is resident too
#else
  constexpr std::int64_t kAllowed = 400 << 20;
#endif
  EXPECT_LT(ReadProcessMemory().resident_bytes - before, kAllowed);
}

TEST(GrpcServer, SendsStatusMessageAndDetails) {
  const auto server = Started();
  const GrpcAnswer outcome = GrpcTestClient(server->port()).Call("x", "/other/Method");
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(outcome.status.error_message(), "no method /other/Method");
  EXPECT_EQ(outcome.details, "details \x01 bytes");
}

TEST(GrpcServer, RefusesMessagesOverTheLimitAlsoAfterDecompression) {
  GrpcServerOptions options;
  options.max_message_bytes = 100'000;
  const auto server = Started(std::move(options));
  GrpcTestClient client(server->port());
  EXPECT_TRUE(client.Call(std::string(100'000, 'x')).status.ok());
  EXPECT_EQ(client.Call(std::string(100'001, 'x')).status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  EXPECT_EQ(client.Call(context, std::string(50'000'000, 'x')).status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(client.Call("still there").status.ok());
}

TEST(GrpcServer, WantsTheToken) {
  GrpcServerOptions options;
  options.bearer_token = "secret";
  const auto server = Started(std::move(options));
  GrpcTestClient client(server->port());
  EXPECT_EQ(client.Call("x").status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext wrong;
  wrong.AddMetadata("authorization", "Bearer secreT");
  EXPECT_EQ(client.Call(wrong, "x").status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext right;
  right.AddMetadata("authorization", "Bearer secret");
  EXPECT_TRUE(client.Call(right, "x").status.ok());
}

TEST(GrpcServer, PassesMetadataOn) {
  const auto server = Started({}, [](const GrpcRequest& request, const auto& respond) {
    respond({0, {}, request.metadata.at("X-Scope-OrgID"), {}});
  });
  grpc::ClientContext context;
  context.AddMetadata("x-scope-orgid", "team");
  EXPECT_EQ(GrpcTestClient(server->port()).Call(context, "x").body, "team");
}

TEST(GrpcServer, AClientThatGoesAwayCancelsItsCall) {
  std::promise<std::pair<CancelToken, std::function<void(GrpcResponse)>>> got;
  const auto server =
      Started({}, [&](const GrpcRequest& request, std::function<void(GrpcResponse)> respond) {
        got.set_value({request.cancel, std::move(respond)});
      });
  GrpcTestClient client(server->port());
  grpc::ClientContext context;
  std::future<GrpcAnswer> call =
      std::async(std::launch::async, [&] { return client.Call(context, "x"); });
  const auto [token, respond] = got.get_future().get();
  std::promise<void> cancelled;
  const auto guard = token.OnCancel([&] { cancelled.set_value(); });
  context.TryCancel();
  EXPECT_EQ(cancelled.get_future().wait_for(seconds(10)), std::future_status::ready);
  EXPECT_EQ(call.get().status.error_code(), grpc::StatusCode::CANCELLED);
  respond({});  // the client is gone: must do no harm
}

TEST(GrpcServer, AnswersFromAnotherThread) {
  std::vector<std::jthread> threads;
  const auto server =
      Started({}, [&](const GrpcRequest&, std::function<void(GrpcResponse)> respond) {
        threads.emplace_back([r = std::move(respond)] { r({0, {}, "later", {}}); });
      });
  EXPECT_EQ(GrpcTestClient(server->port()).Call("x").body, "later");
}

TEST(GrpcServer, AHandlerThatForgetsOrThrowsGivesInternal) {
  const auto server = Started({}, [](const GrpcRequest& request, const auto&) {
    if (*request.body == "throw") throw std::runtime_error("from a library");
  });
  GrpcTestClient client(server->port());
  EXPECT_EQ(client.Call("forget").status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(client.Call("throw").status.error_code(), grpc::StatusCode::INTERNAL);
}

TEST(GrpcServer, TooManyBytesAtOnceAreUnavailableUntilTheyAreAnswered) {
  std::promise<std::function<void(GrpcResponse)>> held;
  GrpcServerOptions options;
  options.max_inflight_bytes = 150'000;
  const auto server = Started(std::move(options), [&](const GrpcRequest& request, auto respond) {
    if (request.method == "/hold/M") return held.set_value(std::move(respond));
    respond({0, {}, "fine", {}});
  });
  GrpcTestClient client(server->port());
  const std::string body(100'000, 'x');
  std::future<GrpcAnswer> first =
      std::async(std::launch::async, [&] { return client.Call(body, "/hold/M"); });
  const auto respond = held.get_future().get();
  EXPECT_EQ(client.Call(body).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(client.Call("small").status.ok());
  respond({});
  EXPECT_TRUE(first.get().status.ok());
}

TEST(GrpcServer, ASecondServerOnThePortSaysWhoToAsk) {
  const auto server = Started();
  GrpcServerOptions options;
  options.port = server->port();
  GrpcServer second(Io(), options, EchoCall);
  const auto started = second.Start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message().find(fmt::format("port {}", options.port)),
            std::string::npos);
}

TEST(GrpcServer, AHandlerWithoutMemoryCostsItsCallAlone) {
  const auto server =
      Started({}, [](const GrpcRequest& request, const std::function<void(GrpcResponse)>& respond) {
        if (request.method == "/short/M") throw std::bad_alloc();
        respond({0, {}, "fine", {}});
      });
  GrpcTestClient client(server->port());
  const GrpcAnswer outcome = client.Call("x", "/short/M");
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(outcome.status.error_message().find("out of memory for now"), std::string::npos);
  EXPECT_TRUE(client.Call("x").status.ok());
}

TEST(GrpcServer, SaysWhenTheCertificateIsNone) {
  const TestCertificate certificate;
  GrpcServerOptions options;
  options.tls_certificate_file = certificate.key_file();
  options.tls_key_file = certificate.key_file();
  GrpcServer server(Io(), std::move(options), EchoCall);
  const auto started = server.Start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message().find("certificate"), std::string::npos);
}

TEST(GrpcServer, StopWaitsForRunningCallsAndThenCutsThemOff) {
  std::promise<std::function<void(GrpcResponse)>> held;
  auto server = Started({}, [&](const GrpcRequest&, std::function<void(GrpcResponse)> respond) {
    held.set_value(std::move(respond));
  });
  GrpcTestClient client(server->port());
  std::future<GrpcAnswer> call = std::async(std::launch::async, [&] { return client.Call("x"); });
  auto respond = held.get_future().get();
  std::future<void> stopped = std::async(std::launch::async, [&] { server->Stop(20); });
  EXPECT_EQ(stopped.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  respond({0, {}, "done", {}});
  EXPECT_EQ(call.get().body, "done");
  EXPECT_EQ(stopped.wait_for(seconds(10)), std::future_status::ready);

  held = {};
  server = Started({}, [&](const GrpcRequest&, std::function<void(GrpcResponse)> r) {
    held.set_value(std::move(r));
  });
  GrpcTestClient again(server->port());
  call = std::async(std::launch::async, [&] { return again.Call("x"); });
  respond = held.get_future().get();
  server.reset();
  EXPECT_FALSE(call.get().status.ok());
  respond({});
}

TEST(GrpcServer, StopsCleanlyUnderLoadAgainAndAgain) {
  for (int round = 0; round < 10; ++round) {
    auto server = Started();
    std::atomic<bool> done{false};
    std::vector<std::jthread> threads;
    threads.reserve(3);
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, port = server->port()] {
        GrpcTestClient client(port);
        while (!done && client.Call("x").status.ok()) {
        }
      });
    }
    EXPECT_TRUE(GrpcTestClient(server->port()).Call("x").status.ok());
    server->Stop(round % 2);
    done = true;
  }
}

TEST(GrpcServer, SpeaksTls) {
  const TestCertificate certificate;
  GrpcServerOptions options;
  options.tls_certificate_file = certificate.certificate_file();
  options.tls_key_file = certificate.key_file();
  const auto server = Started(std::move(options));
  std::ifstream file(certificate.certificate_file());
  std::ostringstream pem;
  pem << file.rdbuf();
  grpc::SslCredentialsOptions trust;
  trust.pem_root_certs = pem.str();
  EXPECT_EQ(GrpcTestClient(server->port(), grpc::SslCredentials(trust)).Call("tls").body,
            "echo tls");
}

// gRPC and HTTP/1.1 on one port.
class OnePort : public HttpServerTest {
 protected:
  void StartBoth(GrpcServerOptions grpc = {}, HttpServerOptions http = {}) {
    http.grpc = std::make_shared<GrpcServer>(io_, std::move(grpc), EchoCall);
    Start(std::move(http));
  }
};

TEST_F(OnePort, TakesBoth) {
  StartBoth();
  EXPECT_EQ(GrpcTestClient(server_->port()).Call("hello").body, "echo hello");
  EXPECT_EQ(Post("x").status, 200);
  const std::string big(3'000'000, 'x');
  GrpcTestClient client(server_->port());
  EXPECT_EQ(client.Call(big).body, "echo " + big);
  EXPECT_EQ(client.Call("again").body, "echo again");
}

TEST_F(OnePort, ThePrefaceMayComeInPieces) {
  StartBoth();
  RawClient client(server_->port());
  for (const char c : kHttp2Preface) {
    client.Send(std::string_view(&c, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  client.Send(std::string("\0\0\0\x04\0\0\0\0\0", 9));  // SETTINGS, empty
  const std::string answer = client.ReadUntil(std::string("\0\0\0\x04\x01\0\0\0\0", 9));
  ASSERT_GE(answer.size(), 9u);
  EXPECT_EQ(answer[3], '\x04') << "SETTINGS come first";
}

TEST_F(OnePort, WhatOnlyBeginsLikeItIsHttp) {
  StartBoth();
  EXPECT_EQ(
      Exchange("PRI /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").substr(0, 12),
      "HTTP/1.1 405");
  EXPECT_EQ(Exchange("POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     "Content-Length: 1\r\n\r\nx")
                .substr(0, 12),
            "HTTP/1.1 200");
}

TEST_F(OnePort, APrefaceThatNeverEndsIsNotWaitedForForEver) {
  HttpServerOptions options;
  options.read_timeout_seconds = 1;
  StartBoth({}, std::move(options));
  RawClient client(server_->port());
  client.Send("PRI * HTTP/2.0");
  EXPECT_EQ(client.ReadAll().substr(0, 12), "HTTP/1.1 408");
}

TEST_F(OnePort, GrpcNeedsTheTokenToo) {
  GrpcServerOptions grpc;
  grpc.bearer_token = "secret";
  HttpServerOptions http;
  http.bearer_token = "secret";
  StartBoth(std::move(grpc), std::move(http));
  EXPECT_EQ(GrpcTestClient(server_->port()).Call("x").status.error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext context;
  context.AddMetadata("authorization", "Bearer secret");
  EXPECT_TRUE(GrpcTestClient(server_->port()).Call(context, "x").status.ok());
}

TEST_F(OnePort, ConnectionsOfBothKindsCountTogether) {
  const auto limit = std::make_shared<ConnectionLimit>(8);
  GrpcServerOptions grpc;
  grpc.connections = limit;
  HttpServerOptions http;
  http.connections = limit;
  StartBoth(std::move(grpc), std::move(http));
  // Half of the places are gRPC's; who has been silent for longest makes room.
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(std::make_unique<RawClient>(server_->port()));
    silent.back()->Send(kHttp2Preface);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(GrpcTestClient(server_->port()).Call("x").body, "echo x");
  EXPECT_EQ(Post("x").status, 200);
  // Their sockets are shut down: what gRPC sent them first ends.
  for (int i = 0; i < 20; ++i) silent[static_cast<std::size_t>(i)]->ReadAll();
}

TEST_F(OnePort, StoppingEndsCallsOfBoth) {
  std::promise<std::function<void(GrpcResponse)>> held;
  HttpServerOptions http;
  http.grpc = std::make_shared<GrpcServer>(
      io_, GrpcServerOptions{}, [&](const GrpcRequest&, std::function<void(GrpcResponse)> respond) {
        held.set_value(std::move(respond));
      });
  Start(std::move(http));
  auto outcome = std::async(
      std::launch::async, [this] { return GrpcTestClient(server_->port()).Call("x").status.ok(); });
  const auto respond = held.get_future().get();
  auto stopped = std::async(std::launch::async, [this] { server_->Stop(20); });
  respond({0, {}, "done", {}});
  EXPECT_TRUE(outcome.get());
  stopped.get();
}

}  // namespace
}  // namespace wherefore::net
