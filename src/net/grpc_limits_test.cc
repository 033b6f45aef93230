// What a gRPC client may hold: connections, calls without a message, answers it does not read.
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/metrics.h"
#include "net/connection_limit.h"
#include "net/test_grpc_server.h"
#include "net/test_http.h"
#include "net/unread_answers.h"

namespace wherefore::net {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

TEST(GrpcLimits, TheConnectionThatWasQuietTheLongestMakesRoom) {
  GrpcServerOptions options;
  options.connections = std::make_shared<ConnectionLimit>(8);  // four of them for gRPC
  const auto server = Started(std::move(options));
  GrpcTestClient busy(server->port());
  EXPECT_TRUE(busy.Call("x").status.ok());
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 100; ++i) {
    idle.push_back(std::make_unique<RawClient>(server->port()));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_TRUE(busy.Call("x").status.ok()) << i;
  }
  for (std::size_t i = 0; i < 90; ++i)
    idle[i]->ReadAll();  // blocks for up to 20 s if the server does not close it
  EXPECT_TRUE(GrpcTestClient(server->port()).Call("x").status.ok());
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

TEST(GrpcLimits, ACallWithoutAMessageIsEnded) {
  GrpcServerOptions options;
  options.message_timeout_seconds = 1;
  const auto server = Started(std::move(options));
  const auto start = std::chrono::steady_clock::now();
  OpenCall call(OwnChannel(server->port()));
  const grpc::Status status = call.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
  EXPECT_TRUE(GrpcTestClient(server->port()).Call("x").status.ok());
}

TEST(GrpcLimits, BeyondTheLimitCallsAreRefusedUntilOneThatWaitsMakesRoom) {
  GrpcServerOptions options;
  options.max_calls = 10;
  const auto server = Started(std::move(options));
  const auto channel = OwnChannel(server->port());
  Gauge& open = Metrics::Global().GetGauge("wherefore_grpc_open_calls", "");
  const auto before = open.value();
  std::vector<std::unique_ptr<OpenCall>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(std::make_unique<OpenCall>(channel));
  while (open.value() - before < 10) std::this_thread::yield();
  GrpcTestClient client(server->port());
  const GrpcAnswer refused = client.Call("x");
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

TEST(GrpcLimits, AConnectionHasAsManyCallsAsItMay) {
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

// An HTTP/2 frame.
std::string Frame(char type, char flags, char stream, std::string_view payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::string frame;
  for (const unsigned shift : {16U, 8U, 0U}) frame += static_cast<char>(size >> shift & 0xff);
  frame += type;
  frame += flags;
  frame += std::string(3, '\0') + stream;
  return frame.append(payload);
}

// A call of /s/M whose client never lets the server send any of the answer.
std::string CallThatIsNotRead() {
  const std::string no_window("\0\x04\0\0\0\0", 6);
  const auto text = [](std::string_view value) {
    return std::string(1, static_cast<char>(value.size())).append(value);
  };
  // POST, http, the path by its number in HTTP/2's table, two headers by their names.
  const std::string headers = "\x83\x86\x04" + text("/s/M") + "\x01" + text("test") +
                              std::string(1, '\0') + text("content-type") +
                              text("application/grpc") + std::string(1, '\0') + text("te") +
                              text("trailers");
  const std::string message(5, '\0');
  return std::string(kHttp2Preface) + Frame(4, 0, 0, no_window) + Frame(1, 4, 1, headers) +
         Frame(0, 1, 1, message);
}

TEST(GrpcLimits, AnAnswerThatIsNotReadIsDroppedLongBeforeItsDeadline) {
  GrpcServerOptions options;
  options.answer_window_seconds = 1;
  options.unread_answers = std::make_shared<UnreadAnswers>(64u << 20);
  const auto unread = options.unread_answers;
  constexpr std::size_t kLarge = 1u << 20;  // 76 seconds until its deadline
  const auto server = Started(
      std::move(options), [](const GrpcRequest&, const std::function<void(GrpcResponse)>& respond) {
        respond({0, {}, std::string(kLarge, 'x'), {}});
      });
  RawClient client(server->port());
  client.Send(CallThatIsNotRead());
  const auto until = std::chrono::steady_clock::now() + seconds(20);
  const auto wait_for = [&](std::size_t held) {
    while (unread->held() != held && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return unread->held();
  };
  ASSERT_EQ(wait_for(kLarge), kLarge);
  EXPECT_EQ(wait_for(0), 0u);
  EXPECT_EQ(GrpcTestClient(server->port()).Call("x").body.size(), kLarge) << "who reads gets it";
}

}  // namespace
}  // namespace wherefore::net
