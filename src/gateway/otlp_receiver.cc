#include "gateway/otlp_receiver.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/hash.h"
#include "formats/link_labels.h"
#include "net/tenant.h"

namespace wherefore::gateway {
namespace {

using formats::RpcStatus;
using formats::Signal;

// gRPC status codes, which google.rpc.Status carries over HTTP too.
enum RpcCode : std::uint8_t {
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16
};

constexpr std::string_view kOnlyTwoSignals = "this server accepts only profiles and traces";

// Malformed bytes: sending them again never helps, whatever code the decoder gave.
RpcStatus DecodeFailure(const Error& error) {
  return {kInvalidArgument, Sendable(error.message()), Sendable(std::string(error.place())), -1};
}

RpcStatus SinkFailure(const Error& error) {
  const std::string message = Sendable(error.message());
  switch (error.code()) {
    case Code::kUnavailable:
    case Code::kIo:
    case Code::kCancelled:
      return {kUnavailable, message, {}, 5000};
    case Code::kLimit:
      return {kResourceExhausted, message, {}, 1000};
    case Code::kInvalid:
    case Code::kCorrupt:
      return {kInvalidArgument, message, Sendable(std::string(error.place())), -1};
    case Code::kUnsupported:
      return {kUnimplemented, message, {}, -1};
    case Code::kUnauthenticated:
      return {kUnauthenticated, message, {}, -1};
    case Code::kNotFound:
    case Code::kInternal:
      break;
  }
  return {kInternal, message, {}, -1};
}

std::string_view ReasonOf(const RpcStatus& status) {
  switch (status.code) {
    case kInvalidArgument:
      return "malformed";
    case kResourceExhausted:
      return status.retry_delay_ms >= 0 ? "overloaded" : "too_large";
    case kUnavailable:
      return "unavailable";
    case kUnimplemented:
      return "unsupported";
    case kUnauthenticated:
    case kPermissionDenied:
      return "forbidden";
    case kDeadlineExceeded:
      return "too_slow";
    default:
      return "internal";
  }
}

int HttpStatusOf(int rpc_code) {
  switch (rpc_code) {
    case kInvalidArgument:
      return 400;
    case kResourceExhausted:
      return 429;
    case kUnimplemented:
      return 404;
    case kUnavailable:
      return 503;
    default:
      return 500;
  }
}

bool IsJson(const net::HttpRequest& request) {
  return request.ContentType() == "application/json";
}

bool IsProtobuf(const net::HttpRequest& request) {
  const std::string type = request.ContentType();
  return type == "application/x-protobuf" || type == "application/protobuf";
}

// Answers use the encoding of the request.
std::string AnswerType(const net::HttpRequest& request) {
  return IsJson(request) || IsProtobuf(request) ? request.ContentType() : "application/x-protobuf";
}

net::HttpResponse HttpFailure(int http_status, const RpcStatus& status, std::string content_type) {
  net::HttpResponse response;
  response.status = http_status;
  response.body = formats::EncodeRpcStatus(status, content_type == "application/json");
  response.content_type = std::move(content_type);
  if (status.retry_delay_ms >= 0) {
    response.headers["Retry-After"] = std::to_string((status.retry_delay_ms + 999) / 1000);
  }
  return response;
}

net::HttpResponse PlainText(int status, std::string text) {
  net::HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(text) + "\n";
  return response;
}

// Converts a refusal of the HTTP server to google.rpc.Status.
RpcStatus RefusalStatus(int http_status, const Error& error) {
  RpcStatus status{kInvalidArgument, error.message(), {}, -1};
  switch (http_status) {
    case 401:
      status.code = kUnauthenticated;
      break;
    case 403:
      status.code = kPermissionDenied;
      break;
    case 408:
      status.code = kDeadlineExceeded;
      break;
    case 413:
      status.code = kResourceExhausted;
      break;
    case 429:
      status = {kResourceExhausted, error.message(), {}, 1000};
      break;
    case 503:
      status = {kUnavailable, error.message(), {}, 1000};
      break;
    default:
      break;
  }
  return status;
}

net::HttpResponse RefusalResponse(const net::HttpRequest& request, int status, const Error& error) {
  if (status == 405 || status == 415) return PlainText(status, error.message());
  return HttpFailure(status, RefusalStatus(status, error), AnswerType(request));
}

std::string_view RefusalReason(int status, const Error& error) {
  if (status == 405) return "method";
  if (status == 415) return "content_encoding";
  return ReasonOf(RefusalStatus(status, error));
}

net::GrpcResponse GrpcFailure(const RpcStatus& status) {
  const bool details = !status.field.empty() || status.retry_delay_ms >= 0;
  return {status.code, status.message, {}, details ? formats::EncodeRpcStatus(status, false) : ""};
}

struct GrpcMethod {
  std::string_view name;
  Signal signal;
};
constexpr std::array kGrpcMethods = {
    GrpcMethod{"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
               Signal::kProfiles},
    GrpcMethod{"/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export",
               Signal::kProfiles},
    GrpcMethod{"/opentelemetry.proto.collector.trace.v1.TraceService/Export", Signal::kTraces}};

std::string UnknownMethod(std::string_view method) {
  if (method.find(".profiles.v1experimental.") != std::string_view::npos) {
    return "this sender speaks v1experimental OTLP profiles, whose layout is no longer in use; "
           "update it to v1development";
  }
  if (method.find(".collector.metrics.") != std::string_view::npos ||
      method.find(".collector.logs.") != std::string_view::npos) {
    return std::string(kOnlyTwoSignals);
  }
  return fmt::format("there is no method {}; {}", method, kOnlyTwoSignals);
}

}  // namespace

profile::Tenant OtlpReceiver::Tenant(const net::Headers& headers) const {
  const auto name = headers.find(net::kTenantHeader);
  return options_.tenants && name != headers.end() ? profile::Tenant(name->second)
                                                   : profile::Tenant();
}

void OtlpReceiver::Receive(const Request& request, Answer answer) {
  intake_.metrics().Received(request.signal, request.transport, request.body->size());
  const bool json = request.transport == Transport::kHttpJson;
  if (request.signal == Signal::kProfiles) {
    Write<profile::Batch>(request,
                          json ? formats::DecodeOtlpProfilesJson(request.body)
                               : formats::DecodeOtlpProfiles(request.body),
                          std::move(answer));
  } else {
    Write<profile::SpanBatch>(request,
                              json ? formats::DecodeOtlpTracesJson(request.body)
                                   : formats::DecodeOtlpTraces(request.body),
                              std::move(answer));
  }
}

template <typename Data>
void OtlpReceiver::Write(const Request& request, Result<formats::Decoded<Data>> decoded,
                         Answer answer) {
  const Signal signal = request.signal;
  if constexpr (std::is_same_v<Data, profile::Batch>) {
    if (decoded) formats::LinkSamplesByAttributes(decoded->data);
  }
  if (!decoded) {
    const RpcStatus status = DecodeFailure(decoded.error());
    intake_.metrics().Refused(signal, ReasonOf(status));
    return answer(std::unexpected(status));
  }
  // The same bytes over gRPC and HTTP are the same request; another tenant's or signal's are not.
  const std::uint64_t seed =
      (std::uint64_t{request.tenant.number} << 8) | static_cast<std::uint64_t>(signal);
  Intake::Origin origin{.signal = signal,
                        .tenant = request.tenant,
                        .identity = HashString(*request.body, seed),
                        .body_bytes = request.body->size(),
                        .transport = request.transport};
  if (request.transport != Transport::kHttpJson) origin.otlp_bytes = request.body;
  intake_.Write(origin, *std::move(decoded),
                [reply = std::move(answer)](Result<profile::WriteAnswer> result) {
                  if (!result) return reply(std::unexpected(SinkFailure(result.error())));
                  reply(*std::move(result));
                });
}

void OtlpReceiver::ReceiveHttp(Signal signal, const net::HttpRequest& request,
                               const net::Respond& respond) {
  const bool json = IsJson(request);
  if (!json && !IsProtobuf(request)) {
    intake_.metrics().Refused(signal, "content_type");
    return respond(PlainText(
        415, fmt::format(
                 "content type \"{}\" is not OTLP; send application/x-protobuf or application/json",
                 request.ContentType())));
  }
  Receive({signal, json ? Transport::kHttpJson : Transport::kHttp, request.body,
           Tenant(request.headers)},
          [signal, json, type = AnswerType(request),
           respond](std::expected<profile::WriteAnswer, RpcStatus> answer) {
            if (!answer) {
              return respond(HttpFailure(HttpStatusOf(answer.error().code), answer.error(), type));
            }
            net::HttpResponse response;
            response.content_type = type;
            response.body =
                formats::EncodeExportResponse(signal, json, answer->rejected, answer->message);
            respond(std::move(response));
          });
}

void OtlpReceiver::AddRoutes(net::Router& router) {
  const auto add = [&](const std::string& path, Signal signal) {
    router.Add("POST", path,
               [this, signal](const net::HttpRequest& request, const net::Respond& respond) {
                 ReceiveHttp(signal, request, respond);
               });
    router.SetRefusalFormat(
        path, [metrics = intake_.shared_metrics(), signal](const net::HttpRequest& request,
                                                           int status, const Error& error) {
          metrics->Refused(signal, RefusalReason(status, error));
          return RefusalResponse(request, status, error);
        });
  };
  if (options_.profiles_path.empty()) {
    add("/v1development/profiles", Signal::kProfiles);
    add("/v1/profiles", Signal::kProfiles);
  } else {
    add(options_.profiles_path, Signal::kProfiles);
  }
  add(options_.traces_path.empty() ? "/v1/traces" : options_.traces_path, Signal::kTraces);
  for (const char* path : {"/v1/metrics", "/v1/logs"}) {
    router.SetRefusalFormat(path, RefusalResponse);
    router.Add("POST", path, [](const net::HttpRequest& request, const net::Respond& respond) {
      respond(HttpFailure(404, {kUnimplemented, std::string(kOnlyTwoSignals), {}, -1},
                          AnswerType(request)));
    });
  }
}

void OtlpReceiver::ReceiveGrpc(const net::GrpcRequest& request,
                               const std::function<void(net::GrpcResponse)>& respond) {
  const auto* const method = std::ranges::find(kGrpcMethods, request.method, &GrpcMethod::name);
  if (method == kGrpcMethods.end()) {
    return respond(GrpcFailure({kUnimplemented, UnknownMethod(request.method), {}, -1}));
  }
  Receive(
      {method->signal, Transport::kGrpc, request.body, Tenant(request.metadata)},
      [signal = method->signal, respond](std::expected<profile::WriteAnswer, RpcStatus> answer) {
        if (!answer) return respond(GrpcFailure(answer.error()));
        respond({0,
                 {},
                 formats::EncodeExportResponse(signal, false, answer->rejected, answer->message),
                 {}});
      });
}

net::GrpcHandler OtlpReceiver::grpc_handler() {
  return [this](const net::GrpcRequest& request,
                const std::function<void(net::GrpcResponse)>& respond) {
    ReceiveGrpc(request, respond);
  };
}

}  // namespace wherefore::gateway
