// One gRPC call with gRPC's own generic client, for tests of other modules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http.h"

namespace wherefore::net {

struct GrpcOutcome {
  int status = 0;
  std::string message;
  std::string body;
  std::string details;  // grpc-status-details-bin
};

// Calls 127.0.0.1 on a new connection, with a deadline of 20 s.
[[nodiscard]] GrpcOutcome CallGrpc(std::uint16_t port, const std::string& method,
                                   std::string_view body, const Headers& metadata = {},
                                   bool gzip = false);

}  // namespace wherefore::net
