#include "cli/serve_options.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/token.h"

namespace wherefore::cli {
namespace {

bool IsLoopback(const std::string& address) {
  return address.empty() || address == "localhost" || address == "::1" ||
         address.starts_with("127.");
}

// Gives an option a value from a file, unless the command line did. An error says what is wrong.
Result<> SetOption(CLI::App& command, const std::string& name,
                   const std::vector<std::string>& values) {
  CLI::Option* option = name == "config" || name == "set" || name == "help"
                            ? nullptr
                            : command.get_option_no_throw("--" + name);
  if (option == nullptr) {
    return Error(Code::kInvalid, fmt::format("there is no option '{}'", name));
  }
  if (option->count() > 0) return {};  // given on the command line
  try {
    for (const std::string& value : values) option->add_result(value);
    option->run_callback();
  } catch (const CLI::Error& e) {
    return Error(Code::kInvalid, e.what());
  }
  return {};
}

// Lines of 'name = value' (or 'name: value'); # starts a comment; quotes around a value are
// dropped. An unknown name or invalid value is an error with its line.
Result<> ReadOptionLines(const std::string& path, CLI::App& command) {
  std::ifstream in(path);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::string_view text = Trim(line);
    if (text.empty() || text[0] == '#') continue;
    const auto fail = [&](std::string_view what) {
      return Error(Code::kInvalid, fmt::format("{}:{}: {}", path, number, what));
    };
    const std::size_t split = text.find_first_of("=:");
    if (split == std::string_view::npos) return fail("expected name = value");
    const std::string name(Trim(text.substr(0, split)));
    std::string_view value = Trim(text.substr(split + 1));
    if (value.size() >= 2 && value.front() == value.back() &&
        (value[0] == '"' || value[0] == '\'')) {
      value = value.substr(1, value.size() - 2);
    }
    if (const Result<> set = SetOption(command, name, {std::string(value)}); !set) {
      return fail(set.error().message());
    }
  }
  return {};
}

// The token these options give, "" if none; clears them.
Result<std::string> TakeToken(ServeOptions& o) {
  std::string token = std::exchange(o.token, {});
  const std::string file = std::exchange(o.token_file, {});
  if (file.empty()) return token;
  if (!token.empty()) return Error(Code::kInvalid, "--token and --token-file: give one of them");
  return ReadToken(file);
}

bool IsPipelineFile(const std::string& path) {
  const Result<std::string> text = gateway::ReadConfigFile(path);
  return text && gateway::IsPipelineConfig(*text);
}

// The options under `wherefore:`.
Result<> ReadYamlOptions(const ServeOptions& options, CLI::App& command) {
  settings::Problems problems;
  const gateway::GatewayConfig config = gateway::LoadGatewayConfig(
      options.Sources(), options.data, gateway::FromEnvironment, problems);
  for (const gateway::ServeSetting& setting : config.serve) {
    if (const Result<> set = SetOption(command, setting.name, setting.values); !set) {
      return Error::At(Code::kInvalid, setting.place.Text(), set.error().message());
    }
  }
  return {};
}

}  // namespace

Result<> ServeOptions::Validate() const {
  if (store != "embedded") {
    return Error(Code::kInvalid, fmt::format("--store {}: only 'embedded' is supported", store));
  }
  if (!IsLoopback(listen) && token.empty() && !no_token) {
    return Error(Code::kInvalid,
                 fmt::format("--listen {} lets other machines in: give --token-file FILE (or "
                             "WHEREFORE_TOKEN), or --no-token",
                             listen));
  }
  if (!repository_template.empty() && !repository_template.starts_with("https://") &&
      !repository_template.starts_with("http://")) {
    return Error(Code::kInvalid,
                 fmt::format("--repository-template {}: expected an http(s) address such as "
                             "https://host/{{service}}/blob/{{version}}/{{path}}#L{{line}}",
                             repository_template));
  }
  if (!limits.tenant_retention.empty() && !tenants) {
    return Error(Code::kInvalid, "--tenant-retention needs --tenants");
  }
  if (tls_certificate.empty() != tls_key.empty()) {
    return Error(Code::kInvalid, "--tls-certificate and --tls-key go together");
  }
  return {};
}

gateway::ConfigSources ServeOptions::Sources() const {
  gateway::ConfigSources sources{.sets = sets};
  std::ranges::copy_if(configs, std::back_inserter(sources.files), IsPipelineFile);
  return sources;
}

Result<> ReadServeFiles(CLI::App& command, const std::string& token_from_environment,
                        ServeOptions& o) {
  if (!o.token.empty()) {
    fmt::print(stderr,
               "warning: --token shows the token to other users of this machine for a moment, and "
               "to whoever reads the shell's history; --token-file FILE and WHEREFORE_TOKEN do "
               "not\n");
  }
  WHEREFORE_ASSIGN_OR_RETURN(std::string token, TakeToken(o));
  if (token.empty()) token = token_from_environment;
  for (const std::string& file : o.configs) {
    if (!IsPipelineFile(file)) WHEREFORE_RETURN_IF_ERROR(ReadOptionLines(file, command));
  }
  WHEREFORE_RETURN_IF_ERROR(ReadYamlOptions(o, command));
  WHEREFORE_ASSIGN_OR_RETURN(o.token, TakeToken(o));
  if (!token.empty()) o.token = std::move(token);
  return {};
}

