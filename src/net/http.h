// HTTP for the rest of the server: plain requests and responses, no Asio or Beast types.
//
// A handler is called on one of the server's I/O threads, or on a worker if the body is large. It
// gets a whole request: the body has been read, checked against the size limit and decompressed. It
// answers through `respond`, once, from any thread, now or later. Long work belongs on another
// thread (net/worker_pool.h). If the client goes away, the request's cancel token fires.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"

namespace wherefore::net {

// Header names are case-insensitive.
struct HeaderLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};
using Headers = std::map<std::string, std::string, HeaderLess>;

struct HttpRequest {
  std::string method;        // "GET", "POST", ...
  std::string path;          // percent-decoded, without the query
  std::string encoded_path;  // as sent: "%2F" in it is part of a segment; empty: same as `path`
  std::string query;         // raw text after '?'
  Headers headers;
  std::shared_ptr<const std::string> body;  // decompressed; never null
  std::string peer;                         // "127.0.0.1:51234"
  std::uint32_t tenant = 0;  // whose data it may see; set by the handler that found out
  CancelToken cancel;

  [[nodiscard]] std::string_view Header(std::string_view name) const;
  // Media type of the body, lower case, without parameters.
  [[nodiscard]] std::string ContentType() const;
  // Decoded query parameters in order; names may repeat.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> QueryParameters() const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;   // in addition to those the server sets itself
  std::string body;  // compressed by the server if the client accepts it and it pays
};

using Respond = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(HttpRequest, Respond)>;

// Whether the Accept-Encoding value allows gzip.
[[nodiscard]] bool AcceptsGzip(std::string_view accept_encoding);

// 400 kInvalid and kCorrupt, 401 kUnauthenticated, 404 kNotFound, 429 kLimit, 499 kCancelled, 501
// kUnsupported, 503 kUnavailable and kIo, 500 kInternal.
[[nodiscard]] int HttpStatus(Code code);
// {"error":{"code":"invalid","message":"..."}}
[[nodiscard]] HttpResponse JsonError(const Error& error);

// The server refuses some requests before a handler sees them (400, 401, 403, 408, 413, 415, 429;
// the router: 404 and 405). `request` then has no body. Routes whose protocol needs another format
// than JsonError's can supply it.
using RefusalFormat =
    std::function<HttpResponse(const HttpRequest& request, int status, const Error& error)>;

// Routes by method and path. A segment "{name}" of a pattern matches any one segment, which the
// handler finds in request.headers under ":name". HEAD goes to GET's handler. Unknown path: 404;
// known path, wrong method: 405 with Allow. Filled before the server starts, then read-only.
class Router {
 public:
  void Add(std::string method, std::string_view pattern, HttpHandler handler);
  // Handles what no pattern matches.
  void SetFallback(HttpHandler handler) { fallback_ = std::move(handler); }
  // The format of refusals for exactly this path; "" is for a path that could not be decoded.
  void SetRefusalFormat(std::string path, RefusalFormat format) {
    refusals_[std::move(path)] = std::move(format);
  }
  void Handle(HttpRequest request, Respond respond) const;
  [[nodiscard]] HttpResponse Refuse(const HttpRequest& request, int status,
                                    const Error& error) const;
  // "GET /api/v1/services", ... for the test that compares routes with the OpenAPI file.
  [[nodiscard]] std::vector<std::string> Routes() const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> segments;
    HttpHandler handler;
  };
  std::vector<Route> routes_;
  std::map<std::string, RefusalFormat, std::less<>> refusals_;
  HttpHandler fallback_;
};

class ConnectionLimit;  // net/connection_limit.h
class GrpcServer;       // net/grpc.h
class UnreadAnswers;    // net/unread_answers.h
class WorkerPool;       // net/worker_pool.h

struct HttpServerOptions {
  std::vector<std::string> addresses = {
      "127.0.0.1", "::1"};                 // ::1 may be missing on a machine and is then skipped
  std::uint16_t port = 0;                  // 0 picks a free port, the same for every address
  std::size_t max_body_bytes = 64u << 20;  // applies to the compressed and the decompressed body
  // Bodies being read or handled, over all connections; beyond it new requests get 429.
  std::size_t max_inflight_bytes = 512u << 20;
  int idle_timeout_seconds = 75;
  int read_timeout_seconds = 60;  // from the first byte to the whole request
  // In every window a body must grow by at least this much, and by window / read_timeout of its
  // size so far; otherwise 408.
  int body_window_seconds = 10;
  std::size_t least_body_bytes_per_second = 1024;
  // In every window this much of an answer must be read, otherwise the connection is closed.
  int answer_window_seconds = 30;
  std::size_t least_answer_bytes_per_second = 1024;
  std::shared_ptr<UnreadAnswers>
      unread_answers;  // shared by several servers; null: 1 GiB of its own
  std::shared_ptr<ConnectionLimit> connections;  // shared by several servers; null: no limit
  WorkerPool* large_bodies = nullptr;  // unpacks and handles large bodies; null: the I/O threads do
  // For browsers: a request is refused with 403 if its Origin is another site or, on loopback, if
  // its Host is not a loopback name, this machine's name or listed here.
  std::vector<std::string> allowed_hosts;
  std::string tls_certificate_file;  // TLS if both are set
  std::string tls_key_file;
  // With the two above: clients must show a certificate signed by one of these authorities.
  std::string tls_client_ca_file;
  // Gets the connections that begin with HTTP/2's preface, on a port without TLS; this server
  // starts and stops it. Null: they are refused as bad HTTP/1.1.
  std::shared_ptr<GrpcServer> grpc;
  // If set, every request except GET /ready needs "Authorization: Bearer <token>".
  std::string bearer_token;
};

// Serves one router on one port. Start() once. Stop() waits for running requests (up to `grace`),
// then closes. Servers share the IoThreads they are given.
class IoThreads;
class HttpServer {
 public:
  HttpServer(IoThreads& io, HttpServerOptions options, std::shared_ptr<const Router> router);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  Result<> Start();
  [[nodiscard]] std::uint16_t port() const;
  void Stop(int grace_seconds);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// The threads for all network I/O of the process.
class IoThreads {
 public:
  explicit IoThreads(int count);
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;
  ~IoThreads();  // stops and joins

  class Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace wherefore::net
