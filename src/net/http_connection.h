// A client's connection to one HTTP server, plain or TLS. Internal to src/net; http_client.h is the
// interface.
//
// Threads: one at a time; every call blocks until it is done, or until the deadline.
// Failure: kIo, with the address and what went wrong; kCancelled. The connection is of no use then.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/result.h"
#include "net/http_client.h"
#include "net/tls_client.h"
#include "net/url.h"

namespace wherefore::net {

// What one exchange may take, from the name lookup to the last byte.
struct ExchangeLimits {
  explicit ExchangeLimits(std::int64_t timeout) : timeout_ns(timeout) {}

  std::int64_t timeout_ns;
  std::chrono::steady_clock::time_point deadline =
      std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  CancelToken cancel;
  std::size_t max_response_bytes = 1u << 30;
  // A longer body is cut off; otherwise it is an error.
  bool cut_long_bodies = false;
};

class HttpConnection {
 public:
  // `tls` may be null for a plain URL.
  [[nodiscard]] static Result<std::unique_ptr<HttpConnection>> Open(
      const Url& url, std::shared_ptr<TlsClientContext> tls, const ExchangeLimits& limits);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection();

  // Sends a head and a body and reads the answer.
  Result<ClientResponse> Exchange(std::string_view head, std::string_view body, bool is_head,
                                  const ExchangeLimits& limits);
  // Whether it can take another request: the server keeps it open and has sent nothing unasked.
  [[nodiscard]] bool IsUsable() const;

 private:
  class Impl;
  explicit HttpConnection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wherefore::net