Result<gateway::GatewayConfig> LoadPipelines(const ServeOptions& options) {
  settings::Problems problems;
  gateway::GatewayConfig config = gateway::LoadGatewayConfig(options.Sources(), options.data,
                                                             gateway::FromEnvironment, problems);
  std::string errors;
  for (const settings::Problem& problem : problems.list()) {
    if (problem.warning) {
      Log(LogLevel::kWarn, "configuration", {{"at", problem.place.Text()}, {"what", problem.what}});
    } else {
      errors += (errors.empty() ? "" : "\n") + problem.Text();
    }
  }
  if (problems.failed()) return Error(Code::kInvalid, errors);
  return config;
}

void ServeOptions::AddTo(CLI::App& command) {
  command
      .add_option("--config", configs,
                  "File with these options, one 'name = value' per line, or pipelines in YAML "
                  "(docs/gateway.md); repeatable, later ones win; the command line overrides them")
      ->check(CLI::ExistingFile)
      ->allow_extra_args(false);
  command
      .add_option("--set", sets,
                  "One value of the YAML configuration (repeatable): "
                  "exporters.otlphttp.endpoint=http://host:4318")
      ->allow_extra_args(false);
  command.add_option("--data", data, "Data directory")->capture_default_str();
  command.add_option("--store", store, "Where rows live: embedded")->capture_default_str();
  command.add_option("--listen", listen, "Address to listen on (default: loopback, IPv4 and IPv6)");
  command
      .add_option("--http-port", http_port,
                  "Page, API and every OTLP/HTTP path; 0 picks a free one")
      ->capture_default_str();
  command.add_option("--otlp-grpc-port", otlp_grpc_port, "OTLP over gRPC; 0 picks a free one")
      ->capture_default_str();
  command.add_option("--otlp-http-port", otlp_http_port, "OTLP over HTTP; 0 picks a free one")
      ->capture_default_str();
  command.add_option("--opamp-port", opamp_port,
                     "OpAMP alone, by which SDKs ask how to profile; 0 picks a free one (default: "
                     "4320, if it is free)");
  limits.AddTo(command);
  command
      .add_option("--backup-root", backup_root,
                  "Folder below which `wherefore backup` may write (default: no backups)")
      ->check(CLI::ExistingDirectory);
  command.add_option("--scrape", scrape,
                     "Fetch pprof profiles from a program every 15 s (repeatable): "
                     "http://host:6060 or service=http://host:6060");
  command
      .add_option("--scrape-config", scrape_config,
                  "YAML file of programs to scrape, similar to Prometheus' (docs/scraping.md)")
      ->check(CLI::ExistingFile);
  command.add_flag("--tenants", tenants, "Keep data of different X-Scope-OrgID headers apart");
  command.add_flag("--keep-payload", keep_payload,
                   "Store the original file a sender attached, too");
  command
      .add_option("--symbol-path", symbol_path,
                  "Folder to look in for programs and debug files of profiled modules, by build id "
                  "(repeatable); their own path and /usr/lib/debug are looked in anyway")
      ->check(CLI::ExistingDirectory);
  command.add_flag("--no-symbols", no_symbols,
                   "Do not read local programs: functions keep the names that were sent");
  command.add_flag("--no-sql", no_sql, "Do not answer statements in SQL (docs/sql.md)");
  command.add_option("--token-file", token_file,
                     "File with the bearer token every request must carry (else "
                     "WHEREFORE_TOKEN)");
  command.add_option("--token", token,
                     "The token itself: other users of this machine may see it; better a file");
  command.add_flag("--no-token", no_token, "Allow access without a token");
  command.add_option("--tls-certificate", tls_certificate, "PEM file")->check(CLI::ExistingFile);
  command.add_option("--tls-key", tls_key, "PEM file")->check(CLI::ExistingFile);
  command.add_option("--allow-host", allowed_hosts,
                     "Host name browsers may use in addition to loopback names (repeatable)");
  command
      .add_option("--source-root", source_roots,
                  "Folder whose files the page may show where profiles name them (repeatable)")
      ->check(CLI::ExistingDirectory);
  command.add_option("--repository-template", repository_template,
                     "Link to a line of source: "
                     "https://host/{service}/blob/{version}/{path}#L{line}");
  command
      .add_option("--alerts", alerts,
                  "YAML file of rules of alerts and their receivers (docs/alerts.md); read again "
                  "when it changes")
      ->check(CLI::ExistingFile);
  command
      .add_option("--regressions-budget", regressions_budget,
                  "Percent of one core that looking for regressions may take; 0 switches it off")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  command
      .add_option("--rules", rules,
                  "Folder of insight rules (*.yaml) beside those that are shipped; the same id "
                  "overrules")
      ->check(CLI::ExistingDirectory);
  command.add_flag("--profile-self", profile_self,
                   "Profile this server into its own store, as service 'wherefore'");
  command.add_option("--log-level", log_level, "debug, info, warn, error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
}

}  // namespace wherefore::cli
