// Which connections are closed when there are too many, and bodies that do not arrive.
#include <future>
#include <thread>

#include "base/memory_budget.h"
#include "net/connection_limit.h"
#include "net/test_http.h"

namespace wherefore::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::string_view kGet = "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n";
constexpr std::string_view kAnswer = "GET /echo [] ";

class HttpConnections : public HttpServerTest {
 protected:
  void StartWith(std::size_t most_connections, HttpServerOptions options = {}) {
    options.connections = std::make_shared<ConnectionLimit>(most_connections);
    Start(std::move(options));
  }
  [[nodiscard]] std::unique_ptr<RawClient> Connect() const {
    return std::make_unique<RawClient>(server_->port());
  }
  // A connection that got its answer and stays open.
  [[nodiscard]] std::unique_ptr<RawClient> Idle() const {
    auto client = Connect();
    client->Send(kGet);
    EXPECT_TRUE(client->ReadUntil(kAnswer).ends_with(kAnswer));
    return client;
  }
};

TEST_F(HttpConnections, TheOneThatWasQuietTheLongestMakesRoom) {
  StartWith(3);
  const auto first = Idle();
  const auto second = Idle();
  const auto third = Idle();
  first->Send(kGet);  // now the second one has been idle for longest
  EXPECT_TRUE(first->ReadUntil(kAnswer).ends_with(kAnswer));
  const auto fourth = Idle();
  EXPECT_EQ(second->ReadAll(), "") << "closed";
  for (const auto& client : {first.get(), third.get(), fourth.get()}) {
    client->Send(kGet);
    EXPECT_TRUE(client->ReadUntil(kAnswer).ends_with(kAnswer));
  }
}

TEST_F(HttpConnections, HalfARequestIsAsQuietAsNone) {
  StartWith(2);
  const auto header = Connect();
  header->Send("POST /ec");
  const auto body = Connect();
  body->Send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc");
  std::vector<std::unique_ptr<RawClient>> more;
  for (int i = 0; i < 10; ++i) more.push_back(Idle());
  EXPECT_EQ(header->ReadAll(), "");
  EXPECT_EQ(body->ReadAll(), "");
}

TEST_F(HttpConnections, WhoIsBeingAnsweredStaysAndTheNewOneIsTold) {
  std::promise<Respond> later;
  router_->Add("GET", "/hold",
               [&](const HttpRequest&, Respond respond) { later.set_value(std::move(respond)); });
  StartWith(1);
  const auto held = Connect();
  held->Send("GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const Respond respond = later.get_future().get();
  const auto refused = Connect();
  refused->Send(kGet);
  const std::string answer = refused->ReadAll();
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 503");
  EXPECT_NE(answer.find("Retry-After: "), std::string::npos);
  EXPECT_NE(answer.find("--max-connections"), std::string::npos);
  respond({.body = "held"});
  EXPECT_TRUE(held->ReadUntil("held").ends_with("held"));
  EXPECT_TRUE(Idle());
  EXPECT_EQ(held->ReadAll(), "") << "quiet since its answer";
}

TEST_F(HttpConnections, AThousandComersLeaveTheLimitAsItIs) {
  StartWith(10);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 1000; ++i) clients.push_back(Idle());
  for (std::size_t i = 0; i < 990; ++i) EXPECT_EQ(clients[i]->ReadAll(), "") << i;
  for (std::size_t i = 990; i < 1000; ++i) {
    clients[i]->Send(kGet);
    EXPECT_TRUE(clients[i]->ReadUntil(kAnswer).ends_with(kAnswer)) << i;
  }
}

TEST_F(HttpConnections, ABodyThatStallsGets408SoonerThanTheWholeTimeout) {
  HttpServerOptions options;
  options.body_window_seconds = 1;
  options.read_timeout_seconds = 60;
  StartWith(10, std::move(options));
  const auto start = steady_clock::now();
  const std::string answer =
      Exchange("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" +
               std::string(50'000, 'x'));
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 408");
  EXPECT_NE(answer.find("too slowly"), std::string::npos);
  EXPECT_LT(steady_clock::now() - start, seconds(10));
}

TEST_F(HttpConnections, ASteadyBodyMayTakeAsLongAsTheTimeoutAllows) {
  HttpServerOptions options;
  options.body_window_seconds = 1;
  options.read_timeout_seconds = 20;
  StartWith(10, std::move(options));
  const auto client = Connect();
  client->Send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40000\r\n\r\n");
  for (int i = 0; i < 40; ++i) {  // four seconds, 10 kB a second
    client->Send(std::string(1000, 'x'));
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_EQ(client->ReadUntil("\r\n").substr(0, 12), "HTTP/1.1 200");
}

TEST_F(HttpConnections, StalledBodiesMakeRoomForThoseThatMove) {
  HttpServerOptions options;
  options.max_inflight_bytes = 1'000'000;
  StartWith(100, std::move(options));
  const std::size_t before = MemoryBudget::Process().held();
  std::vector<std::unique_ptr<RawClient>> stalled;
  constexpr std::size_t kStalled = 9;  // as many as fit
  for (std::size_t i = 0; i < kStalled; ++i) {
    stalled.push_back(Connect());
    stalled.back()->Send(
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 110000\r\n\r\n" +
        std::string(109'999, 'x'));
  }
  const std::string body(50'000, 'x');
  while (MemoryBudget::Process().held() - before < kStalled * 109'999) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  const auto start = steady_clock::now();
  EXPECT_EQ(Post(body).status, 429);
  int status = 429;
  while (status == 429 && steady_clock::now() - start < seconds(20)) {
    status = Post(body).status;
    if (status == 429) std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_EQ(status, 200);
  EXPECT_LT(steady_clock::now() - start, seconds(6));
  EXPECT_EQ(stalled[0]->ReadUntil("\r\n").substr(0, 12), "HTTP/1.1 429");
}

TEST(ConnectionLimit, KeepsDescriptorsForEverythingElse) {
  EXPECT_EQ(MaxConnections(1024), 768u);
  EXPECT_EQ(MaxConnections(4096), 3072u);
  EXPECT_EQ(MaxConnections(20'000), 18'976u);
}

}  // namespace
}  // namespace wherefore::net
