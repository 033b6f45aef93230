#include "sdk/net/http_server.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>

#include "base/clock.h"
#include "sdk/platform/log.h"

namespace wherefore::sdk {
namespace {

constexpr std::size_t kMaxHead = std::size_t{16} * 1024;
constexpr std::int64_t kReadWithinNs = 5 * kNsPerSecond;
constexpr std::int64_t kWriteWithinNs = 30 * kNsPerSecond;
// Stop wakes the thread; should the host have closed our descriptors, this does.
constexpr std::int64_t kLongestPollNs = kNsPerSecond / 10;

bool IsLoopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return address.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

// `name` in lower case.
std::string_view HeaderOf(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        !std::ranges::equal(line.substr(0, name.size()), name, same)) {
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

std::string Response(int status, std::string_view reason, const ServedBody& body, bool head_only,
                     std::string_view headers = {}) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\ncontent-type: {}\r\ncontent-length: {}\r\n{}"
      "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n{}",
      status, reason, body.content_type, body.bytes.size(), headers, head_only ? "" : body.bytes);
}

std::string TextResponse(int status, std::string_view reason, std::string text) {
  return Response(status, reason, {"text/plain; charset=utf-8", std::move(text) + "\n"}, false);
}

std::string ErrorResponse(const Error& error) {
  switch (error.code()) {
    case Code::kInvalid:
      return TextResponse(400, "Bad Request", error.message());
    case Code::kNotFound:
    case Code::kUnsupported:
      return TextResponse(404, "Not Found", error.message());
    default:
      return TextResponse(503, "Service Unavailable", error.message());
  }
}

std::string BodyResponse(const Result<ServedBody>& body, bool head_only) {
  if (body) return Response(200, "OK", *body, head_only);
  return ErrorResponse(body.error());
}

HttpServer::Reply Text(int status, std::string_view reason, std::string text) {
  return {.bytes = TextResponse(status, reason, std::move(text)), .later = {}};
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
  listener_.Hold(fd);
  stop_.store(false);
  const auto serve = [](void* self) { static_cast<HttpServer*>(self)->Serve(); };
  if (thread_.Start("wherefore-http", serve, this)) return {};
  Stop();
  return Error(Code::kUnavailable, "no thread for the pprof server");
}

void HttpServer::Stop() {
  stop_.store(true);
  if (const int fd = listener_.Use(); fd >= 0) shutdown(fd, SHUT_RDWR);  // wakes the thread
  thread_.Join();
  listener_.Close();
}

// The descriptors only: the rest is in no known state.
void HttpServer::AfterFork() {
  thread_.Forget();
  listener_.Close();
  for (Connection& connection : connections_) connection.socket.Close();
}

void HttpServer::Serve() {
  while (!stop_.load()) Poll();
  for (Connection& connection : connections_) {
    if (!connection.socket.held()) continue;
    if (connection.state == State::kWaiting) End(connection);
    Close(connection);
  }
}

void HttpServer::Poll() {
  const std::int64_t now = MonotonicNs();
  std::int64_t until = now + kLongestPollNs;
  std::array<pollfd, kMostConnections + 1> polled{};
  bool room = false;
  for (std::size_t i = 0; i < kMostConnections; ++i) {
    Connection& connection = connections_[i];
    const bool held = connection.socket.held();
    polled[i].fd = connection.socket.Use();  // negative: not looked at
    if (held && polled[i].fd < 0) Close(connection);
    room = room || polled[i].fd < 0;
    if (polled[i].fd < 0) continue;
    // Who waits may have sent more than was asked for; only that it has hung up is of interest.
    polled[i].events = connection.state == State::kReading   ? POLLIN
                       : connection.state == State::kWriting ? POLLOUT
                                                             : POLLRDHUP;
    until = std::min(until, connection.deadline_ns);
  }
  const bool listens = listener_.held();
  polled.back().fd = listener_.Use();
  // The host closed all descriptors it found, and may have opened others since.
  if (listens && polled.back().fd < 0)
    LogTrouble("pprof: the program closed the port that /debug/pprof/ is served on");
  polled.back().events = static_cast<short>(room && now >= accept_from_ns_ ? POLLIN : 0);
  const std::int64_t wait_ns = std::max<std::int64_t>(until - now, 0);
  const timespec wait{wait_ns / kNsPerSecond, wait_ns % kNsPerSecond};
  if (ppoll(polled.data(), polled.size(), &wait, nullptr) < 0 || stop_.load()) return;
  for (std::size_t i = 0; i < kMostConnections; ++i) {
    if (polled[i].fd >= 0) Step(connections_[i], polled[i].revents);
  }
  if (polled.back().revents != 0) Accept();
}

void HttpServer::Accept() {
  const int fd = accept4(listener_.Use(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno != EAGAIN && errno != EINTR) accept_from_ns_ = MonotonicNs() + kLongestPollNs;
    return;
  }
  for (Connection& connection : connections_) {
    if (connection.socket.held()) continue;
    connection.state = State::kReading;
    connection.deadline_ns = MonotonicNs() + kReadWithinNs;
    connection.socket.Hold(fd);
    return;
  }
  close(fd);  // cannot be: there was room
}

void HttpServer::Step(Connection& connection, short events) {
  const bool late = MonotonicNs() >= connection.deadline_ns;
  if (connection.state == State::kWaiting) {
    if (events != 0) return Close(connection);
    if (late) End(connection);
    return;
  }
  const State before = connection.state;
  if (events != 0) before == State::kReading ? Read(connection) : Write(connection, {});
  if (late && connection.state == before) Close(connection);
}

void HttpServer::Read(Connection& connection) {
  char buffer[4096];
  const ssize_t got = recv(connection.socket.Use(), buffer, sizeof(buffer), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return Close(connection);
  connection.bytes.append(buffer, static_cast<std::size_t>(got));
  if (connection.bytes.find("\r\n\r\n") != std::string::npos) return Begin(connection);
  if (connection.bytes.size() > kMaxHead) Close(connection);
}

void HttpServer::Begin(Connection& connection) {
  connection.reply = Answer(connection.bytes.substr(0, connection.bytes.find("\r\n\r\n")));
  connection.bytes.clear();
  if (!connection.reply.later) return Write(connection, std::move(connection.reply.bytes));
  const ServedLater& later = *connection.reply.later;
  if (std::string why = WhyNotLater(later.seconds); !why.empty())
    return Write(connection, std::move(why));
  const Result<std::uint64_t> begun = later.begin();
  if (!begun) return Write(connection, ErrorResponse(begun.error()));
  connection.begun = *begun;
  connection.state = State::kWaiting;
  connection.deadline_ns = MonotonicNs() + static_cast<std::int64_t>(later.seconds * 1e9);
}

std::string HttpServer::WhyNotLater(double seconds) const {
  if (seconds <= kBrief) return {};
  std::size_t waiting = 0;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (const Connection& other : connections_) {
    if (!other.socket.held() || other.state != State::kWaiting ||
        other.reply.later->seconds <= kBrief) {
      continue;
    }
    ++waiting;
    first_ns = std::min(first_ns, other.deadline_ns);
  }
  if (waiting < kMostLater) return {};
  const std::int64_t after =
      std::max<std::int64_t>((first_ns - MonotonicNs()) / kNsPerSecond + 1, 1);
  const ServedBody body = {
      "text/plain; charset=utf-8",
      fmt::format("{} profiles are being taken already; the first is done within {} s\n", waiting,
                  after)};
  return Response(503, "Service Unavailable", body, false,
                  fmt::format("retry-after: {}\r\n", after));
}

void HttpServer::End(Connection& connection) {
  connection.state = State::kWriting;  // first: what was begun is ended once
  const Result<ServedBody> body = connection.reply.later->end(connection.begun);
  Write(connection, BodyResponse(body, connection.reply.head_only));
}

// The first time with what is to be written.
void HttpServer::Write(Connection& connection, std::string bytes) {
  if (!bytes.empty()) {
    connection.state = State::kWriting;
    connection.deadline_ns = MonotonicNs() + kWriteWithinNs;
    connection.bytes = std::move(bytes);
    connection.written = 0;
  }
  while (connection.written < connection.bytes.size()) {
    const std::string_view rest = std::string_view(connection.bytes).substr(connection.written);
    const ssize_t sent = send(connection.socket.Use(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0) break;
    connection.written += static_cast<std::size_t>(sent);
  }
  Close(connection);
}

void HttpServer::Close(Connection& connection) {
  if (connection.state == State::kWaiting) connection.reply.later->drop(connection.begun);
  connection.state = State::kReading;
  connection.reply = {};
  connection.bytes = {};
  connection.socket.Close();
}

HttpServer::Reply HttpServer::Answer(const std::string& head) const {
  const std::size_t line_end = std::min(head.find("\r\n"), head.size());
  const std::string_view line = std::string_view(head).substr(0, line_end);
  const std::size_t method_end = std::min(line.find(' '), line.size());
  const std::size_t target_end = line.rfind(' ');
  if (target_end == std::string_view::npos || target_end <= method_end ||
      !line.substr(target_end + 1).starts_with("HTTP/1.")) {
    return Text(400, "Bad Request", "not an HTTP/1 request");
  }
  if (loopback_ && !NamesLoopback(HeaderOf(std::string_view(head).substr(line_end), "host")))
    return Text(403, "Forbidden", "this address is for requests to localhost");
  const std::string_view method = line.substr(0, method_end);
  if (method != "GET" && method != "HEAD")
    return Text(405, "Method Not Allowed", "GET or HEAD only");
  const std::string_view target = line.substr(method_end + 1, target_end - method_end - 1);
  const std::size_t mark = std::min(target.find('?'), target.size());
  const auto route = routes_.find(target.substr(0, mark));
  if (route == routes_.end()) return Text(404, "Not Found", "no such page");
  auto answer = route->second(target.substr(std::min(mark + 1, target.size())));
  if (!answer) return {.bytes = ErrorResponse(answer.error()), .later = {}};
  const bool head_only = method == "HEAD";
  if (auto* const later = std::get_if<ServedLater>(&*answer))
    return {.bytes = {}, .later = std::move(*later), .head_only = head_only};
  return {.bytes = BodyResponse(std::get<ServedBody>(std::move(*answer)), head_only), .later = {}};
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
