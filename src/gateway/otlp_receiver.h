// OTLP in: profiles and traces over HTTP (protobuf, JSON) and gRPC, decoded and handed to a Sink.
//
// Threads: requests are decoded on the I/O thread that brought them; answers are sent from whatever
//          thread the sink is done on. AddRoutes and grpc_handler are called before the servers
//          start; the receiver outlives them.
// Always:  a request is answered exactly once, with success only after the sink said the data is
// durable.
//          What is refused is counted with its reason; what a sender may send again is told so
//          (429/503 and RetryInfo), what it may not is told why (docs/api.md).
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
    bool tenants = false;  // X-Scope-OrgID counts
  };

  OtlpReceiver(Intake intake, Options options) : intake_(std::move(intake)), options_(options) {}

  void AddRoutes(net::Router& router);
  [[nodiscard]] net::GrpcHandler grpc_handler();

 private:
  struct Request {
    formats::Signal signal;
    Transport transport;
    std::shared_ptr<const std::string> body;
    profile::Tenant tenant;
  };
  // The sink's answer, or what to tell the sender instead.
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
