#include "net/unary.h"

#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"

namespace wherefore::net {
namespace {

constexpr std::string_view kProtobuf = "application/proto";
constexpr std::string_view kJson = "application/json";

std::string_view ConnectCode(Code code) {
  switch (code) {
    case Code::kInvalid:
    case Code::kCorrupt:
      return "invalid_argument";
    case Code::kNotFound:
      return "not_found";
    case Code::kLimit:
      return "resource_exhausted";
    case Code::kCancelled:
      return "canceled";
    case Code::kUnsupported:
      return "unimplemented";
    case Code::kIo:
    case Code::kUnavailable:
      return "unavailable";
    case Code::kUnauthenticated:
      return "unauthenticated";
    case Code::kInternal:
      break;
  }
  return "internal";
}

std::string_view ConnectCodeOfStatus(int status) {
  switch (status) {
    case 401:
      return "unauthenticated";
    case 403:
      return "permission_denied";
    case 404:
    case 405:
    case 415:
      return "unimplemented";
    case 408:
      return "deadline_exceeded";
    case 413:
    case 429:
      return "resource_exhausted";
    case 503:
      return "unavailable";
    default:
      return status < 500 ? "invalid_argument" : "internal";
  }
}

HttpResponse Failure(int status, std::string_view code, std::string_view message) {
  HttpResponse response;
  response.status = status;
  JsonWriter json(response.body);
  json.BeginObject().Field("code", code).Field("message", message).EndObject();
  if (status == 429) response.headers["Retry-After"] = "1";
  if (status == 503) response.headers["Retry-After"] = "5";
  return response;
}

void HandleConnect(const std::string& method, const UnaryHandler& handler,
                   const HttpRequest& request, const Respond& respond) {
  const std::string type = request.ContentType();
  const bool json = type == kJson;
  // Clients of other protobuf frameworks send x-protobuf and mean the same.
  if (!json && type != kProtobuf && type != "application/x-protobuf" &&
      type != "application/protobuf") {
    HttpResponse response = Failure(
        415, "unimplemented",
        fmt::format("content type \"{}\": send application/proto or application/json", type));
    response.headers["Accept-Post"] = fmt::format("{}, {}", kProtobuf, kJson);
    return respond(std::move(response));
  }
  const auto headers = std::make_shared<Headers>();
  handler({method, request.headers, request.body, json, request.cancel, headers},
          [json, respond, headers](Result<std::string> result) {
            if (!result) return respond(ConnectError(result.error()));
            HttpResponse response;
            response.content_type = json ? kJson : kProtobuf;
            response.body = *std::move(result);
            response.headers.merge(*headers);
            respond(std::move(response));
          });
}

}  // namespace

HttpResponse ConnectError(const Error& error) {
  return Failure(HttpStatus(error.code()), ConnectCode(error.code()), error.message());
}

HttpResponse ConnectRefusal(const HttpRequest& /*request*/, int status, const Error& error) {
  return Failure(status, ConnectCodeOfStatus(status), error.message());
}

void GrpcRouter::Add(std::string method, GrpcHandler handler) {
  handlers_[std::move(method)] = std::move(handler);
}

const GrpcHandler* GrpcRouter::Find(std::string_view method) const {
  const auto found = handlers_.find(method);
  return found == handlers_.end() ? nullptr : &found->second;
}

GrpcHandler Routed(std::shared_ptr<const GrpcRouter> router, GrpcHandler otherwise) {
  return [known = std::move(router), other = std::move(otherwise)](
             GrpcRequest request, std::function<void(GrpcResponse)> respond) {
    const GrpcHandler* const found = known->Find(request.method);
    (found != nullptr ? *found : other)(std::move(request), std::move(respond));
  };
}

void AddUnary(Router& http, GrpcRouter& grpc, const std::string& method,
              const UnaryHandler& handler) {
  http.Add("POST", method, [method, handler](const HttpRequest& request, const Respond& respond) {
    HandleConnect(method, handler, request, respond);
  });
  http.SetRefusalFormat(method, ConnectRefusal);
  grpc.Add(method,
           [handler](GrpcRequest request, const std::function<void(GrpcResponse)>& respond) {
             handler({std::move(request.method), std::move(request.metadata),
                      std::move(request.body), false, request.cancel, std::make_shared<Headers>()},
                     [respond](Result<std::string> result) {
                       if (!result) {
                         const Error& error = result.error();
                         return respond({GrpcStatus(error.code()), error.message(), {}, {}});
                       }
                       respond({0, {}, *std::move(result), {}});
                     });
           });
}

}  // namespace wherefore::net
