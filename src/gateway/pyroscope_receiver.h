// Receives what Pyroscope's clients send: POST /ingest in all its formats, and
// push.v1.PusherService/Push over Connect and gRPC. Decodes it and passes it to the intake. See
// docs/api.md.
//
// Threads: requests are decoded on the thread that calls the handler: an I/O or gRPC thread, or a
//          worker if the body is large. Answers are sent from whatever thread the sink finishes on.
//          Call AddRoutes before the servers start; the receiver outlives them.
// Always:  a request is answered exactly once, with success only after everything usable in it is
//          durable. A repeated request counts once, even if only part of it was stored the first
//          time: each profile in it has its own identity.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/pyroscope/ingest.h"
#include "gateway/intake.h"
#include "net/http.h"
#include "net/unary.h"

namespace wherefore::gateway {

class PyroscopeReceiver {
 public:
  struct Options {
    bool tenants = false;  // X-Scope-OrgID is used, and required
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
  // Writes every profile; `done` gets one combined answer. A failure outweighs a success.
  void WriteAll(const Request& request, std::vector<formats::UploadedProfile> profiles, Done done);
  [[nodiscard]] Result<profile::Tenant> Tenant(const net::Headers& headers) const;

  Intake intake_;
  const Options options_;
};

}  // namespace wherefore::gateway
