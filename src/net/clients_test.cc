// The clients of exporters: kept connections, TLS on both sides, deadlines, hostile servers; the
// same over gRPC.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "net/grpc.h"
#include "net/grpc_client.h"
#include "net/http_client.h"
#include "net/test_http.h"
#include "net/test_tls.h"

namespace wherefore::net {
namespace {

// Accepts connections and hands each, with its number, to `talk`; closes it afterwards.
class RawServer {
 public:
  explicit RawServer(std::function<void(int fd, int number)> talk) : talk_(std::move(talk)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    socklen_t size = sizeof(address);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Accept(); });
  }
  ~RawServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (std::thread& one : talks_) one.join();
    close(listener_);
  }
  [[nodiscard]] std::string Url() const { return fmt::format("http://127.0.0.1:{}/", port_); }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  void Accept() {
    while (true) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const timeval limit{10, 0};
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
      talks_.emplace_back([this, fd, number = connections_++] {
        talk_(fd, number);
        close(fd);
      });
    }
  }
  std::function<void(int, int)> talk_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::vector<std::thread> talks_;
  std::thread thread_;
};

// Sends until the client has gone.
void SendForEver(int fd, const std::string& first, const std::string& then) {
  if (send(fd, first.data(), first.size(), MSG_NOSIGNAL) < 0) return;
  while (send(fd, then.data(), then.size(), MSG_NOSIGNAL) > 0) {
  }
}
void ReadUntilClosed(int fd) {
  std::array<char, 4096> ignored{};
  while (recv(fd, ignored.data(), ignored.size(), 0) > 0) {
  }
}
bool ReadRequest(int fd) {
  std::string seen;
  std::array<char, 4096> chunk{};
  while (seen.find("\r\n\r\n") == std::string::npos) {
    const ssize_t got = recv(fd, chunk.data(), chunk.size(), 0);
    if (got <= 0) return false;
    seen.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return true;
}
void Say(int fd, std::string_view text) {
  (void)!send(fd, text.data(), text.size(), MSG_NOSIGNAL);
}

std::unique_ptr<HttpClient> MakeClient(TlsClientOptions tls = {}) {
  HttpClient::Options options;
  options.tls = std::move(tls);
  auto client = HttpClient::Make(std::move(options));
  EXPECT_TRUE(client) << client.error().message();
  return client ? *std::move(client) : nullptr;
}

using KeptConnections = HttpServerTest;

TEST_F(KeptConnections, AreUsedAgain) {
  Start();
  const auto client = MakeClient();
  for (int i = 0; i < 5; ++i) {
    const auto answer = client->Send({.url = Url("/echo"), .body = "hello"});
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->body, "POST /echo [] hello");
    EXPECT_EQ(client->idle(), 1u);
  }
  std::vector<std::future<void>> many;
  for (int i = 0; i < 8; ++i) {
    many.push_back(std::async(std::launch::async, [&] {
      for (int n = 0; n < 50; ++n) {
        const std::string body = std::string(static_cast<std::size_t>(n) * 1000, 'x');
        const auto answer = client->Send({.url = Url("/echo"), .body = body});
        ASSERT_TRUE(answer) << answer.error().message();
        ASSERT_EQ(answer->body.size(), 14 + body.size());
      }
    }));
  }
  for (auto& one : many) one.get();
  EXPECT_LE(client->idle(), 8u);
}

TEST_F(KeptConnections, AServerThatWentAwayIsFoundBeforeTheNextRequest) {
  Start();
  const auto client = MakeClient();
  ASSERT_TRUE(client->Send({.url = Url("/echo")}));
  const std::uint16_t port = server_->port();
  server_->Stop(0);
  HttpServerOptions options;
  options.port = port;
  Start(std::move(options));
  const auto answer = client->Send({.url = Url("/echo"), .body = "again"});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->body, "POST /echo [] again");
}

