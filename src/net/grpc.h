// gRPC as the rest of the server sees it: a method name, bytes in, a status and bytes out.
//
// One generic asynchronous service takes every unary method; nothing is generated. Handlers are
// called on a thread of gRPC, or with a large message on a worker, and answer once, from any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
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
  int status = 0;  // grpc status number; 0 = OK
  std::string message;
  std::string body;     // the response message when OK
  std::string details;  // google.rpc.Status bytes for grpc-status-details-bin; empty for none
};

using GrpcHandler = std::function<void(GrpcRequest, std::function<void(GrpcResponse)>)>;

// gRPC number for an error code: 3 INVALID_ARGUMENT, 5 NOT_FOUND, 8 RESOURCE_EXHAUSTED, 12
// UNIMPLEMENTED, 14 UNAVAILABLE, ...
[[nodiscard]] int GrpcStatus(Code code);

struct GrpcServerOptions {
  std::vector<std::string> addresses = {"127.0.0.1", "::1"};
  std::uint16_t port = 0;
  std::size_t max_message_bytes = 64u << 20;
  std::size_t max_inflight_bytes = 512u << 20;
  // Calls that are open; beyond it UNAVAILABLE, unless one makes room that waits for its message.
  std::size_t max_calls = 4096;
  int max_calls_per_connection = 256;             // clients keep more to themselves
  int message_timeout_seconds = 60;               // for a whole message once a call has begun
  std::shared_ptr<UnreadAnswers> unread_answers;  // of several servers; none: 1 GiB of its own
  std::shared_ptr<ConnectionLimit> connections;   // of several servers; none: as many as come
  WorkerPool* large_bodies = nullptr;  // unpacks and handles large messages; none: gRPC's threads
  int idle_timeout_seconds = 300;      // of a connection without calls
  std::string tls_certificate_file;
  std::string tls_key_file;
  std::string bearer_token;
};

class GrpcServer {
 public:
  // `handler` gets every method; it answers UNIMPLEMENTED (12) itself for those it does not know.
  // Connections are accepted on `io`, which must outlive the server.
  GrpcServer(IoThreads& io, GrpcServerOptions options, GrpcHandler handler);
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  ~GrpcServer();

  Result<> Start();
  [[nodiscard]] std::uint16_t port() const;
  void Stop(int grace_seconds);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wherefore::net
