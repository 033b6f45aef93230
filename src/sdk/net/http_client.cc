#include "sdk/net/http_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/clock.h"
#include "base/name_lookup.h"
#include "sdk/platform/background_thread.h"

namespace wherefore::sdk {
namespace {

Error Failed(const char* what, int error) {
  // strerrordesc_np: no buffer to share between threads.
  const char* const text = strerrordesc_np(error);
  return {Code::kUnavailable, fmt::format("{}: {}", what, text == nullptr ? "error" : text)};
}

using Deadline = std::atomic<std::int64_t>;

Result<> WaitFor(OwnSocket& socket, short events, const Deadline& deadline_ns, const char* what) {
  // The deadline may move while we wait.
  constexpr std::int64_t kLookAgainNs = 100'000'000;
  while (true) {
    const std::int64_t left_ns = deadline_ns.load() - MonotonicNs();
    if (left_ns <= 0) return Error(Code::kUnavailable, fmt::format("{}: no answer in time", what));
    pollfd fd{socket.Use(), events, 0};
    if (fd.fd < 0) return Failed(what, EBADF);
    const std::int64_t slice_ns = std::min(left_ns, kLookAgainNs);
    const int ready = poll(&fd, 1, static_cast<int>(slice_ns / 1'000'000 + 1));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Failed(what, errno);
  }
}

Result<> ConnectTo(const SocketAddress& address, OwnSocket& socket, const Deadline& deadline_ns) {
  const int made =
      ::socket(address.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  if (made < 0) return Failed("socket", errno);
  socket.Hold(made);
  if (connect(socket.Use(), address.get(), address.size) != 0) {
    if (errno != EINPROGRESS) return Failed("connect", errno);
    WHEREFORE_RETURN_IF_ERROR(WaitFor(socket, POLLOUT, deadline_ns, "connect"));
    int error = 0;
    socklen_t size = sizeof(error);
    if (getsockopt(socket.Use(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0)
      return Failed("connect", error);
  }
  const int on = 1;
  setsockopt(socket.Use(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return {};
}

bool IsHeaderText(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; });
}

std::string RequestHead(const Url& url, const TextPairs& headers, std::size_t body_bytes) {
  std::string head = fmt::format("POST {} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n", url.path,
                                 url.Authority(), body_bytes);
  for (const auto& [key, value] : headers) {
    // One that would smuggle in another line is left out.
    if (!key.empty() && IsHeaderText(key) && IsHeaderText(value)) {
      head += fmt::format("{}: {}\r\n", key, value);
    }
  }
  return head + "\r\n";
}

}  // namespace

void HttpClient::Close() {
  tls_.reset();
  socket_.Close();
}

Result<HttpAnswer> HttpClient::Post(const TextPairs& headers, std::string_view body) {
  const std::string head = RequestHead(url_, headers, body.size());
  const bool reused = socket_.held();
  bool answered = false;
  other_protocol_ = false;
  Result<HttpAnswer> answer = Try(head, body, answered);
  // A server may close a kept connection at any moment; only then is a second try safe and useful.
  if (!answer && reused && !answered && MonotonicNs() < deadline_ns_.load())
    answer = Try(head, body, answered);
  return answer;
}

Result<HttpAnswer> HttpClient::Try(std::string_view head, std::string_view body, bool& answered) {
  const auto attempt = [&]() -> Result<HttpAnswer> {
    if (!socket_.held()) WHEREFORE_RETURN_IF_ERROR(Connect());
    std::string request(head);
    request += body;
    WHEREFORE_RETURN_IF_ERROR(WriteAll(request));
    AnswerReader reader;
    bool complete = false;
    while (!complete) {
      std::string bytes;
      WHEREFORE_ASSIGN_OR_RETURN(const bool more, ReadSome(bytes));
      answered = answered || !bytes.empty();
      if (!bytes.empty()) {
        Result<bool> added = reader.Add(bytes);
        other_protocol_ = reader.other_protocol();
        WHEREFORE_ASSIGN_OR_RETURN(complete, std::move(added));
      }
      if (!complete && !more) {
        if (!reader.started())
          return Error(Code::kUnavailable, "the server closed the connection without an answer");
        WHEREFORE_ASSIGN_OR_RETURN(complete, reader.End());
      }
    }
    if (!reader.keep_alive()) Close();
    return std::move(reader.answer());
  };
  Result<HttpAnswer> answer = attempt();
  if (!answer) Close();
  return answer;
}

Result<> HttpClient::Connect() {
  WHEREFORE_ASSIGN_OR_RETURN(
      const std::vector<SocketAddress> addresses,
      LookUpName(
          url_.host, url_.port, [this] { return MonotonicNs() < deadline_ns_.load(); },
          [](void (*body)(void*), void* argument) {
            return BackgroundThread::StartDetached("wherefore-name", body, argument);
          }));
  Result<> connected = Error(Code::kUnavailable, "no address");
  for (const SocketAddress& address : addresses) {
    connected = ConnectTo(address, socket_, deadline_ns_);
    if (connected) break;
    socket_.Close();
  }
  WHEREFORE_RETURN_IF_ERROR(connected);
  return url_.tls ? StartTls() : Result<>();
}

Result<> HttpClient::StartTls() {
  WHEREFORE_ASSIGN_OR_RETURN(tls_, TlsSession::Open(url_.host, ca_file_));
  while (true) {
    const Result<TlsNeed> need = tls_->Handshake();
    // Also when it failed: the alert tells the server why.
    WHEREFORE_RETURN_IF_ERROR(SendRaw(tls_->TakeOutput()));
    if (!need) return need.error();
    if (*need == TlsNeed::kNothing) return {};
    std::string input;
    WHEREFORE_ASSIGN_OR_RETURN(const bool more, ReceiveRaw(input));
    if (!more) return Error(Code::kUnavailable, "TLS handshake: the server closed the connection");
    tls_->AddInput(input);
  }
}

Result<> HttpClient::WriteAll(std::string_view plain) {
  if (tls_ == nullptr) return SendRaw(plain);
  WHEREFORE_RETURN_IF_ERROR(tls_->Write(plain));
  return SendRaw(tls_->TakeOutput());
}

Result<> HttpClient::SendRaw(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_.Use(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      WHEREFORE_RETURN_IF_ERROR(WaitFor(socket_, POLLOUT, deadline_ns_, "send"));
    } else if (errno != EINTR) {
      return Failed("send", errno);
    }
  }
  return {};
}

Result<bool> HttpClient::ReadSome(std::string& to) {
  if (tls_ == nullptr) return ReceiveRaw(to);
  while (true) {
    WHEREFORE_ASSIGN_OR_RETURN(const TlsNeed need, tls_->Read(to));
    if (need == TlsNeed::kClosed) return false;
    if (!to.empty()) return true;
    WHEREFORE_RETURN_IF_ERROR(SendRaw(tls_->TakeOutput()));
    std::string input;
    WHEREFORE_ASSIGN_OR_RETURN(const bool more, ReceiveRaw(input));
    if (!more) return false;
    tls_->AddInput(input);
  }
}

Result<bool> HttpClient::ReceiveRaw(std::string& to) {
  char buffer[16384];
  while (true) {
    const ssize_t received = recv(socket_.Use(), buffer, sizeof(buffer), 0);
    if (received > 0) {
      to.append(buffer, static_cast<std::size_t>(received));
      return true;
    }
    if (received == 0) return false;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      WHEREFORE_RETURN_IF_ERROR(WaitFor(socket_, POLLIN, deadline_ns_, "receive"));
    } else if (errno != EINTR) {
      return Failed("receive", errno);
    }
  }
}

}  // namespace wherefore::sdk
