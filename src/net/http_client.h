// A small blocking HTTP/1.1 client (http and https) for the command line, the scraper and tests.
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/result.h"
#include "net/http.h"
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

}  // namespace wherefore::net
