#include "net/http_client.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "net/http_connection.h"

namespace wherefore::net {
namespace {

Result<> CheckHeaders(const Headers& headers) {
  for (const auto& [name, value] : headers) {
    if ((name + value).find_first_of("\r\n") != std::string::npos) {
      return Error(Code::kInvalid, fmt::format("header {} contains a line break", name));
    }
  }
  return {};
}

std::string Head(std::string_view method, const Url& url, const Headers& headers,
                 std::string_view content_type, std::size_t body_bytes, bool keep) {
  std::string head =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", method, url.target, url.authority);
  const auto add = [&](std::string_view name, std::string_view value) {
    if (value.empty() || headers.contains(name)) return;
    head += fmt::format("{}: {}\r\n", name, value);
  };
  add("Connection", keep ? "" : "close");
  add("User-Agent", "wherefore");
  add("Accept-Encoding", "gzip");
  add("Content-Type", content_type);
  if (body_bytes > 0 || method == "POST" || method == "PUT") {
    add("Content-Length", std::to_string(body_bytes));
  }
  for (const auto& [name, value] : headers) head += fmt::format("{}: {}\r\n", name, value);
  head += "\r\n";
  return head;
}

}  // namespace

Result<ClientResponse> Fetch(std::string_view method, std::string_view url_text,
                             std::string_view body, std::string_view content_type,
                             const ClientOptions& options) {
  WHEREFORE_ASSIGN_OR_RETURN(const Url url, ParseUrl(url_text));
  WHEREFORE_RETURN_IF_ERROR(CheckHeaders(options.headers));
  ExchangeLimits limits(std::int64_t{options.timeout_seconds} * kNsPerSecond);
  limits.cancel = options.cancel;
  limits.max_response_bytes = options.max_response_bytes;
  std::shared_ptr<TlsClientContext> tls;
  if (url.tls) {
    WHEREFORE_ASSIGN_OR_RETURN(tls, TlsClientContext::Make({.verify = options.tls_verify,
                                                            .ca_file = options.tls_ca_file}));
  }
  WHEREFORE_ASSIGN_OR_RETURN(const auto connection, HttpConnection::Open(url, tls, limits));
  return connection->Exchange(Head(method, url, options.headers, content_type, body.size(), false),
                              body, method == "HEAD", limits);
}

HttpClient::HttpClient(Options options) : options_(std::move(options)) {}
HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::Make(Options options) {
  std::unique_ptr<HttpClient> client(new HttpClient(std::move(options)));
  // Options are checked now. The system's certificates take 0.2 s to read: not for plain HTTP.
  if (client->options_.tls != TlsClientOptions{}) WHEREFORE_RETURN_IF_ERROR(client->Tls());
  return client;
}

Result<std::shared_ptr<TlsClientContext>> HttpClient::Tls() {
  MutexLock lock(mutex_);
  if (!tls_) {
    WHEREFORE_ASSIGN_OR_RETURN(tls_, TlsClientContext::Make(options_.tls));
  }
  return tls_;
}

Result<ClientResponse> HttpClient::Send(const Request& request) {
  WHEREFORE_ASSIGN_OR_RETURN(const Url url, ParseUrl(request.url));
  WHEREFORE_RETURN_IF_ERROR(CheckHeaders(request.headers));
  ExchangeLimits limits(request.timeout_ns);
  limits.cancel = request.cancel;
  limits.max_response_bytes = options_.max_response_bytes;
  limits.cut_long_bodies = true;
  std::string server = (url.tls ? "https://" : "http://") + url.authority;
  std::unique_ptr<HttpConnection> connection = TakeIdle(server);
  if (!connection) {
    std::shared_ptr<TlsClientContext> tls;
    if (url.tls) {
      WHEREFORE_ASSIGN_OR_RETURN(tls, Tls());
    }
    WHEREFORE_ASSIGN_OR_RETURN(connection, HttpConnection::Open(url, std::move(tls), limits));
  }
  const std::string head =
      Head(request.method, url, request.headers, {}, request.body.size(), true);
  auto response = connection->Exchange(head, request.body, request.method == "HEAD", limits);
  if (response && connection->IsUsable()) Keep(std::move(server), std::move(connection));
  return response;
}

std::unique_ptr<HttpConnection> HttpClient::TakeIdle(const std::string& server) {
  std::vector<Idle> old;  // closed outside the lock
  MutexLock lock(mutex_);
  for (auto i = idle_.size(); i-- > 0;) {
    if (idle_[i].server != server) continue;
    Idle taken = std::move(idle_[i]);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    const bool fresh = MonotonicNs() - taken.since_ns < options_.max_idle_ns;
    if (fresh && taken.connection->IsUsable()) return std::move(taken.connection);
    old.push_back(std::move(taken));
  }
  return nullptr;
}

void HttpClient::Keep(std::string server, std::unique_ptr<HttpConnection> connection) {
  MutexLock lock(mutex_);
  idle_.push_back({std::move(server), MonotonicNs(), std::move(connection)});
}

std::size_t HttpClient::idle() const {
  MutexLock lock(mutex_);
  return idle_.size();
}

}  // namespace wherefore::net
