#include "sdk/api/pprof_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "formats/wire/gzip.h"
#include "sdk/net/http_server.h"

namespace wherefore::sdk {
namespace {

// Sends one request as raw bytes. -1: refused.
int Send(int port, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    return -1;
  }
  send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  return fd;
}

// The whole answer.
std::string Receive(int fd) {
  if (fd < 0) return "refused";
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = recv(fd, buffer, sizeof(buffer), 0)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(got));
  close(fd);
  return answer;
}

std::string Ask(int port, const std::string& request) {
  return Receive(Send(port, request));
}

std::string Request(const std::string& target, const std::string& host = "localhost") {
  return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
}

std::string Get(int port, const std::string& target, const std::string& host = "localhost") {
  return Ask(port, Request(target, host));
}

std::string Unpacked(const std::string& answer) {
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  return formats::Gunzip(answer.substr(answer.find("\r\n\r\n") + 4), 1000).value_or("no gzip");
}

class PprofServer : public testing::Test {
 protected:
  void SetUp() override {
    AddPprofRoutes(server_, {.now = [](Type type) -> Result<std::string> {
                               if (type == Type::kMutex)
                                 return Error(Code::kUnavailable, "mutex is off: reason");
                               if (type == Type::kBlock)
                                 return Error(Code::kUnsupported, "block is off: switched off");
                               return std::string(TypeName(type));
                             },
                             .allocations = [] { return "allocs"; },
                             .begin = [this](Type type) -> Result<std::uint64_t> {
                               if (type == Type::kOffCpu)
                                 return Error(Code::kUnsupported, "off_cpu is off: reason");
                               ++running_;
                               return static_cast<std::uint64_t>(type);
                             },
                             .end =
                                 [this](std::uint64_t type, std::string_view shown) {
                                   --running_;
                                   return fmt::format("{} for a time {}",
                                                      TypeName(static_cast<Type>(type)), shown);
                                 },
                             .drop = [this](std::uint64_t) { --running_; }});
    ASSERT_TRUE(server_.Start("127.0.0.1", 0));
  }
  std::string Profile(const std::string& page) {
    return Unpacked(Get(server_.port(), "/debug/pprof/" + page));
  }
  // Profiles nobody will see the end of.
  std::vector<int> TakeLong(std::size_t count) {
    std::vector<int> clients;
    clients.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      clients.push_back(Send(server_.port(), Request("/debug/pprof/profile?seconds=3600")));
    EXPECT_TRUE(Becomes(static_cast<int>(count)));
    return clients;
  }
  // So many are being taken, before long.
  bool Becomes(int running) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (running_.load() != running && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return running_.load() == running;
  }
  std::atomic<int> running_{0};
  HttpServer server_;
};

double SecondsOf(const HttpServer& server, const std::string& page) {
  const HttpServer::Reply reply =
      server.Answer("GET /debug/pprof/" + page + " HTTP/1.1\r\nhost: localhost");
  return reply.later ? reply.later->seconds : 0;
}

TEST_F(PprofServer, GivesEveryProfileWithItsOwnDefault) {
  EXPECT_EQ(SecondsOf(server_, "profile"), 30);
  EXPECT_EQ(SecondsOf(server_, "profile?seconds=2.5"), 2.5);
  EXPECT_EQ(SecondsOf(server_, "allocs?x=1&seconds=3"), 3);
  EXPECT_EQ(SecondsOf(server_, "heap?debug=0"), 0);
  EXPECT_EQ(Profile("heap?debug=0"), "heap");
  EXPECT_EQ(Profile("allocs"), "allocs");
  EXPECT_EQ(Profile("profile?seconds=0.01"), "cpu for a time ");
  EXPECT_EQ(Profile("heap?seconds=0.01"), "heap for a time inuse_space");
  EXPECT_EQ(Profile("allocs?seconds=0.01"), "heap for a time ");
  EXPECT_EQ(Profile("goroutine"), "threads for a time ");
}

TEST_F(PprofServer, AnswersOthersWhileProfilesAreTakenButTakesOnlyAFew) {
  const std::vector<int> clients = TakeLong(HttpServer::kMostLater);
  EXPECT_EQ(Profile("heap"), "heap");
  EXPECT_EQ(Profile("threads"), "threads for a time ");
  const std::string refused = Get(server_.port(), "/debug/pprof/wall");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 503")) << refused;
  EXPECT_NE(refused.find("\r\nretry-after: 3"), std::string::npos) << refused;
  EXPECT_NE(refused.find("4 profiles are being taken already"), std::string::npos) << refused;
  for (const int client : clients) close(client);
}

