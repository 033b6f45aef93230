// GatewayConfig: what a configuration says, read and checked: components, pipelines, the service
// and `profiling:`.
//
// ReadGatewayConfig opens nothing and starts nothing, so `wherefore check` and a reload use it too.
// Plain data afterwards; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "formats/formats.h"
#include "gateway/config/profiling_settings.h"
#include "gateway/config/sources.h"
#include "gateway/export/exporter.h"
#include "gateway/process/processor.h"
#include "gateway/process/redact_rules.h"
#include "gateway/process/tail_policy.h"
#include "gateway/scrape_config.h"
#include "settings/node.h"
#include "settings/problems.h"

namespace wherefore::gateway {

// One port a receiver opens.
struct PortConfig {
  std::string host;  // "0.0.0.0"; "localhost" and "" are both loopback addresses
  std::uint16_t port = 0;
  bool given = false;  // the endpoint stands in the file
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_client_ca;  // authorities of clients, which must show a certificate
  std::string token;          // of its own authenticator; empty: the server's
  bool own_auth = false;      // has an authenticator
  std::uint64_t max_bytes = 64u << 20;
  std::string traces_path;  // empty: OTLP's
  std::string profiles_path;

  bool operator==(const PortConfig&) const = default;
};

struct ReceiverConfig {
  enum class Kind : std::uint8_t { kOtlp, kPyroscope, kPprof };
  std::string id;
  settings::Place place;
  Kind kind = Kind::kOtlp;
  std::optional<PortConfig> grpc;
  std::optional<PortConfig> http;
  ScrapeConfig scrape;    // kPprof
  std::string canonical;  // what it is made of, to tell whether a reload changes it
};

struct ProcessorConfig {
  std::string id;
  settings::Place place;
  bool traces_only = false;
  std::function<std::unique_ptr<Processor>()> make;  // null for `batch`
  std::optional<BatchOptions> batch;
  std::shared_ptr<const RedactRules> redact;
  std::shared_ptr<const TailOptions> tail;  // tail_sampling
  std::string canonical;  // what it is made of, to tell whether a reload changes it
};

// An exporter; or tail_sampling in a pipeline, which is one towards what is before it.
struct ExporterConfig {
  std::string id;
  settings::Place place;
  bool is_store = false;  // `wherefore`
  ExporterOptions options;
  std::string storage;                      // the id of a file_storage extension
  std::shared_ptr<const TailOptions> tail;  // then `options` have its id and queue
  bool waits = false;                       // profiles of a receiver, for `conditional`: likewise
  std::shared_ptr<const ProfilingConditional> conditional;  // null: switched off meanwhile
  std::string canonical;                                    // what it is made of
};

struct PipelineConfig {
  std::string id;
  settings::Place place;
  formats::Signal signal = formats::Signal::kProfiles;
  std::vector<std::string> receivers;
  std::vector<std::string> processors;
  std::vector<std::string> exporters;
};

struct HealthCheckConfig {
  std::string host;
  std::uint16_t port = 13133;
  std::string path = "/";

  bool operator==(const HealthCheckConfig&) const = default;
};

// serve's own options, by name, as they stand in `wherefore:`.
struct ServeSetting {
  std::string name;
  std::vector<std::string> values;
  settings::Place place;
};

struct GatewayConfig {
  bool has_service = false;                         // else: today's ports, into the store
  std::map<std::string, ReceiverConfig> receivers;  // only those that a pipeline names
  std::map<std::string, ProcessorConfig> processors;
  std::map<std::string, ExporterConfig> exporters;
  std::vector<PipelineConfig> pipelines;
  std::map<std::string, ExporterConfig> tails;  // tail_sampling, by TailId
  std::optional<HealthCheckConfig> health_check;
  std::optional<LogLevel> log_level;
  bool no_component_metrics = false;  // service.telemetry.metrics.level: none
  std::optional<ProfilingSettings> profiling;
  std::vector<ServeSetting> serve;

  [[nodiscard]] bool UsesStore() const;
};

// "traces tail_sampling"
[[nodiscard]] inline std::string TailId(const std::string& pipeline, const std::string& processor) {
  return pipeline + " " + processor;
}

// "otlp conditional": where profiles of a receiver wait.
[[nodiscard]] inline std::string WaitId(const std::string& receiver) {
  return receiver + " conditional";
}

// The rules of the redact processors on the way to the store.
[[nodiscard]] std::vector<std::shared_ptr<const RedactRules>> RulesBeforeStore(
    const GatewayConfig& config);

// Check `problems` before using the result. `data`: the server's data directory, where queues are.
[[nodiscard]] GatewayConfig ReadGatewayConfig(const settings::Node& root, const std::string& data,
                                              settings::Problems& problems);

// From the sources to the result.
[[nodiscard]] GatewayConfig LoadGatewayConfig(const ConfigSources& sources, const std::string& data,
                                              const Lookup& lookup, settings::Problems& problems);

}  // namespace wherefore::gateway
