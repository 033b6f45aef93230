// HTTP as the rest of the server sees it: plain requests and responses, no Asio or Beast types.
//
// A handler is called on one of the server's I/O threads, or with a large body on a worker, with a
// whole request: the body has been read, checked against the size limit and decompressed. It
// answers through `respond`, once, from any thread, now or later; long work belongs on another
// thread (net/worker_pool.h). When the client goes away the request's cancel token fires.
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

// Header names compare without case.
struct HeaderLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};
using Headers = std::map<std::string, std::string, HeaderLess>;

struct HttpRequest {
  std::string method;        // "GET", "POST", ...
  std::string path;          // percent-decoded, without the query
  std::string encoded_path;  // as sent; a "%2F" in it is part of a segment. Empty: as `path`
  std::string query;         // raw text after '?'
  Headers headers;
  std::shared_ptr<const std::string> body;  // decompressed; never null
  std::string peer;                         // "127.0.0.1:51234"
  CancelToken cancel;

  [[nodiscard]] std::string_view Header(std::string_view name) const;
  // Media type of the body, lower case, without parameters.
  [[nodiscard]] std::string ContentType() const;
  // Decoded query parameters in order; a name may repeat.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> QueryParameters() const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;   // besides those the server sets itself
  std::string body;  // the server compresses it when the client can take it and it is worth it
};

using Respond = std::function<void(HttpResponse)>;
using HttpHandler = std::function<void(HttpRequest, Respond)>;

// True when the Accept-Encoding value allows gzip.
[[nodiscard]] bool AcceptsGzip(std::string_view accept_encoding);

// 400 kInvalid and kCorrupt, 401 kUnauthenticated, 404 kNotFound, 413/429 kLimit (see retry), 499
// kCancelled, 501 kUnsupported, 503 kUnavailable and kIo, 500 kInternal.
[[nodiscard]] int HttpStatus(Code code);
// {"error":{"code":"invalid","message":"..."}}
[[nodiscard]] HttpResponse JsonError(const Error& error);

// The server itself refuses some requests before a handler sees them (413, 415, 429, 400, 401, 403,
// 408, and the router 404 and 405). `request` has no body then. Routes whose protocol prescribes
// another form than JsonError's can supply it.
using RefusalFormat =
    std::function<HttpResponse(const HttpRequest& request, int status, const Error& error)>;

// Routes by method and path. A pattern's segment "{name}" matches any one segment, which the
// handler finds in request.headers under ":name". HEAD goes to GET's handler. Unknown path: 404;
// known path, wrong method: 405 with Allow. Filled before the server starts, then only read.
class Router {
 public:
  void Add(std::string method, std::string_view pattern, HttpHandler handler);
  // Answers everything no pattern matched.
  void SetFallback(HttpHandler handler) { fallback_ = std::move(handler); }
  // How refusals of exactly this path look; "": of one that could not be decoded.
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
class UnreadAnswers;    // net/unread_answers.h
class WorkerPool;       // net/worker_pool.h

struct HttpServerOptions {
  std::vector<std::string> addresses = {
      "127.0.0.1", "::1"};                 // ::1 may be missing on a machine; then it is skipped
  std::uint16_t port = 0;                  // 0 picks a free one, the same for every address
  std::size_t max_body_bytes = 64u << 20;  // compressed and decompressed alike
  // Bodies being read or handled, all connections together; beyond it new requests get 429.
  std::size_t max_inflight_bytes = 512u << 20;
  int idle_timeout_seconds = 75;
  int read_timeout_seconds = 60;  // for one whole request once its first byte is here
  // In every window this much of a body must arrive, and as large a share of what is here already
  // as the window is of read_timeout; else 408.
  int body_window_seconds = 10;
  std::size_t least_body_bytes_per_second = 1024;
  // In every window this much of an answer must be taken, else the connection is cut.
  int answer_window_seconds = 30;
  std::size_t least_answer_bytes_per_second = 1024;
  std::shared_ptr<UnreadAnswers> unread_answers;  // of several servers; none: 1 GiB of its own
  std::shared_ptr<ConnectionLimit> connections;   // of several servers; none: as many as come
  WorkerPool* large_bodies = nullptr;  // unpacks and handles them; none: the I/O threads do
  // Browsers: a request whose Origin is another site, or (on loopback) whose Host is not a loopback
  // name, this machine's name or listed here, is refused with 403.
  std::vector<std::string> allowed_hosts;
  std::string tls_certificate_file;  // both set: TLS
  std::string tls_key_file;
  std::string
      bearer_token;  // if set, every request but GET /ready needs "Authorization: Bearer <token>"
};

// Serves one router on one port. Start() once; Stop() finishes running requests (up to `grace`),
// then closes. All servers share the IoThreads they were given.
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

// The threads that run all network I/O of the process.
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
