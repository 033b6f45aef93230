// Unary methods: one handler per method, reachable over Connect (HTTP/1.1, protobuf or JSON) and
// over gRPC.
//
// A handler gets one message and answers with one, in the encoding the message came in, or with an
// error; which status number and error form that becomes is this file's business. Handlers are
// called on an I/O thread and answer once, from any thread, now or later.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/cancel.h"
#include "base/result.h"
#include "net/grpc.h"
#include "net/http.h"

namespace wherefore::net {

struct UnaryRequest {
  std::string method;  // "/package.Service/Method"
  Headers headers;     // HTTP header fields, or gRPC metadata
  std::shared_ptr<const std::string> body;
  bool json = false;  // proto3 JSON instead of protobuf
  CancelToken cancel;
  // What a handler adds before it answers is sent with an answer over HTTP; gRPC has none.
  std::shared_ptr<Headers> answer_headers;
};
using UnaryRespond = std::function<void(Result<std::string>)>;
using UnaryHandler = std::function<void(UnaryRequest, UnaryRespond)>;

// gRPC by method name. Filled before the server starts, then only read.
class GrpcRouter {
 public:
  void Add(std::string method, GrpcHandler handler);
  // Answers every method nobody added.
  void SetFallback(GrpcHandler handler) { fallback_ = std::move(handler); }
  void Handle(GrpcRequest request, std::function<void(GrpcResponse)> respond) const;

 private:
  std::map<std::string, GrpcHandler, std::less<>> handlers_;
  GrpcHandler fallback_;
};

// Makes `method` answer as POST on `http` and as a gRPC method on `grpc`.
void AddUnary(Router& http, GrpcRouter& grpc, const std::string& method,
              const UnaryHandler& handler);

// {"code":"invalid_argument","message":"..."} with the HTTP status Connect gives that code.
[[nodiscard]] HttpResponse ConnectError(const Error& error);
// The same where only the HTTP status is known (what the server refuses before a handler sees it).
[[nodiscard]] HttpResponse ConnectRefusal(const HttpRequest& request, int status,
                                          const Error& error);

}  // namespace wherefore::net
