// serve's options: on the command line, and in files given with --config. One thread.
//
// A file with one of the gateway's root keys (receivers, service, profiling, ...) is YAML:
// pipelines, and these options by name under `wherefore:`. Any other is lines of `name = value`.
// The command line goes before both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cli/serve_limits.h"
#include "gateway/config/gateway_config.h"

namespace wherefore::cli {

struct ServeOptions {
  std::string data = "data";
  std::string store = "embedded";
  std::string listen;
  std::uint16_t http_port = 4040;
  std::uint16_t otlp_grpc_port = 4317;
  std::uint16_t otlp_http_port = 4318;
  std::optional<std::uint16_t> opamp_port;  // not given: 4320, if it is free
  LimitOptions limits;
  std::string backup_root;
  std::vector<std::string> scrape;
  std::string scrape_config;
  bool tenants = false;
  bool keep_payload = false;
  std::vector<std::string> symbol_path;
  bool no_symbols = false;
  bool no_sql = false;
  std::string token;
  std::string token_file;
  bool no_token = false;
  std::string tls_certificate;
  std::string tls_key;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> source_roots;
  std::string repository_template;
  std::string rules;                // folder; empty: those that are shipped only
  std::string alerts;               // file of rules; empty: those given through the API only
  double regressions_budget = 0.5;  // percent of one core; 0: nothing is looked at
  bool profile_self = false;
  std::string log_level = "info";
  std::vector<std::string> configs;
  std::vector<std::string> sets;

  void AddTo(CLI::App& command);
  [[nodiscard]] Result<> Validate() const;
  // The YAML files among `configs`, and `sets`.
  [[nodiscard]] gateway::ConfigSources Sources() const;
};

// Reads the files and the token. Precedence: command line, environment (the token alone), files.
[[nodiscard]] Result<> ReadServeFiles(CLI::App& command, const std::string& token_from_environment,
                                      ServeOptions& options);

// The gateway's configuration. Problems are printed: warnings to the log, errors all at once.
[[nodiscard]] Result<gateway::GatewayConfig> LoadPipelines(const ServeOptions& options);

}  // namespace wherefore::cli
