#include "http_client.h"

#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/clock.h"

namespace wherefore::bench {
namespace {

[[noreturn]] void Die(std::string_view what) {
  fmt::print(stderr, "bench_load: {}: {}\n", what, std::strerror(errno));
  std::_Exit(3);
}

int Connect(const std::string& host, std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (fd < 0 || inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) Die("address " + host);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) Die("connect");
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

// The number after a header's name (given in lower case, matched in any case); -1 if it is missing.
std::int64_t NumberOf(std::string_view head, std::string_view name) {
  for (std::size_t at = 0; (at = head.find("\r\n", at)) != std::string_view::npos;) {
    at += 2;
    if (head.size() - at <= name.size() ||
        strncasecmp(head.data() + at, name.data(), name.size()) != 0)
      continue;
    std::string_view rest = head.substr(at + name.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
    std::int64_t value = -1;
    std::from_chars(rest.data(), rest.data() + rest.size(), value);
    return value;
  }
  return -1;
}

}  // namespace

HttpPosters::HttpPosters(const std::string& host, std::uint16_t port, std::size_t connections,
                         OnAnswer on_answer)
    : host_(fmt::format("{}:{}", host, port)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      connections_(connections),
      on_answer_(std::move(on_answer)) {
  if (epoll_ < 0) Die("epoll");
  for (std::size_t i = 0; i < connections; ++i) {
    connections_[i].fd = Connect(host, port);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, connections_[i].fd, &event) != 0) Die("epoll");
  }
}

HttpPosters::~HttpPosters() {
  for (const Connection& c : connections_) close(c.fd);
  close(epoll_);
}

void HttpPosters::Post(std::size_t connection, std::string_view path, std::string& body) {
  Connection& c = connections_[connection];
  c.sent = 0;
  c.head.clear();
  fmt::format_to(std::back_inserter(c.head),
                 "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-protobuf\r\n"
                 "Content-Length: {}\r\n\r\n",
                 path, host_, body.size());
  c.body.swap(body);
  Send(connection);
}

void HttpPosters::Send(std::size_t index) {
  Connection& c = connections_[index];
  const std::size_t size = c.head.size() + c.body.size();
  while (c.sent < size) {
    const std::size_t of_head = std::min(c.sent, c.head.size());
    const std::size_t of_body = c.sent - of_head;
    std::array<iovec, 2> parts = {{{c.head.data() + of_head, c.head.size() - of_head},
                                   {c.body.data() + of_body, c.body.size() - of_body}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t n = sendmsg(c.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0) Die("send");
    c.sent += static_cast<std::size_t>(n);
  }
  Watch(index, c.sent < size);
}

void HttpPosters::Watch(std::size_t index, bool write) {
  Connection& c = connections_[index];
  if (c.wants_write == write) return;
  c.wants_write = write;
  epoll_event event{.events = EPOLLIN | (write ? EPOLLOUT : 0U), .data = {.u64 = index}};
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd, &event) != 0) Die("epoll");
}

void HttpPosters::Receive(std::size_t index) {
  Connection& c = connections_[index];
  std::array<char, 16384> buffer;
  const ssize_t n = recv(c.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (n < 0 && errno == EAGAIN) return;
  if (n <= 0) Die(n == 0 ? "the server closed a connection" : "receive");
  c.in.append(buffer.data(), static_cast<std::size_t>(n));
  const std::size_t end = c.in.find("\r\n\r\n");
  if (end == std::string::npos) return;
  const std::string_view head = std::string_view(c.in).substr(0, end + 2);
  const std::int64_t length = std::max<std::int64_t>(NumberOf(head, "content-length"), 0);
  const std::size_t whole = end + 4 + static_cast<std::size_t>(length);
  if (c.in.size() < whole) return;
  int status = 0;
  std::from_chars(c.in.data() + 9, c.in.data() + std::min<std::size_t>(12, c.in.size()), status);
  // The callback may send the next request on this connection, but never touches `in`.
  on_answer_(index, status, std::string_view(c.in).substr(end + 4));
  c.in.erase(0, whole);
}

void HttpPosters::Run(std::int64_t timeout_ns) {
  std::array<epoll_event, 64> events;
  const timespec timeout{timeout_ns / kNsPerSecond, timeout_ns % kNsPerSecond};
  const int n = epoll_pwait2(epoll_, events.data(), events.size(),
                             timeout_ns < 0 ? nullptr : &timeout, nullptr);
  if (n < 0 && errno != EINTR) Die("epoll");
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    if ((event.events & EPOLLOUT) != 0) Send(event.data.u64);
    if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) Receive(event.data.u64);
  }
}

}  // namespace wherefore::bench
