#include "sdk/http_server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <netinet/in.h>

#include "base/clock.h"

namespace wherefore::sdk {
namespace {

constexpr std::size_t kMaxHead = 16 * 1024;
constexpr std::int64_t kReadWithinNs = 5 * kNsPerSecond;
constexpr std::int64_t kWriteWithinNs = 30 * kNsPerSecond;

// True when ready; false when the time is up or the server stops.
bool Wait(int fd, short events, std::int64_t deadline_ns, const std::atomic<bool>& stop) {
  while (!stop.load() && MonotonicNs() < deadline_ns) {
    pollfd p{fd, events, 0};
    const int ready = poll(&p, 1, 100);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
  return false;
}

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return address.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

std::string_view HeaderOf(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        strncasecmp(line.data(), name.data(), name.size()) != 0) {
      continue;
    }
    std::string_view value = line.substr(name.size() + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    return value;
  }
  return {};
}

bool NamesLoopback(std::string_view host) {
  if (const std::size_t colon = host.rfind(':');
      colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    host = host.substr(0, colon);
  }
  return host == "localhost" || host == "[::1]" || host.starts_with("127.") || host.empty();
}

std::string Response(int status, std::string_view reason, const ServedBody& body, bool head_only) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\ncontent-type: {}\r\ncontent-length: {}\r\n"
      "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n{}",
      status, reason, body.content_type, body.bytes.size(), head_only ? "" : body.bytes);
}

std::string TextResponse(int status, std::string_view reason, std::string text) {
  return Response(status, reason, {"text/plain; charset=utf-8", std::move(text) + "\n"}, false);
}

}  // namespace

Result<> HttpServer::Start(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string service = fmt::format("{}", port);
  if (getaddrinfo(host.c_str(), service.c_str(), &hints, &found) != 0 || found == nullptr)
    return Error(Code::kInvalid, fmt::format("'{}' is no address to listen on", host));
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool bound =
      fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 16) == 0;
  freeaddrinfo(found);
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (!bound || getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    if (fd >= 0) close(fd);
    return Error(Code::kUnavailable, fmt::format("cannot listen on {}:{}", host, port));
  }
  // sin_port and sin6_port are at the same place.
  port_ = ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  loopback_ = IsLoopback(address);
  listener_ = fd;
  stop_.store(false);
  for (BackgroundThread& thread : threads_) {
    if (!thread.Start(
            "wherefore-http", [](void* self) { static_cast<HttpServer*>(self)->Serve(); }, this)) {
      Stop();
      return Error(Code::kUnavailable, "no thread for the pprof server");
    }
  }
  return {};
}

void HttpServer::Stop() {
  stop_.store(true);
  if (listener_ >= 0) shutdown(listener_, SHUT_RDWR);  // wakes those who wait for a connection
  for (BackgroundThread& thread : threads_) thread.Join();
  if (listener_ >= 0) close(listener_);
  listener_ = -1;
}

void HttpServer::AfterFork() {
  for (BackgroundThread& thread : threads_) thread.Forget();
  if (listener_ >= 0) close(listener_);
  listener_ = -1;
}

void HttpServer::Serve() {
  while (!stop_.load()) {
    if (!Wait(listener_, POLLIN, MonotonicNs() + kNsPerSecond, stop_)) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) continue;
    Talk(connection);
    close(connection);
  }
}

void HttpServer::Talk(int connection) {
  std::string head;
  const std::int64_t read_by = MonotonicNs() + kReadWithinNs;
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (head.size() > kMaxHead || !Wait(connection, POLLIN, read_by, stop_)) return;
    char buffer[4096];
    const ssize_t got = recv(connection, buffer, sizeof(buffer), 0);
    if (got <= 0) return;
    head.append(buffer, static_cast<std::size_t>(got));
  }
  const std::string answer = Answer(head.substr(0, head.find("\r\n\r\n")));
  std::string_view rest = answer;
  const std::int64_t write_by = MonotonicNs() + kWriteWithinNs;
  while (!rest.empty()) {
    const ssize_t sent = send(connection, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if ((errno != EAGAIN && errno != EINTR) || !Wait(connection, POLLOUT, write_by, stop_)) {
      return;
    }
  }
}

std::string HttpServer::Answer(const std::string& head) const {
  const std::size_t line_end = std::min(head.find("\r\n"), head.size());
  const std::string_view line = std::string_view(head).substr(0, line_end);
  const std::size_t method_end = std::min(line.find(' '), line.size());
  const std::size_t target_end = line.rfind(' ');
  if (target_end == std::string_view::npos || target_end <= method_end ||
      !line.substr(target_end + 1).starts_with("HTTP/1.")) {
    return TextResponse(400, "Bad Request", "not an HTTP/1 request");
  }
  if (loopback_ && !NamesLoopback(HeaderOf(std::string_view(head).substr(line_end), "host")))
    return TextResponse(403, "Forbidden", "this address is for requests to localhost");
  const std::string_view method = line.substr(0, method_end);
  if (method != "GET" && method != "HEAD")
    return TextResponse(405, "Method Not Allowed", "GET or HEAD only");
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  const std::size_t mark = std::min(target.find('?'), target.size());
  const auto route = routes_.find(target.substr(0, mark));
  if (route == routes_.end()) return TextResponse(404, "Not Found", "no such page");
  const Result<ServedBody> body = route->second(target.substr(std::min(mark + 1, target.size())));
  if (body) return Response(200, "OK", *body, method == "HEAD");
  switch (body.error().code()) {
    case Code::kInvalid:
      return TextResponse(400, "Bad Request", body.error().message());
    case Code::kNotFound:
    case Code::kUnsupported:
      return TextResponse(404, "Not Found", body.error().message());
    default:
      return TextResponse(503, "Service Unavailable", body.error().message());
  }
}

Result<double> HttpServer::QueryNumber(std::string_view query, std::string_view name,
                                       double otherwise) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!pair.starts_with(name) || pair.size() <= name.size() || pair[name.size()] != '=') continue;
    const std::string_view text = pair.substr(name.size() + 1);
    double number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(number))
      return Error(Code::kInvalid, fmt::format("{} must be a number", name));
    return number;
  }
  return otherwise;
}

}  // namespace wherefore::sdk
