// For tests of the HTTP server over real loopback sockets: a raw client for tests on bytes, and a
// server with a route that echoes what it got.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "net/http.h"
#include "net/http_client.h"

namespace wherefore::net {

// A raw client: sends exactly these bytes and reads when told.
class RawClient {
 public:
  // `receive_buffer`: size of the socket's receive buffer; 0: the system's default.
  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    const timeval limit{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { Close(); }

  void Send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  // Reads until `text` has arrived (or the end); returns everything since the last call.
  std::string ReadUntil(std::string_view text) {
    while (seen_.find(text) == std::string::npos && ReadSome()) {
    }
    const std::size_t at = seen_.find(text);
    const std::size_t end = at == std::string::npos ? seen_.size() : at + text.size();
    std::string out = seen_.substr(0, end);
    seen_.erase(0, end);
    return out;
  }
  std::string ReadAll() {
    while (ReadSome()) {
    }
    return std::move(seen_);
  }
  // Reads some of what is available; 0 at the end.
  [[nodiscard]] std::size_t Read(std::size_t most) const {
    std::string chunk(most, 0);
    const ssize_t n = recv(fd_, chunk.data(), chunk.size(), 0);
    return n <= 0 ? 0 : static_cast<std::size_t>(n);
  }
  void EndSending() const { shutdown(fd_, SHUT_WR); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  bool ReadSome() {
    std::array<char, 4096> chunk{};
    const ssize_t n = recv(fd_, chunk.data(), chunk.size(), 0);
    if (n <= 0) return false;
    seen_.append(chunk.data(), static_cast<std::size_t>(n));
    return true;
  }
  int fd_;
  std::string seen_;
};

inline void Echo(const HttpRequest& request, const Respond& respond) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body =
      fmt::format("{} {} [{}] {}", request.method, request.path, request.query, *request.body);
  respond(std::move(response));
}

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() {
    router_->Add("POST", "/echo", Echo);
    router_->Add("GET", "/echo", Echo);
    router_->Add("GET", "/ready", Echo);
  }
  void Start(HttpServerOptions options = {}) {
    server_.emplace(io_, std::move(options), router_);
    const auto started = server_->Start();
    ASSERT_TRUE(started) << started.error().message();
  }
  [[nodiscard]] std::string Url(std::string_view path) const {
    return fmt::format("http://127.0.0.1:{}{}", server_->port(), path);
  }
  [[nodiscard]] ClientResponse Post(std::string_view body, Headers headers = {}) const {
    ClientOptions options;
    options.headers = std::move(headers);
    auto response = Fetch("POST", Url("/echo"), body, "text/plain", options);
    EXPECT_TRUE(response) << response.error().message();
    return response ? *std::move(response) : ClientResponse{};
  }
  [[nodiscard]] std::string Exchange(std::string_view bytes) const {
    RawClient client(server_->port());
    client.Send(bytes);
    return client.ReadAll();
  }

  std::shared_ptr<Router> router_ = std::make_shared<Router>();
  IoThreads io_{2};
  std::optional<HttpServer> server_;
};

}  // namespace wherefore::net
