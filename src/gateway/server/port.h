// ReceiverPort: one port that a receiver opened, and what answers there.
//
// Threads: Start and Stop by one thread; requests are handled on the servers' threads.
// Always:  a port takes data and answers no question, except the one of a server without pipelines,
//          whose gRPC port also has the methods it was given. What is behind the inlet can be
//          exchanged while the port stays open.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "gateway/config/gateway_config.h"
#include "gateway/graph/graph.h"
#include "gateway/intake.h"
#include "gateway/otlp_receiver.h"
#include "gateway/pyroscope_receiver.h"
#include "net/grpc.h"
#include "net/http.h"
#include "net/unary.h"

namespace wherefore::gateway {

// What all ports of a server have in common.
struct PortEnvironment {
  net::IoThreads* io = nullptr;
  // Limits, token and certificates; address, port and what a receiver says itself are filled in.
  std::function<net::HttpServerOptions()> http_options;
  std::function<net::GrpcServerOptions()> grpc_options;
  std::shared_ptr<ReceiverMetrics> metrics;
  bool tenants = false;
  Profiling* profiling = nullptr;  // answers /v1/opamp; null: nobody does
};

// Which port, and for whom. Equal plans are the same port.
struct PortPlan {
  std::string receiver;
  ReceiverConfig::Kind kind = ReceiverConfig::Kind::kOtlp;
  bool grpc = false;
  std::vector<std::string> addresses;
  PortConfig settings;
  std::string certificates;  // what their files say
  // A port of a server without pipelines: with the server's own certificates and methods.
  bool of_server = false;

  bool operator==(const PortPlan&) const = default;
  // Whether both want the same socket.
  [[nodiscard]] bool SamePort(const PortPlan& other) const {
    return settings.port != 0 && settings.port == other.settings.port;
  }
  // "otlp gRPC"
  [[nodiscard]] std::string Name() const;
};

class ReceiverPort {
 public:
  // `methods`: what the gRPC port of a server without pipelines answers besides; may be null.
  ReceiverPort(PortPlan plan, const PortEnvironment& environment,
               std::shared_ptr<const net::GrpcRouter> methods);
  ReceiverPort(const ReceiverPort&) = delete;
  ReceiverPort& operator=(const ReceiverPort&) = delete;
  ~ReceiverPort();

  Result<> Start();
  void Stop(int grace_seconds);
  [[nodiscard]] const PortPlan& plan() const { return plan_; }
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] Inlet& inlet() { return inlet_; }
  // "127.0.0.1:4317" or "http://127.0.0.1:4318": where a sender on this machine reaches it.
  [[nodiscard]] std::string Address() const;
  // What `doctor` shows: the address, and who may send there.
  [[nodiscard]] std::string Description() const;

 private:
  void MakeHttp(const PortEnvironment& environment);
  void MakeGrpc(const PortEnvironment& environment, std::shared_ptr<const net::GrpcRouter> methods);
  std::shared_ptr<net::GrpcServer> NewGrpc(const PortEnvironment& environment,
                                           std::shared_ptr<const net::GrpcRouter> methods);
  template <typename Options>
  void NoteAccess(const Options& options);

  const PortPlan plan_;
  bool tls_ = false;
  bool mutual_ = false;  // clients show certificates
  bool token_ = false;
  Inlet inlet_;
  std::unique_ptr<OtlpReceiver> otlp_;
  std::unique_ptr<PyroscopeReceiver> pyroscope_;
  std::unique_ptr<net::HttpServer> http_;
  std::shared_ptr<net::GrpcServer> grpc_;
};

// The addresses an endpoint's host stands for: localhost is both loopback addresses, nothing is all
// of this machine.
[[nodiscard]] std::vector<std::string> AddressesOf(const std::string& host);
[[nodiscard]] bool IsLoopbackAddress(const std::string& address);

}  // namespace wherefore::gateway
