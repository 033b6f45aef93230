// Unary methods: one handler per method, reachable over Connect (HTTP/1.1, protobuf or JSON) and
// gRPC.
//
// A handler gets one message and answers with one in the same encoding, or with an error; this file
// chooses the status code and error format. Handlers are called on an I/O or gRPC thread, or on a
// worker if the message is large. They answer once, from any thread, now or later.
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
  // Headers a handler adds before it answers. Sent over HTTP only.
  std::shared_ptr<Headers> answer_headers;
};
using UnaryRespond = std::function<void(Result<std::string>)>;
using UnaryHandler = std::function<void(UnaryRequest, UnaryRespond)>;

// gRPC handlers by method name. Filled before the server starts, then read-only.
class GrpcRouter {
 public:
  void Add(std::string method, GrpcHandler handler);
  // Null: unknown.
  [[nodiscard]] const GrpcHandler* Find(std::string_view method) const;

 private:
  std::map<std::string, GrpcHandler, std::less<>> handlers_;
};

// The methods of `router`, and `otherwise` for all others.
[[nodiscard]] GrpcHandler Routed(std::shared_ptr<const GrpcRouter> router, GrpcHandler otherwise);

// Registers `method` as POST on `http` and as a gRPC method on `grpc`.
void AddUnary(Router& http, GrpcRouter& grpc, const std::string& method,
              const UnaryHandler& handler);

// {"code":"invalid_argument","message":"..."} with the HTTP status Connect defines for that code.
[[nodiscard]] HttpResponse ConnectError(const Error& error);
// The same if only the HTTP status is known (the server refused before a handler saw the request).
[[nodiscard]] HttpResponse ConnectRefusal(const HttpRequest& request, int status,
                                          const Error& error);

}  // namespace wherefore::net
