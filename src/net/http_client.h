// Blocking HTTP/1.1 clients (http and https): Fetch for a single request (the command line, the
// scraper, tests), HttpClient for many to the same server (exporters). Any thread. Redirects are
// not followed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/mutex.h"
#include "base/result.h"
#include "net/http.h"
#include "net/tls_client.h"
#include "net/url.h"

namespace wherefore::net {

struct ClientOptions {
  int timeout_seconds = 60;
  std::size_t max_response_bytes = 1u << 30;
  Headers headers;
  std::string tls_ca_file;  // trusted instead of the system's authorities
  bool tls_verify = true;
  CancelToken cancel;  // ends the request early, with kCancelled
};

struct ClientResponse {
  int status = 0;
  Headers headers;
  std::string body;  // decompressed
};

// `url` is absolute ("http://127.0.0.1:4040/api/v1/services"). The error names the URL and what to
// check.
[[nodiscard]] Result<ClientResponse> Fetch(std::string_view method, std::string_view url,
                                           std::string_view body = {},
                                           std::string_view content_type = {},
                                           const ClientOptions& options = {});

class HttpConnection;

// Keeps connections open between requests, as many as were in use at once.
class HttpClient {
 public:
  struct Options {
    TlsClientOptions tls;
    // More of an answer is not read: its status still counts.
    std::size_t max_response_bytes = 4u << 20;
    std::int64_t max_idle_ns = 30'000'000'000;  // servers close idle connections too
  };
  struct Request {
    std::string_view method = "POST";
    std::string_view url;
    std::string_view body;
    Headers headers;  // Content-Type and Content-Encoding too
    // From the name lookup to the last byte of the answer.
    std::int64_t timeout_ns = 30'000'000'000;
    CancelToken cancel;
  };

  [[nodiscard]] static Result<std::unique_ptr<HttpClient>> Make(Options options);
  ~HttpClient();
  // An error (kIo) means that no answer came; the server may have done what was asked.
  Result<ClientResponse> Send(const Request& request);
  // Connections that wait for the next request.
  [[nodiscard]] std::size_t idle() const;

 private:
  struct Idle {
    std::string server;  // scheme and authority
    std::int64_t since_ns = 0;
    std::unique_ptr<HttpConnection> connection;
  };
  explicit HttpClient(Options options);
  Result<std::shared_ptr<TlsClientContext>> Tls();
  std::unique_ptr<HttpConnection> TakeIdle(const std::string& server);
  void Keep(std::string server, std::unique_ptr<HttpConnection> connection);

  const Options options_;
  mutable Mutex mutex_;
  std::shared_ptr<TlsClientContext> tls_ GUARDED_BY(mutex_);
  std::vector<Idle> idle_ GUARDED_BY(mutex_);  // the last one was used last
};

}  // namespace wherefore::net
