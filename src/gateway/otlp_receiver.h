// Receives OTLP profiles and traces over HTTP (protobuf, JSON) and gRPC, decodes them and passes
// them to a Sink.
//
// Threads: requests are decoded on the thread that calls the handler: an I/O or gRPC thread, or a
//          worker if the body is large. Answers are sent from whatever thread the sink finishes on.
//          Call AddRoutes and grpc_handler before the servers start; the receiver outlives them.
// Always:  a request is answered exactly once, with success only after the sink said the data is
//          durable. Refusals are counted with their reason. A sender is told whether to retry
//          (429/503 and RetryInfo) or what is wrong (docs/api.md).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "formats/formats.h"
#include "gateway/intake.h"
#include "net/grpc.h"
#include "net/http.h"

namespace wherefore::gateway {

class OtlpReceiver {
 public:
  struct Options {
    bool tenants = false;     // use X-Scope-OrgID
    std::string traces_path;  // empty: OTLP's own
    std::string profiles_path;
  };

  OtlpReceiver(Intake intake, Options options)
      : intake_(std::move(intake)), options_(std::move(options)) {}

  void AddRoutes(net::Router& router);
  [[nodiscard]] net::GrpcHandler grpc_handler();

 private:
  struct Request {
    formats::Signal signal;
    Transport transport;
    std::shared_ptr<const std::string> body;
    profile::Tenant tenant;
  };
  // The sink's answer, or the status to send instead.
  using Answer = std::function<void(std::expected<profile::WriteAnswer, formats::RpcStatus>)>;

  void Receive(const Request& request, Answer answer);
  template <typename Data>
  void Write(const Request& request, Result<formats::Decoded<Data>> decoded, Answer answer);
  void ReceiveHttp(formats::Signal signal, const net::HttpRequest& request,
                   const net::Respond& respond);
  void ReceiveGrpc(const net::GrpcRequest& request,
                   const std::function<void(net::GrpcResponse)>& respond);
  [[nodiscard]] profile::Tenant Tenant(const net::Headers& headers) const;

  Intake intake_;
  const Options options_;
};

}  // namespace wherefore::gateway
