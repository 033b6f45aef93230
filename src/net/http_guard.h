// Who may talk to us: Host and Origin (so that a web page cannot reach a developer's loopback) and
// the bearer token. Pure functions, any thread.
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

// Nothing when the request may pass. `on_loopback`: it came in on a loopback address.
[[nodiscard]] std::optional<Refusal> CheckOrigin(const HttpRequest& request, bool on_loopback,
                                                 const std::vector<std::string>& allowed_hosts);
// Origin, host and token: whether the server wants this request at all.
[[nodiscard]] std::optional<Refusal> CheckHead(const HttpRequest& request,
                                               const HttpServerOptions& options, bool on_loopback);
// `authorization` is the header's value; takes the same time whatever is wrong with it.
[[nodiscard]] bool TokenMatches(std::string_view authorization, std::string_view token);
// This machine's name, lower case.
[[nodiscard]] std::string MachineName();

}  // namespace wherefore::net
