// gRPC for the rest of the server: a method name, bytes in, a status and bytes out.
//
// One generic asynchronous service handles every unary method; there is no generated code. Handlers
// are called on a gRPC thread, or on a worker if the message is large. They answer once, from any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "base/result.h"
#include "net/http.h"

namespace wherefore::net {

struct GrpcRequest {
  std::string method;                       // "/package.Service/Method"
  Headers metadata;                         // client metadata (binary values as bytes)
  std::shared_ptr<const std::string> body;  // one message, decompressed
  std::string peer;
  CancelToken cancel;
};

struct GrpcResponse {
  int status = 0;  // gRPC status code; 0 is OK
  std::string message;
  std::string body;     // the response message when OK
  std::string details;  // google.rpc.Status bytes for grpc-status-details-bin; empty: none
};

using GrpcHandler = std::function<void(GrpcRequest, std::function<void(GrpcResponse)>)>;

// The gRPC status of an error code: 3 INVALID_ARGUMENT, 5 NOT_FOUND, 8 RESOURCE_EXHAUSTED, 12
// UNIMPLEMENTED, 14 UNAVAILABLE, ...
[[nodiscard]] int GrpcStatus(Code code);

// What a connection begins with that speaks HTTP/2, as gRPC does (RFC 9113, 3.4).
constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct GrpcServerOptions {
  std::vector<std::string> addresses = {"127.0.0.1", "::1"};
  std::uint16_t port = 0;
  std::size_t max_message_bytes = 64u << 20;
  std::size_t max_inflight_bytes = 512u << 20;
  // Open calls. Beyond it UNAVAILABLE, unless a call that still waits for its message can be ended.
  std::size_t max_calls = 4096;
  int max_calls_per_connection = 256;  // announced to clients, which queue the rest
  int message_timeout_seconds = 60;    // from the start of a call to its whole message
  // In every window this much of a large answer must be read, otherwise the call is ended.
  int answer_window_seconds = 30;
  std::size_t least_answer_bytes_per_second = 1024;
  std::shared_ptr<UnreadAnswers>
      unread_answers;  // shared by several servers; null: 1 GiB of its own
  std::shared_ptr<ConnectionLimit> connections;  // shared by several servers; null: no limit
  WorkerPool* large_bodies = nullptr;  // unpacks and handles large messages; null: gRPC's threads
  int idle_timeout_seconds = 300;      // for a connection without calls
  std::string tls_certificate_file;
  std::string tls_key_file;
  // With the two above: clients must show a certificate signed by one of these authorities.
  std::string tls_client_ca_file;
  std::string bearer_token;
};

class GrpcServer {
 public:
  // `handler` gets every method and answers UNIMPLEMENTED (12) for unknown ones. Connections are
  // accepted on `io`, which must outlive the server.
  GrpcServer(IoThreads& io, GrpcServerOptions options, GrpcHandler handler);
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  ~GrpcServer();

  Result<> Start();
  // Starts without a port of its own, in plain text: an HTTP server on `port` passes connections on
  // (HttpServerOptions::grpc).
  Result<> StartBehind(std::uint16_t port);
  // A connected socket, and what was already read from it. Any thread; closed if the server stops.
  void Take(int fd, std::string_view read);
  [[nodiscard]] std::uint16_t port() const;
  void Stop(int grace_seconds);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wherefore::net
