#include "gateway/server/port.h"

#include <algorithm>

#include <fmt/format.h>

#include "gateway/profiling/profiling.h"

namespace wherefore::gateway {

std::vector<std::string> AddressesOf(const std::string& host) {
  if (host.empty()) return {"0.0.0.0", "::"};
  if (host == "localhost") return {"127.0.0.1", "::1"};
  return {host};
}

bool IsLoopbackAddress(const std::string& address) {
  return address == "::1" || address == "localhost" || address.starts_with("127.");
}

std::string PortPlan::Name() const {
  return fmt::format("{} {}", receiver, grpc ? "gRPC" : "HTTP");
}

ReceiverPort::ReceiverPort(PortPlan plan, const PortEnvironment& environment,
                           std::shared_ptr<const net::GrpcRouter> methods)
    : plan_(std::move(plan)), inlet_(plan_.receiver) {
  otlp_ = std::make_unique<OtlpReceiver>(
      Intake(inlet_, environment.metrics, plan_.receiver),
      OtlpReceiver::Options{.tenants = environment.tenants,
                            .traces_path = plan_.settings.traces_path,
                            .profiles_path = plan_.settings.profiles_path});
  if (plan_.grpc) {
    MakeGrpc(environment, std::move(methods));
  } else {
    MakeHttp(environment);
  }
}

ReceiverPort::~ReceiverPort() = default;

// The receiver's own words go before the server's.
template <typename Options>
static void Fill(Options& options, const PortPlan& plan) {
  options.addresses = plan.addresses;
  options.port = plan.settings.port;
  if (plan.of_server) return;
  options.tls_certificate_file = plan.settings.tls_certificate;
  options.tls_key_file = plan.settings.tls_key;
  options.tls_client_ca_file = plan.settings.tls_client_ca;
  if (plan.settings.own_auth) options.bearer_token = plan.settings.token;
}

template <typename Options>
void ReceiverPort::NoteAccess(const Options& options) {
  tls_ = !options.tls_certificate_file.empty();
  mutual_ = !options.tls_client_ca_file.empty();
  token_ = !options.bearer_token.empty();
}

void ReceiverPort::MakeHttp(const PortEnvironment& environment) {
  auto router = std::make_shared<net::Router>();
  otlp_->AddRoutes(*router);
  if (environment.profiling != nullptr) environment.profiling->AddOpampRoutes(*router);
  if (plan_.kind == ReceiverConfig::Kind::kPyroscope) {
    pyroscope_ = std::make_unique<PyroscopeReceiver>(
        Intake(inlet_, environment.metrics, plan_.receiver),
        PyroscopeReceiver::Options{.tenants = environment.tenants});
  }
  net::HttpServerOptions options = environment.http_options();
  Fill(options, plan_);
  if (!plan_.of_server) options.max_body_bytes = plan_.settings.max_bytes;
  NoteAccess(options);
  if (pyroscope_) {
    auto methods = std::make_shared<net::GrpcRouter>();
    pyroscope_->AddRoutes(*router, *methods);
    options.grpc = NewGrpc(environment, std::move(methods));
  }
  http_ = std::make_unique<net::HttpServer>(*environment.io, std::move(options), router);
}

void ReceiverPort::MakeGrpc(const PortEnvironment& environment,
                            std::shared_ptr<const net::GrpcRouter> methods) {
  grpc_ = NewGrpc(environment, std::move(methods));
}

std::shared_ptr<net::GrpcServer> ReceiverPort::NewGrpc(
    const PortEnvironment& environment, std::shared_ptr<const net::GrpcRouter> methods) {
  net::GrpcServerOptions options = environment.grpc_options();
  Fill(options, plan_);
  if (!plan_.of_server) options.max_message_bytes = plan_.settings.max_bytes;
  NoteAccess(options);
  net::GrpcHandler handler = otlp_->grpc_handler();
  if (methods) handler = net::Routed(std::move(methods), std::move(handler));
  return std::make_shared<net::GrpcServer>(*environment.io, std::move(options), std::move(handler));
}

Result<> ReceiverPort::Start() {
  Result<> started = grpc_ ? grpc_->Start() : http_->Start();
  if (!started) return Error(started.error()).Within(plan_.Name());
  return {};
}

void ReceiverPort::Stop(int grace_seconds) {
  if (grpc_) grpc_->Stop(grace_seconds);
  if (http_) http_->Stop(grace_seconds);
}

std::uint16_t ReceiverPort::port() const {
  return grpc_ ? grpc_->port() : http_->port();
}

std::string ReceiverPort::Address() const {
  const std::string& first = plan_.addresses[0];
  const bool everywhere = first == "0.0.0.0" || first == "::";
  std::string host = everywhere ? "127.0.0.1" : first;
  if (host.contains(':')) host = "[" + host + "]";
  const std::string_view scheme = grpc_ ? "" : tls_ ? "https://" : "http://";
  return fmt::format("{}{}:{}", scheme, host, port());
}

std::string ReceiverPort::Description() const {
  const bool local = std::ranges::all_of(plan_.addresses, IsLoopbackAddress);
  return fmt::format("{}:{}, {}, {}{}", plan_.addresses[0], port(),
                     local ? "this machine only" : "open to other machines",
                     token_ ? "with a token" : "without a token",
                     mutual_ ? ", TLS with certificates of clients"
                     : tls_  ? ", TLS"
                             : "");
}

}  // namespace wherefore::gateway
