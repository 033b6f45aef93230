// Serializes an HttpResponse. Internal to src/net; pure functions, any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/http.h"

namespace wherefore::net {

// What the request says about its answer.
struct ResponseTraits {
  bool head = false;  // HEAD: all fields, no body
  bool gzip = false;
};

// Everything except what only the connection knows (Connection, Date).
struct PreparedResponse {
  int status = 200;
  std::string fields;  // header lines, each with its line end
  std::string body;
  std::shared_ptr<const void> hold;  // keeps the body's bytes counted until it is written
};

// Compresses if it pays.
[[nodiscard]] PreparedResponse PrepareResponse(HttpResponse response, ResponseTraits traits);
[[nodiscard]] std::string ResponseHead(const PreparedResponse& response, bool close, bool http11);
[[nodiscard]] std::string_view ReasonPhrase(int status);

}  // namespace wherefore::net
