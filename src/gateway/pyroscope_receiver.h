// What Pyroscope's clients send: POST /ingest in all its formats and push.v1.PusherService/Push
// over Connect and gRPC, decoded and handed to the intake. Facts: docs/api.md.
//
// Threads: requests are decoded on the I/O thread that brought them; answers are sent from whatever
//          thread the sink is done on. AddRoutes is called before the servers start; the receiver
//          outlives them.
// Always:  a request is answered exactly once, with success only after everything in it that could
//          be used is durable. A request that is sent again counts once, also when only part of it
//          was stored the first time: each profile in it has an identity of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gateway/ingest_request.h"
#include "gateway/intake.h"
#include "net/http.h"
#include "net/unary.h"

namespace wherefore::gateway {

class PyroscopeReceiver {
 public:
  struct Options {
    bool tenants = false;  // X-Scope-OrgID counts, and must be there
  };
  PyroscopeReceiver(Intake intake, Options options)
      : intake_(std::move(intake)), options_(options) {}

  void AddRoutes(net::Router& http, net::GrpcRouter& grpc);

 private:
  struct Request {
    profile::Tenant tenant;
    Hash128 identity;
    std::size_t body_bytes = 0;
  };
  using Done = std::function<void(Result<profile::WriteAnswer>)>;

  void Ingest(const net::HttpRequest& request, const net::Respond& respond);
  void Push(const net::UnaryRequest& request, const net::UnaryRespond& respond);
  // Writes every profile; `done` gets the answers as one. A failure counts more than a success.
  void WriteAll(const Request& request, std::vector<UploadedProfile> profiles, Done done);
  [[nodiscard]] Result<profile::Tenant> Tenant(const net::Headers& headers) const;

  Intake intake_;
  const Options options_;
};

}  // namespace wherefore::gateway
