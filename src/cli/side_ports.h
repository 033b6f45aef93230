// SidePorts: ports of `serve` beside the page's and the receivers': the extension health_check, and
// OpAMP's own. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "gateway/config/gateway_config.h"
#include "gateway/profiling/profiling.h"
#include "net/http.h"

namespace wherefore::cli {

class SidePorts {
 public:
  // `options`: the server's own for a port. `not_ready`: why the server is not; empty: it is.
  SidePorts(net::IoThreads& io, std::function<net::HttpServerOptions(std::uint16_t)> options,
            std::function<std::string()> not_ready)
      : io_(io), options_(std::move(options)), not_ready_(std::move(not_ready)) {}

  // `port` not given: the usual one, if it is free: nobody asked for it, so another server may have
  // it.
  Result<> ServeOpamp(gateway::Profiling& profiling, std::optional<std::uint16_t> port);
  // A port that says whether this server is ready; with another configuration, another one.
  Result<> ServeHealth(const std::optional<gateway::HealthCheckConfig>& config);
  void Stop();
  // 0: there is none.
  [[nodiscard]] std::uint16_t opamp_port() const { return opamp_ ? opamp_->port() : 0; }

 private:
  net::IoThreads& io_;
  const std::function<net::HttpServerOptions(std::uint16_t)> options_;
  const std::function<std::string()> not_ready_;
  std::optional<gateway::HealthCheckConfig> health_config_;
  std::unique_ptr<net::HttpServer> health_;
  std::unique_ptr<net::HttpServer> opamp_;
};

}  // namespace wherefore::cli
