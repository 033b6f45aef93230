// Access checks: Host and Origin (so that a web page cannot reach a developer's loopback server)
// and the bearer token. Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http.h"

namespace wherefore::net {

struct Refusal {
  int status = 0;
  Error error;
};

// None if the request may pass. `on_loopback`: it came in on a loopback address.
[[nodiscard]] std::optional<Refusal> CheckOrigin(const HttpRequest& request, bool on_loopback,
                                                 const std::vector<std::string>& allowed_hosts);
// All checks that need only the header: origin, host and token.
[[nodiscard]] std::optional<Refusal> CheckHead(const HttpRequest& request,
                                               const HttpServerOptions& options, bool on_loopback);
// `authorization` is the header's value. Takes constant time, whatever is wrong with it.
[[nodiscard]] bool TokenMatches(std::string_view authorization, std::string_view token);
// This machine's name, lower case.
[[nodiscard]] std::string MachineName();

}  // namespace wherefore::net
