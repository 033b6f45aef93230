// A server for tests: answers each request on a loopback port as its script says. Real sockets, its
// own thread, gone when the object is.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <netinet/in.h>

#include "base/clock.h"
#include "base/mutex.h"

namespace wherefore::sdk {

class TestServer {
 public:
  struct Request {
    std::string head;  // request line and headers
    std::string body;
    int connection = 0;  // counts up
    std::int64_t time_ns = 0;
  };
  static constexpr const char* kClose = "";     // no answer, the connection ends
  static constexpr const char* kHang = "hang";  // no answer, the connection stays
  static std::string Answer(int status, const std::string& headers = "",
                            const std::string& body = "") {
    return fmt::format("HTTP/1.1 {} X\r\ncontent-length: {}\r\n{}\r\n{}", status, body.size(),
                       headers, body);
  }

  // `script`: one answer a request; when it is used up, 200. `port` 0: any.
  explicit TestServer(std::deque<std::string> script = {}, int port = 0)
      : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener_, 16) != 0) {
      fmt::print(stderr, "test server: cannot listen\n");
    }
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~TestServer() {
    stop_ = true;
    thread_.join();
    close(listener_);
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }
  [[nodiscard]] std::vector<Request> requests() {
    const MutexLock lock(mutex_);
    return requests_;
  }
  // False when fewer came within 10 s.
  bool WaitFor(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const MutexLock lock(mutex_);
    while (requests_.size() < count) {
      if (!arrived_.WaitUntil(mutex_, end) && std::chrono::steady_clock::now() >= end) return false;
    }
    return true;
  }

 private:
  bool Readable(int fd) {
    while (!stop_) {
      pollfd p{fd, POLLIN, 0};
      if (poll(&p, 1, 20) > 0) return true;
    }
    return false;
  }

  void Serve() {
    std::vector<std::thread> connections;
    for (int number = 1; Readable(listener_); ++number) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0) connections.emplace_back([this, fd, number] { Talk(fd, number); });
    }
    for (std::thread& connection : connections) connection.join();
  }

  void Talk(int fd, int number) {
    std::string buffer;
    char piece[65536];
    while (Readable(fd)) {
      const ssize_t got = recv(fd, piece, sizeof(piece), 0);
      if (got <= 0) break;
      buffer.append(piece, static_cast<std::size_t>(got));
      const std::size_t end = buffer.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      const std::size_t length_at = buffer.find("content-length: ");
      const std::size_t length = std::stoul(buffer.substr(length_at + 16));
      if (buffer.size() < end + 4 + length) continue;
      const std::string answer =
          Take({buffer.substr(0, end), buffer.substr(end + 4, length), number, MonotonicNs()});
      buffer.erase(0, end + 4 + length);
      if (answer == kClose) break;
      if (answer != kHang && send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    }
    close(fd);
  }

  std::string Take(Request request) {
    const MutexLock lock(mutex_);
    requests_.push_back(std::move(request));
    arrived_.NotifyAll();
    if (script_.empty()) return Answer(200);
    std::string answer = script_.front();
    script_.pop_front();
    return answer;
  }

  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
  Mutex mutex_;
  CondVar arrived_;
  std::deque<std::string> script_;
  std::vector<Request> requests_;
};

}  // namespace wherefore::sdk
