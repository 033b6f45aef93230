#include "sdk/http_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "formats/gzip.h"
#include "sdk/pprof_server.h"

namespace wherefore::sdk {
namespace {

// One request as raw bytes, the whole answer back.
std::string Ask(int port, const std::string& request) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "refused";
  send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = recv(fd, buffer, sizeof(buffer), 0)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(got));
  close(fd);
  return answer;
}

std::string Get(int port, const std::string& target, const std::string& host = "localhost") {
  return Ask(port, "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
}

class PprofServer : public testing::Test {
 protected:
  void SetUp() override {
    AddPprofRoutes(server_, {[](Type type, double seconds) -> Result<std::string> {
                               if (type == Type::kMutex)
                                 return Error(Code::kUnavailable, "mutex is off: reason");
                               if (type == Type::kBlock)
                                 return Error(Code::kUnsupported, "block is off: switched off");
                               return fmt::format("{} {}", TypeName(type), seconds);
                             },
                             [](double seconds) -> Result<std::string> {
                               return fmt::format("allocs {}", seconds);
                             }});
    ASSERT_TRUE(server_.Start("127.0.0.1", 0));
  }
  std::string Profile(const std::string& page) {
    const std::string answer = Get(server_.port(), "/debug/pprof/" + page);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    return formats::Gunzip(answer.substr(answer.find("\r\n\r\n") + 4), 1000).value_or("no gzip");
  }
  HttpServer server_;
};

TEST_F(PprofServer, GivesEveryProfileWithItsOwnDefault) {
  EXPECT_EQ(Profile("profile"), "cpu 30");
  EXPECT_EQ(Profile("profile?seconds=2.5"), "cpu 2.5");
  EXPECT_EQ(Profile("heap?debug=0"), "heap 0");
  EXPECT_EQ(Profile("allocs?x=1&seconds=3"), "allocs 3");
  EXPECT_EQ(Profile("goroutine"), "threads 0");
}

TEST_F(PprofServer, SaysWhatIsWrong) {
  const int port = server_.port();
  EXPECT_TRUE(Get(port, "/debug/pprof/mutex").starts_with("HTTP/1.1 503"));
  EXPECT_NE(Get(port, "/debug/pprof/mutex").find("mutex is off: reason"), std::string::npos);
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