TEST(HttpClient, OneConnectionServesManyRequests) {
  const RawServer server([](int fd, int) {
    while (ReadRequest(fd)) Say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  {
    const auto client = MakeClient();
    for (int i = 0; i < 10; ++i) ASSERT_EQ(client->Send({.url = server.Url()})->body, "ok");
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(HttpClient, ConnectionCloseIsObeyed) {
  const RawServer server([](int fd, int) {
    while (ReadRequest(fd))
      Say(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
  });
  const auto client = MakeClient();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(client->Send({.url = server.Url()})->body, "ok");
  EXPECT_EQ(client->idle(), 0u);
}

TEST(HttpClient, RedirectsAreAnAnswerLikeAnyOther) {
  const RawServer server([](int fd, int) {
    ReadRequest(fd);
    Say(fd, "HTTP/1.1 307 No\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  });
  EXPECT_EQ(MakeClient()->Send({.url = server.Url()})->status, 307);
}

// Every way a server can hold a client up ends at the deadline, or before.
TEST(HttpClient, HostileServersEndAtTheDeadline) {
  const std::map<std::string, std::function<void(int)>> hostile = {
      {"silence", [](int fd) { ReadUntilClosed(fd); }},
      {"garbage", [](int fd) { SendForEver(fd, "\x16\x03garbage", std::string(1000, '\xff')); }},
      {"endless header",
       [](int fd) { SendForEver(fd, "HTTP/1.1 200 OK\r\n", "X-More: of the same\r\n"); }},
      {"endless line", [](int fd) { SendForEver(fd, "HTTP/1.1 200 ", std::string(1000, 'K')); }},
      {"endless 100s", [](int fd) { SendForEver(fd, "", "HTTP/1.1 100 Continue\r\n\r\n"); }},
      {"half a header",
       [](int fd) {
         Say(fd, "HTTP/1.1 200 OK\r\nContent-Le");
         ReadUntilClosed(fd);
       }},
      {"half a body",
       [](int fd) {
         Say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
         ReadUntilClosed(fd);
       }},
  };
  for (const auto& [name, talk] : hostile) {
    const RawServer server([&talk](int fd, int) { talk(fd); });
    const std::int64_t begin = MonotonicNs();
    const auto client = MakeClient();
    const auto answer = client->Send({.url = server.Url(), .timeout_ns = kNsPerSecond / 2});
    EXPECT_LT(MonotonicNs() - begin, 3 * kNsPerSecond) << name;
    ASSERT_FALSE(answer) << name;
    EXPECT_EQ(answer.error().code(), Code::kIo) << name;
    EXPECT_EQ(client->idle(), 0u) << name;
  }
}

TEST(HttpClient, OfAnEndlessBodyTheStatusCounts) {
  for (const char* head :
       {"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n\r\n"}) {
    const bool chunked = std::string_view(head).find("chunked") != std::string_view::npos;
    const RawServer server([&](int fd, int) {
      const std::string part(4096, 'x');
      SendForEver(fd, head, chunked ? "1000\r\n" + part + "\r\n" : part);
    });
    const auto client = MakeClient();
    const auto answer = client->Send({.url = server.Url(), .timeout_ns = 20 * kNsPerSecond});
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->status, 503);
    EXPECT_EQ(answer->headers.find("retry-after")->second, "7");
    EXPECT_LE(answer->body.size(), 4u << 20);
    EXPECT_EQ(client->idle(), 0u);
  }
}

TEST(HttpClient, ServerNameAndAuthoritiesDecideWhomToTrust) {
  const TestCertificate ours;
  const TestCertificate another;
  IoThreads io(1);
  auto router = std::make_shared<Router>();
  router->Add("POST", "/echo", Echo);
  HttpServer server(io,
                    {.addresses = {"127.0.0.1"},
                     .tls_certificate_file = ours.certificate_file(),
                     .tls_key_file = ours.key_file()},
                    router);
  ASSERT_TRUE(server.Start());
  const std::string url = fmt::format("https://127.0.0.1:{}/echo", server.port());
  const auto works = [&](TlsClientOptions tls) {
    return MakeClient(std::move(tls))->Send({.url = url, .body = "x"}).has_value();
  };
  EXPECT_TRUE(works({.ca_file = ours.certificate_file()}));
  EXPECT_TRUE(works({.ca_file = ours.certificate_file(), .include_system_authorities = true}));
  EXPECT_TRUE(works({.ca_file = ours.certificate_file(), .server_name = "localhost"}));
  EXPECT_TRUE(works({.ca_file = ours.certificate_file(), .min_version = "1.3"}));
  EXPECT_TRUE(works({.verify = false}));
  EXPECT_FALSE(works({})) << "the system does not know it";
  EXPECT_FALSE(works({.ca_file = another.certificate_file()}));
  EXPECT_FALSE(works({.ca_file = ours.certificate_file(), .server_name = "elsewhere"}));
  for (const TlsClientOptions& wrong :
       {TlsClientOptions{.ca_file = "/no/such/file"}, TlsClientOptions{.min_version = "2"},
        TlsClientOptions{.certificate_file = ours.certificate_file()},
        TlsClientOptions{.certificate_file = ours.certificate_file(), .key_file = "/nowhere"}}) {
    HttpClient::Options options;
    options.tls = wrong;
    const auto made = HttpClient::Make(std::move(options));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), Code::kInvalid);
  }
}

// A server that demands the client's certificate, with OpenSSL alone.
TEST(HttpClient, ShowsItsCertificate) {
  const TestCertificate ours;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()),
                                                                  &SSL_CTX_free);
  SSL_CTX_use_certificate_file(context.get(), ours.certificate_file().c_str(), SSL_FILETYPE_PEM);
  SSL_CTX_use_PrivateKey_file(context.get(), ours.key_file().c_str(), SSL_FILETYPE_PEM);
  SSL_CTX_load_verify_locations(context.get(), ours.certificate_file().c_str(), nullptr);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  const RawServer server([&](int fd, int) {
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(tls.get(), fd);
    if (SSL_accept(tls.get()) != 1) return;
    std::array<char, 4096> request{};
    if (SSL_read(tls.get(), request.data(), request.size()) <= 0) return;
    constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    SSL_write(tls.get(), kAnswer.data(), kAnswer.size());
    SSL_shutdown(tls.get());
  });
  const std::string url = fmt::format("https://127.0.0.1:{}/", server.port());
  TlsClientOptions tls{.ca_file = ours.certificate_file()};
  EXPECT_FALSE(MakeClient(tls)->Send({.url = url}));
  tls.certificate_file = ours.certificate_file();
  tls.key_file = ours.key_file();
  const auto answer = MakeClient(tls)->Send({.url = url});
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->body, "ok");
}

TEST_F(KeptConnections, AServerMayAskClientsForACertificate) {
  const TestCertificate ours;
  const TestCertificate trusted;
  const TestCertificate another;
  HttpServerOptions options;
  options.tls_certificate_file = ours.certificate_file();
  options.tls_key_file = ours.key_file();
  options.tls_client_ca_file = trusted.certificate_file();
  Start(std::move(options));
  const std::string url = fmt::format("https://127.0.0.1:{}/echo", server_->port());
  const auto send = [&](const TestCertificate* shown) {
    TlsClientOptions tls{.ca_file = ours.certificate_file()};
    if (shown != nullptr) tls.certificate_file = shown->certificate_file();
    if (shown != nullptr) tls.key_file = shown->key_file();
    return MakeClient(tls)->Send({.url = url, .body = "x"});
  };
  EXPECT_FALSE(send(nullptr));
  EXPECT_FALSE(send(&another));
  const auto answer = send(&trusted);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->status, 200);
}

TEST_F(KeptConnections, WhatCannotBeAskedForIsNamed) {
  const TestCertificate ours;
  HttpServerOptions options;
  options.tls_client_ca_file = ours.certificate_file();
  EXPECT_FALSE(HttpServer(io_, options, router_).Start()) << "not without TLS";
  options.tls_certificate_file = ours.certificate_file();
  options.tls_key_file = ours.key_file();
  for (const std::string& file : {std::string("/no/such/file"), ours.key_file()}) {
    options.tls_client_ca_file = file;
    const auto started = HttpServer(io_, options, router_).Start();
    ASSERT_FALSE(started);
    EXPECT_NE(started.error().message().find(file), std::string::npos) << started.error().message();
  }
}

class GrpcClientTest : public testing::Test {
 protected:
  void Start(GrpcServerOptions options = {}) {
    options.addresses = {"127.0.0.1"};
    server_ = std::make_unique<GrpcServer>(
        io_, std::move(options),
        [this](GrpcRequest request, std::function<void(GrpcResponse)> answer) {
          GrpcResponse response;
          response.body =
              request.method + " " + request.metadata["x-scope-orgid"] + " " + *request.body;
          if (request.method == "/busy") response = {8, "busy", {}, "details"};
          if (request.method != "/silent") return answer(std::move(response));
          MutexLock lock(mutex_);
          unanswered_.push_back(std::move(answer));
        });
    ASSERT_TRUE(server_->Start());
  }
  [[nodiscard]] GrpcAnswer Call(GrpcCall call, GrpcClientOptions options = {.plain = true}) const {
    options.target = fmt::format("127.0.0.1:{}", server_->port());
    auto client = GrpcClient::Make(std::move(options));
    EXPECT_TRUE(client) << client.error().message();
    return (*client)->Call(call);
  }

  IoThreads io_{1};
  std::unique_ptr<GrpcServer> server_;
  Mutex mutex_;
  std::vector<std::function<void(GrpcResponse)>> unanswered_ GUARDED_BY(mutex_);
};

TEST_F(GrpcClientTest, BytesMetadataAndDetails) {
  Start();
  const GrpcAnswer answer =
      Call({.method = "/echo", .body = "hello", .metadata = {{"x-scope-orgid", "team"}}},
           {.plain = true, .gzip = true});
  EXPECT_EQ(answer.status, 0) << answer.message;
  EXPECT_EQ(answer.body, "/echo team hello");
  const GrpcAnswer busy = Call({.method = "/busy"});
  EXPECT_EQ(busy.status, 8);
  EXPECT_EQ(busy.message, "busy");
  EXPECT_EQ(busy.details, "details");
}

TEST_F(GrpcClientTest, DeadlineAndNobodyThere) {
  Start();
  const std::int64_t begin = MonotonicNs();
  EXPECT_EQ(Call({.method = "/silent", .timeout_ns = kNsPerSecond / 2}).status, 4);
  EXPECT_LT(MonotonicNs() - begin, 3 * kNsPerSecond);
  CancelToken cancel;
  const std::jthread canceller([cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    cancel.Cancel();
  });
  EXPECT_EQ(Call({.method = "/silent", .timeout_ns = 60 * kNsPerSecond, .cancel = cancel}).status,
            1);
  const RawServer garbage([](int fd, int) { SendForEver(fd, "HTTP", std::string(100, 'x')); });
  auto client =
      GrpcClient::Make({.target = fmt::format("127.0.0.1:{}", garbage.port()), .plain = true});
  const GrpcAnswer answer = (*client)->Call({.method = "/x", .timeout_ns = kNsPerSecond});
  EXPECT_TRUE(answer.status == 14 || answer.status == 4) << answer.status;
}

TEST_F(GrpcClientTest, TlsTrustsWhatItIsTold) {
  const TestCertificate ours;
  const TestCertificate another;
  Start({.tls_certificate_file = ours.certificate_file(), .tls_key_file = ours.key_file()});
  const auto status = [&](TlsClientOptions tls) {
    return Call({.method = "/echo", .body = "x", .timeout_ns = 3 * kNsPerSecond},
                {.tls = std::move(tls)})
        .status;
  };
  EXPECT_EQ(status({.ca_file = ours.certificate_file()}), 0);
  EXPECT_EQ(status({.ca_file = ours.certificate_file(), .server_name = "localhost"}), 0);
  EXPECT_EQ(status({.verify = false}), 0);
  EXPECT_EQ(status({.ca_file = another.certificate_file()}), 14);
  EXPECT_FALSE(GrpcClient::Make({.target = "x:1", .tls = {.ca_file = "/no/such/file"}}));
  EXPECT_FALSE(GrpcClient::Make({.target = "x:1", .tls = {.min_version = "1.3"}}));
}

TEST_F(GrpcClientTest, AServerMayAskClientsForACertificate) {
  const TestCertificate ours;
  const TestCertificate trusted;
  const TestCertificate another;
  Start({.tls_certificate_file = ours.certificate_file(),
         .tls_key_file = ours.key_file(),
         .tls_client_ca_file = trusted.certificate_file()});
  const auto status = [&](const TestCertificate* shown) {
    TlsClientOptions tls{.ca_file = ours.certificate_file()};
    if (shown != nullptr) tls.certificate_file = shown->certificate_file();
    if (shown != nullptr) tls.key_file = shown->key_file();
    return Call({.method = "/echo", .body = "x", .timeout_ns = 5 * kNsPerSecond},
                {.tls = std::move(tls)})
        .status;
  };
  EXPECT_EQ(status(nullptr), 14);
  EXPECT_EQ(status(&another), 14);
  EXPECT_EQ(status(&trusted), 0);
}

}  // namespace
}  // namespace wherefore::net
