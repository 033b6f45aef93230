// A blocking gRPC client: a method name, bytes in, a status and bytes out, over one channel that
// reconnects by itself. Any thread, any number of calls at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/result.h"
#include "net/http.h"
#include "net/tls_client.h"

namespace wherefore::net {

struct GrpcClientOptions {
  std::string target;  // host:port
  bool plain = false;  // without TLS
  TlsClientOptions tls;
  bool gzip = false;
  std::size_t max_response_bytes = 4u << 20;
};

struct GrpcCall {
  std::string method;  // "/package.Service/Method"
  std::string_view body;
  Headers metadata;  // names in lower case
  // Over name lookup, connecting, sending and the answer; the status is then 4.
  std::int64_t timeout_ns = 5'000'000'000;
  CancelToken cancel;
};

struct GrpcAnswer {
  int status = 0;  // 0 is OK; 14 if nobody answers
  std::string message;
  std::string body;     // the response message when OK
  std::string details;  // google.rpc.Status bytes of grpc-status-details-bin; empty: none
};

class GrpcClient {
 public:
  // Opens nothing yet. kInvalid, with the option that cannot work.
  [[nodiscard]] static Result<std::unique_ptr<GrpcClient>> Make(GrpcClientOptions options);
  ~GrpcClient();
  GrpcAnswer Call(const GrpcCall& call);

 private:
  class Impl;
  explicit GrpcClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wherefore::net
