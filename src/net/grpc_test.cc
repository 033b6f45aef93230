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

#include "base/metrics.h"
#include "net/compression.h"
#include "net/connection_limit.h"
#include "net/test_http.h"
#include "net/test_tls.h"

namespace wherefore::net {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

struct Outcome {
  grpc::Status status;
  std::string body;
  std::string details;
};

class Client {
 public:
  explicit Client(std::uint16_t port,
                  const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                      grpc::InsecureChannelCredentials(),
                  std::string_view host = "127.0.0.1") {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    channel_ = grpc::CreateCustomChannel(fmt::format("{}:{}", host, port), credentials, arguments);
    stub_.emplace(channel_);
  }

  Outcome Call(grpc::ClientContext& context, std::string_view body,
               const std::string& method = "/s/M") {
    context.set_deadline(system_clock::now() + seconds(20));
    const grpc::Slice slice(body.data(), body.size());
    const grpc::ByteBuffer request(&slice, 1);
    grpc::CompletionQueue queue;
    auto reader = stub_->PrepareUnaryCall(&context, method, request, &queue);
    reader->StartCall();
    grpc::ByteBuffer answer;
    Outcome outcome;
    reader->Finish(&answer, &outcome.status, &queue);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    std::vector<grpc::Slice> slices;
    if (outcome.status.ok() && answer.Dump(&slices).ok()) {
      for (const auto& s : slices)
        outcome.body.append(reinterpret_cast<const char*>(s.begin()), s.size());
    }
    outcome.details = outcome.status.error_details();
    return outcome;
  }
  Outcome Call(std::string_view body, const std::string& method = "/s/M") {
    grpc::ClientContext context;
    return Call(context, body, method);
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::optional<grpc::GenericStub> stub_;
};

void Echo(const GrpcRequest& request, const std::function<void(GrpcResponse)>& respond) {
  if (request.method != "/s/M") {
    return respond({12, "no method " + request.method, {}, "details \x01 bytes"});
  }
  respond({0, {}, "echo " + *request.body, {}});
}

IoThreads& Io() {
  static IoThreads io(1);
  return io;
}

std::unique_ptr<GrpcServer> Started(GrpcServerOptions options = {}, GrpcHandler handler = Echo) {
  auto server = std::make_unique<GrpcServer>(Io(), std::move(options), std::move(handler));
  const auto started = server->Start();
  EXPECT_TRUE(started) << started.error().message();
  return server;
}

TEST(GrpcServer, CarriesBytesBothWaysOnBothLoopbackAddresses) {
  const auto server = Started();
  const std::string big(3'000'000, '\0');
  EXPECT_EQ(Client(server->port()).Call("hello").body, "echo hello");
  EXPECT_EQ(Client(server->port()).Call("").body, "echo ");
  EXPECT_EQ(Client(server->port()).Call(big).body, "echo " + big);
  const Outcome v6 = Client(server->port(), grpc::InsecureChannelCredentials(), "[::1]").Call("x");
  if (v6.status.ok()) {
    EXPECT_EQ(v6.body, "echo x");
  }
}

TEST(GrpcServer, TakesGzipAndNamesWhatItDoesNotTake) {
  const auto server = Started();
  grpc::ClientContext gzip;
  gzip.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const std::string text(50'000, 'x');
  EXPECT_EQ(Client(server->port()).Call(gzip, text).body, "echo " + text);
  grpc::ClientContext deflate;
  deflate.set_compression_algorithm(GRPC_COMPRESS_DEFLATE);
  EXPECT_EQ(Client(server->port()).Call(deflate, text).status.error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST(GrpcServer, ABombIsNotUnpacked) {
  const auto server = Started();
  const std::int64_t before = ReadProcessMemory().resident_bytes;
  std::string bomb;
  // 6 GB of zeros in 6 MB, as several gzip members because packing a single one would take long.
  const std::string member = Gzip(std::string(64u << 20, '\0'), 9);
  for (int i = 0; i < 96; ++i) bomb += member;
  const Outcome outcome = Client(server->port()).Call(bomb);
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
  const Outcome outcome = Client(server->port()).Call("x", "/other/Method");
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(outcome.status.error_message(), "no method /other/Method");
  EXPECT_EQ(outcome.details, "details \x01 bytes");
}

TEST(GrpcServer, RefusesMessagesOverTheLimitAlsoAfterDecompression) {
  GrpcServerOptions options;
  options.max_message_bytes = 100'000;
  const auto server = Started(std::move(options));
  Client client(server->port());
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
  Client client(server->port());
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
  EXPECT_EQ(Client(server->port()).Call(context, "x").body, "team");
}

TEST(GrpcServer, AClientThatGoesAwayCancelsItsCall) {
  std::promise<std::pair<CancelToken, std::function<void(GrpcResponse)>>> got;
  const auto server =
      Started({}, [&](const GrpcRequest& request, std::function<void(GrpcResponse)> respond) {
        got.set_value({request.cancel, std::move(respond)});
      });
  Client client(server->port());
  grpc::ClientContext context;
  std::future<Outcome> call =
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
  EXPECT_EQ(Client(server->port()).Call("x").body, "later");
}

TEST(GrpcServer, AHandlerThatForgetsOrThrowsGivesInternal) {
  const auto server = Started({}, [](const GrpcRequest& request, const auto&) {
    if (*request.body == "throw") throw std::runtime_error("from a library");
  });
  Client client(server->port());
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
  Client client(server->port());
  const std::string body(100'000, 'x');
  std::future<Outcome> first =
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
  GrpcServer second(Io(), options, Echo);
  const auto started = second.Start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message().find(fmt::format("port {}", options.port)),
            std::string::npos);
}

TEST(GrpcServer, TheConnectionThatWasQuietTheLongestMakesRoom) {
  GrpcServerOptions options;
  options.connections = std::make_shared<ConnectionLimit>(8);  // four of them for gRPC
  const auto server = Started(std::move(options));
  Client busy(server->port());
  EXPECT_TRUE(busy.Call("x").status.ok());
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(std::make_unique<RawClient>(server->port()));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_TRUE(busy.Call("x").status.ok()) << i;
  }
  for (std::size_t i = 0; i < 90; ++i)
    idle[i]->ReadAll();  // blocks for up to 20 s if the server does not close it
  EXPECT_TRUE(Client(server->port()).Call("x").status.ok());
}

// A call with headers and no message, on a connection that several may share.
class OpenCall {
 public:
  OpenCall(const std::shared_ptr<grpc::Channel>& channel, std::string_view method = "/s/M")
      : stub_(channel) {
    call_ = stub_.PrepareCall(&context_, std::string(method), &queue_);
    call_->StartCall(&queue_);
    Next();
  }
  OpenCall(const OpenCall&) = delete;
  OpenCall& operator=(const OpenCall&) = delete;
  ~OpenCall() {
    context_.TryCancel();
    if (!finished_) Finish();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  // Its status once the server ends it.
  grpc::Status Finish() {
    grpc::Status status;
    finished_ = true;
    call_->Finish(&status, &queue_);
    Next();
    return status;
  }

 private:
  void Next() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
  }
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool finished_ = false;
};

std::shared_ptr<grpc::Channel> OwnChannel(std::uint16_t port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

TEST(GrpcServer, ACallWithoutAMessageIsEnded) {
  GrpcServerOptions options;
  options.message_timeout_seconds = 1;
  const auto server = Started(std::move(options));
  const auto start = std::chrono::steady_clock::now();
  OpenCall call(OwnChannel(server->port()));
  const grpc::Status status = call.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
  EXPECT_TRUE(Client(server->port()).Call("x").status.ok());
}

TEST(GrpcServer, BeyondTheLimitCallsAreRefusedUntilOneThatWaitsMakesRoom) {
  GrpcServerOptions options;
  options.max_calls = 10;
  const auto server = Started(std::move(options));
  const auto channel = OwnChannel(server->port());
  Gauge& open = Metrics::Global().GetGauge("wherefore_grpc_open_calls", "");
  const auto before = open.value();
  std::vector<std::unique_ptr<OpenCall>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(std::make_unique<OpenCall>(channel));
  while (open.value() - before < 10) std::this_thread::yield();
  Client client(server->port());
  const Outcome refused = client.Call("x");
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(refused.status.error_message(), "too many calls are open; try again");
  // After two seconds they have waited long enough to be ended for others.
  const auto deadline = std::chrono::steady_clock::now() + seconds(20);
  while (!client.Call("x").status.ok()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(calls[0]->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED)
      << "the first to wait is the first to go";
}

TEST(GrpcServer, AConnectionHasAsManyCallsAsItMay) {
  GrpcServerOptions options;
  options.max_calls_per_connection = 5;
  const auto server = Started(std::move(options));
  const auto channel = OwnChannel(server->port());
  Gauge& open = Metrics::Global().GetGauge("wherefore_grpc_open_calls", "");
  const auto before = open.value();
  grpc::GenericStub stub(channel);
  ASSERT_TRUE(channel->WaitForConnected(system_clock::now() + seconds(20)));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<grpc::GenericClientAsyncReaderWriter>> calls;
  for (int i = 0; i < 50; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    calls.push_back(stub.PrepareCall(contexts.back().get(), "/s/M", &queue));
    calls.back()->StartCall(&queue);
  }
  while (open.value() - before < 5) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // no more come
  EXPECT_EQ(open.value() - before, 5);
  for (const auto& context : contexts) context->TryCancel();
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
}

TEST(GrpcServer, AHandlerWithoutMemoryCostsItsCallAlone) {
  const auto server =
      Started({}, [](const GrpcRequest& request, const std::function<void(GrpcResponse)>& respond) {
        if (request.method == "/short/M") throw std::bad_alloc();
        respond({0, {}, "fine", {}});
      });
  Client client(server->port());
  const Outcome outcome = client.Call("x", "/short/M");
  EXPECT_EQ(outcome.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(outcome.status.error_message().find("out of memory for now"), std::string::npos);
  EXPECT_TRUE(client.Call("x").status.ok());
}

TEST(GrpcServer, SaysWhenTheCertificateIsNone) {
  const TestCertificate certificate;
  GrpcServerOptions options;
  options.tls_certificate_file = certificate.key_file();
  options.tls_key_file = certificate.key_file();
  GrpcServer server(Io(), std::move(options), Echo);
  const auto started = server.Start();
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message().find("certificate"), std::string::npos);
}

TEST(GrpcServer, StopWaitsForRunningCallsAndThenCutsThemOff) {
  std::promise<std::function<void(GrpcResponse)>> held;
  auto server = Started({}, [&](const GrpcRequest&, std::function<void(GrpcResponse)> respond) {
    held.set_value(std::move(respond));
  });
  Client client(server->port());
  std::future<Outcome> call = std::async(std::launch::async, [&] { return client.Call("x"); });
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
  Client again(server->port());
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
        Client client(port);
        while (!done && client.Call("x").status.ok()) {
        }
      });
    }
    EXPECT_TRUE(Client(server->port()).Call("x").status.ok());
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
  EXPECT_EQ(Client(server->port(), grpc::SslCredentials(trust)).Call("tls").body, "echo tls");
}

}  // namespace
}  // namespace wherefore::net
