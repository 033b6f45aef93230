// Gateway: everything between the sockets that take data and the ends of the pipelines: ports,
// receivers, scrapers, the graph and its exporters, for the configuration that holds now.
//
// Threads: Apply and Stop are called by one thread at a time; status and the main inlet by
//          any.
// Always:  an Apply that fails changes nothing. Ports with an equal plan stay open over a reload,
//          requests finish in the graph they began in, and exporters keep their queues.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/status.h"
#include "gateway/config/gateway_config.h"
#include "gateway/graph/exporter_set.h"
#include "gateway/graph/graph.h"
#include "gateway/profiling/profiling.h"
#include "gateway/scraper.h"
#include "gateway/server/port.h"

namespace wherefore::gateway {

struct GatewayOptions {
  PortEnvironment ports;
  profile::Sink* store = nullptr;  // null: not opened, because no pipeline leads there
  std::function<Result<std::unique_ptr<Exporter>>(ExporterOptions)> make_exporter;
  // Without pipelines: the ports of the server itself, and what its gRPC port answers besides.
  std::vector<std::string> addresses;
  std::uint16_t otlp_grpc_port = 4317;
  std::uint16_t otlp_http_port = 4318;
  std::shared_ptr<const net::GrpcRouter> methods;
  Profiling* profiling = nullptr;  // outlives this; null: `profiling:` is not enforced
  ScrapeConfig scrape;             // --scrape and --scrape-config
  std::uint16_t main_port = 0;     // the page's and the API's, once it listens
};

class Gateway {
 public:
  explicit Gateway(GatewayOptions options);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  ~Gateway();

  // The inlet of the main port, which takes data of Pyroscope's clients and OTLP: for its routes.
  [[nodiscard]] Inlet& main_inlet() { return main_inlet_; }

  // Starts, or goes over to another configuration.
  Result<> Apply(GatewayConfig config);
  // Closes the ports; the main inlet still takes data.
  void Stop(int grace_seconds);
  // After the main port is closed.
  void StopExporters() { exporters_.Stop(); }

  // The first port of that kind; 0 if there is none.
  [[nodiscard]] std::uint16_t otlp_port(bool grpc) const;
  struct PortAddress {
    std::string receiver;
    bool grpc = false;
    std::string address;
  };
  [[nodiscard]] std::vector<PortAddress> addresses() const;
  // Receivers, pipelines, exporters, scrapers.
  [[nodiscard]] std::vector<Status> status() const;

 private:
  using Ports = std::vector<std::shared_ptr<ReceiverPort>>;
  struct Scraping {
    std::string canonical;
    std::shared_ptr<Inlet> inlet;
    std::shared_ptr<Scraper> scraper;
  };
  using Scrapers = std::map<std::string, Scraping>;  // by receiver

  // What only this server knows: its store, its own port and options.
  [[nodiscard]] Result<> CheckAgainstServer(const GatewayConfig& config) const;
  [[nodiscard]] std::vector<PortPlan> PlanPorts(const GatewayConfig& config) const;
  [[nodiscard]] std::string MainReceiver(const GatewayConfig& config) const;
  struct PortChange {
    Ports next;       // all that there are now
    Ports started;    // those of them that are new
    Ports made_room;  // closed, because a new one has their socket
  };
  // The ports of the plans, those that are open already taken over. On failure it is undone.
  Result<PortChange> OpenPorts(const std::vector<PortPlan>& plans, const Ports& open);
  // None of the new ports is open any more, and those that made room are again.
  void Undo(const PortChange& change);
  void SetGraph(const GatewayConfig& config, const std::shared_ptr<const Graph>& graph,
                const Ports& ports);
  void UpdateScrapers(const GatewayConfig& config, const std::shared_ptr<const Graph>& graph);

  Result<std::unique_ptr<Exporter>> MakeEnd(const ExporterConfig& config);
  // Where profiles of the receivers wait (`profiling.conditional`), or still do.
  void AddWaits(const GatewayConfig& config, std::map<std::string, ExporterConfig>& ends) const;

  const GatewayOptions options_;
  Inlet main_inlet_;
  ExporterSet exporters_;
  mutable Mutex mutex_;
  Ports ports_ GUARDED_BY(mutex_);
  Scrapers scrapers_ GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Inlet>> tail_inlets_ GUARDED_BY(mutex_);  // by TailId
  std::shared_ptr<const Graph> graph_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::gateway