TEST_F(PprofServer, GivesUpWhatNobodyWaitsFor) {
  for (int round = 0; round < 3; ++round) {
    for (const int client : TakeLong(HttpServer::kMostLater)) close(client);
    EXPECT_TRUE(Becomes(0));
  }
  EXPECT_EQ(Profile("profile?seconds=0.51"), "cpu for a time ");
}

TEST_F(PprofServer, AnswersWhileManyClientsSayNothing) {
  std::vector<int> silent;
  silent.reserve(HttpServer::kMostConnections);
  for (std::size_t i = 1; i < HttpServer::kMostConnections; ++i)
    silent.push_back(Send(server_.port(), ""));
  EXPECT_EQ(Profile("heap"), "heap");
  for (const int client : silent) close(client);
}

TEST_F(PprofServer, StopsAtOnceAndGivesWhatThereIs) {
  const std::vector<int> clients = TakeLong(2);
  server_.Stop();
  EXPECT_EQ(running_.load(), 0);
  for (const int client : clients) EXPECT_EQ(Unpacked(Receive(client)), "cpu for a time ");
}

TEST_F(PprofServer, SaysWhatIsWrong) {
  const int port = server_.port();
  EXPECT_TRUE(Get(port, "/debug/pprof/mutex").starts_with("HTTP/1.1 503"));
  EXPECT_NE(Get(port, "/debug/pprof/mutex").find("mutex is off: reason"), std::string::npos);
  EXPECT_NE(Get(port, "/debug/pprof/offcpu").find("404 Not Found"), std::string::npos);
  EXPECT_TRUE(Get(port, "/debug/pprof/heap?seconds=-1").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(Get(port, "/debug/pprof/block").starts_with("HTTP/1.1 404"));
  EXPECT_NE(Get(port, "/debug/pprof/block").find("block is off: switched off"), std::string::npos);
  for (const char* seconds : {"abc", "", "1x", "nan", "inf"}) {
    const std::string answer = Get(port, std::string("/debug/pprof/profile?seconds=") + seconds);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 400")) << seconds << ": " << answer;
  }
  EXPECT_TRUE(Get(port, "/debug/pprof/nothing").starts_with("HTTP/1.1 404"));
  EXPECT_TRUE(Ask(port, "POST /debug/pprof/heap HTTP/1.1\r\nhost: localhost\r\n\r\n")
                  .starts_with("HTTP/1.1 405"));
  EXPECT_TRUE(Ask(port, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
}

TEST_F(PprofServer, AnswersOnlyThoseWhoCameToLoopback) {
  const int port = server_.port();
  EXPECT_TRUE(Get(port, "/debug/pprof/", "evil.example").starts_with("HTTP/1.1 403"));
  EXPECT_TRUE(Get(port, "/debug/pprof/", "127.0.0.1:1234").starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(Get(port, "/debug/pprof/", "[::1]:80").starts_with("HTTP/1.1 200"));
}

TEST_F(PprofServer, ServesTheIndexAndTheCommandLine) {
  EXPECT_NE(Get(server_.port(), "/debug/pprof/").find("href=\"/debug/pprof/heap\""),
            std::string::npos);
  EXPECT_NE(Get(server_.port(), "/debug/pprof/cmdline").find("sdk_test"), std::string::npos);
  const std::string head =
      Ask(server_.port(), "HEAD /debug/pprof/ HTTP/1.1\r\nhost: localhost\r\n\r\n");
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST_F(PprofServer, HangsUpOnEndlessHeaders) {
  EXPECT_EQ(Ask(server_.port(), "GET / HTTP/1.1\r\nx: " + std::string(20'000, 'x')), "");
}

TEST_F(PprofServer, StopsAndFreesItsPort) {
  const int port = server_.port();
  server_.Stop();
  EXPECT_EQ(Get(port, "/debug/pprof/"), "refused");
  HttpServer next;
  EXPECT_TRUE(next.Start("127.0.0.1", port));
  HttpServer third;
  EXPECT_FALSE(third.Start("127.0.0.1", port));
  EXPECT_FALSE(third.Start("no such host.", 0));
}

}  // namespace
}  // namespace wherefore::sdk
