#include "cli/side_ports.h"

#include "base/log.h"
#include "gateway/server/port.h"

namespace wherefore::cli {

Result<> SidePorts::ServeOpamp(gateway::Profiling& profiling, std::optional<std::uint16_t> port) {
  constexpr std::uint16_t kUsualPort = 4320;
  auto router = std::make_shared<net::Router>();
  profiling.AddOpampRoutes(*router);
  opamp_ = std::make_unique<net::HttpServer>(io_, options_(port.value_or(kUsualPort)), router);
  Result<> started = opamp_->Start();
  if (started) return {};
  opamp_.reset();
  if (port) return Error(started.error()).Within("--opamp-port");
  Log(LogLevel::kInfo, "no OpAMP on 4320; every OTLP/HTTP port answers /v1/opamp too",
      {{"reason", started.error().message()}});
  return {};
}

Result<> SidePorts::ServeHealth(const std::optional<gateway::HealthCheckConfig>& config) {
  if (config == health_config_) return {};
  if (health_) health_->Stop(0);
  health_.reset();
  health_config_ = config;
  if (!config) return {};
  auto router = std::make_shared<net::Router>();
  router->Add("GET", config->path, [this](const net::HttpRequest&, const net::Respond& respond) {
    const std::string reason = not_ready_();
    const bool ready = reason.empty();
    respond({.status = ready ? 200 : 503,
             .body = ready ? R"({"status":"Server available"})"
                           : R"({"status":"Server not available"})"});
  });
  net::HttpServerOptions options = options_(config->port);
  options.addresses = gateway::AddressesOf(config->host);
  options.bearer_token.clear();
  health_ = std::make_unique<net::HttpServer>(io_, std::move(options), router);
  return health_->Start();
}

void SidePorts::Stop() {
  if (health_) health_->Stop(0);
  if (opamp_) opamp_->Stop(0);
}

}  // namespace wherefore::cli
