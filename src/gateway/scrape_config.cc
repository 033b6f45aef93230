#include "gateway/scrape_config.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/clock.h"
#include "base/text.h"
#include "net/url.h"

namespace wherefore::gateway {
namespace {

constexpr std::int64_t kDefaultInterval = 15 * kNsPerSecond;
constexpr std::int64_t kDefaultTimeout = 10 * kNsPerSecond;

// What is wrong and where. Caught in this file, like yaml-cpp's own exceptions.
class ConfigError : public std::runtime_error {
 public:
  ConfigError(const YAML::Node& at, const std::string& what)
      : std::runtime_error(fmt::format("line {}: {}", at.Mark().line + 1, what)) {}
};

void KnownKeys(const YAML::Node& map, std::initializer_list<std::string_view> known) {
  if (!map.IsMap()) throw ConfigError(map, "expected keys and values");
  for (const auto& entry : map) {
    const std::string key = entry.first.as<std::string>();
    if (std::ranges::find(known, key) == known.end()) {
      throw ConfigError(entry.first, fmt::format("there is no key \"{}\" here", key));
    }
  }
}

std::int64_t Duration(const YAML::Node& node, std::int64_t otherwise) {
  if (!node) return otherwise;
  const auto duration = ParseDuration(node.as<std::string>());
  if (!duration) throw ConfigError(node, duration.error().message());
  if (*duration < kNsPerSecond / 10) throw ConfigError(node, "too short");
  return *duration;
}

std::string Text(const YAML::Node& node, const std::string& otherwise = "") {
  return node ? node.as<std::string>() : otherwise;
}

// A list, or nothing.
YAML::Node List(const YAML::Node& node) {
  if (node && !node.IsNull() && !node.IsSequence()) throw ConfigError(node, "expected a list");
  return node;
}

TargetGroup ReadGroup(const YAML::Node& node) {
  KnownKeys(node, {"targets", "labels"});
  TargetGroup group;
  for (const auto& target : List(node["targets"]))
    group.targets.push_back(target.as<std::string>());
  for (const auto& label : node["labels"]) {
    group.labels[label.first.as<std::string>()] = label.second.as<std::string>();
  }
  return group;
}

std::vector<TargetGroup> ReadGroups(const YAML::Node& node) {
  std::vector<TargetGroup> groups;
  for (const auto& group : List(node)) groups.push_back(ReadGroup(group));
  return groups;
}

RelabelRule ReadRule(const YAML::Node& node) {
  KnownKeys(node, {"source_labels", "separator", "target_label", "regex", "modulus", "replacement",
                   "action"});
  RelabelRule::Spec spec;
  for (const auto& label : List(node["source_labels"])) {
    spec.source_labels.push_back(label.as<std::string>());
  }
  spec.separator = Text(node["separator"], spec.separator);
  spec.target_label = Text(node["target_label"]);
  spec.regex = Text(node["regex"], spec.regex);
  spec.replacement = Text(node["replacement"], spec.replacement);
  spec.action = Text(node["action"], spec.action);
  if (node["modulus"]) spec.modulus = node["modulus"].as<std::uint64_t>();
  auto rule = RelabelRule::Make(std::move(spec));
  if (!rule) throw ConfigError(node, rule.error().message());
  return *std::move(rule);
}

// profiling_config.pprof_config: enables, disables, moves or adds kinds by name.
void ReadKinds(const YAML::Node& node, ScrapeJob& job) {
  if (!node) return;
  KnownKeys(node, {"path_prefix", "pprof_config"});
  job.path_prefix = Text(node["path_prefix"]);
  for (const auto& entry : node["pprof_config"]) {
    KnownKeys(entry.second, {"enabled", "path", "delta"});
    const std::string name = entry.first.as<std::string>();
    auto kind = std::ranges::find(job.kinds, name, &ScrapeKind::name);
    if (kind == job.kinds.end()) {
      job.kinds.push_back({.name = name});
      kind = std::prev(job.kinds.end());
    }
    kind->path = Text(entry.second["path"], kind->path);
    if (kind->path.empty()) throw ConfigError(entry.second, "a custom kind needs a path");
    kind->enabled = !entry.second["enabled"] || entry.second["enabled"].as<bool>();
    if (entry.second["delta"]) kind->timed = entry.second["delta"].as<bool>();
  }
}

ScrapeJob ReadJob(const YAML::Node& node, std::int64_t interval_ns, std::int64_t timeout_ns,
                  const std::filesystem::path& folder) {
  KnownKeys(node, {"job_name", "scheme", "scrape_interval", "scrape_timeout", "bearer_token",
                   "static_configs", "file_sd_configs", "relabel_configs", "profiling_config"});
  ScrapeJob job;
  job.name = Text(node["job_name"]);
  if (job.name.empty()) throw ConfigError(node, "job_name is missing");
  job.scheme = Text(node["scheme"], "http");
  if (job.scheme != "http" && job.scheme != "https") {
    throw ConfigError(node["scheme"], "scheme is http or https");
  }
  job.interval_ns = Duration(node["scrape_interval"], interval_ns);
  job.timeout_ns = Duration(node["scrape_timeout"], timeout_ns);
  job.bearer_token = Text(node["bearer_token"]);
  job.groups = ReadGroups(node["static_configs"]);
  for (const auto& files : List(node["file_sd_configs"])) {
    KnownKeys(files, {"files", "refresh_interval"});  // files are watched all the time
    for (const auto& file : List(files["files"])) {
      job.files.push_back((folder / file.as<std::string>()).string());
    }
  }
  for (const auto& rule : List(node["relabel_configs"])) job.relabel.push_back(ReadRule(rule));
  ReadKinds(node["profiling_config"], job);
  return job;
}

ScrapeConfig ReadConfig(const YAML::Node& root, const std::filesystem::path& folder) {
  ScrapeConfig config;
  if (!root || root.IsNull()) return config;
  KnownKeys(root, {"global", "scrape_configs"});
  const YAML::Node global = root["global"];
  if (global) KnownKeys(global, {"scrape_interval", "scrape_timeout"});
  const YAML::Node none(YAML::NodeType::Undefined);
  const std::int64_t interval =
      Duration(global ? global["scrape_interval"] : none, kDefaultInterval);
  const std::int64_t timeout = Duration(global ? global["scrape_timeout"] : none, kDefaultTimeout);
  std::set<std::string> names;
  for (const auto& job : List(root["scrape_configs"])) {
    config.jobs.push_back(ReadJob(job, interval, timeout, folder));
    if (!names.insert(config.jobs.back().name).second) {
      throw ConfigError(job,
                        fmt::format("job_name \"{}\" is there twice", config.jobs.back().name));
    }
  }
  return config;
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error(Code::kIo, fmt::format("{}: cannot be read", path));
  return std::string{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Runs `read` on the parsed text; exceptions become errors with the file's name.
template <typename Read>
auto Parse(const std::string& text, const std::string& name, Read read)
    -> Result<decltype(read(YAML::Node()))> {
  try {
    return read(YAML::Load(text));
  } catch (const YAML::Exception& e) {
    return Error(Code::kInvalid, fmt::format("{}: line {}: {}", name, e.mark.line + 1, e.msg));
  } catch (const std::exception& e) {
    return Error(Code::kInvalid, fmt::format("{}: {}", name, e.what()));
  }
}

}  // namespace

std::vector<ScrapeKind> DefaultKinds() {
  return {{"process_cpu", "/debug/pprof/profile", true, true},
          {"memory", "/debug/pprof/allocs", false, true},
          {"goroutine", "/debug/pprof/goroutine", false, true},
          {"mutex", "/debug/pprof/mutex", false, true},
          {"block", "/debug/pprof/block", false, true},
          // Has the same content as "memory"; threads rarely matter.
          {"heap", "/debug/pprof/heap", false, false},
          {"threadcreate", "/debug/pprof/threadcreate", false, false}};
}

Result<ScrapeConfig> ParseScrapeConfig(const std::string& text, const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(name).parent_path();
  return Parse(text, name, [&](const YAML::Node& root) { return ReadConfig(root, folder); });
}

Result<ScrapeConfig> ReadScrapeConfig(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseScrapeConfig(text, path);
}

Result<ScrapeJob> ParseScrapeTarget(std::string_view text) {
  ScrapeJob job;
  job.interval_ns = kDefaultInterval;
  job.timeout_ns = kDefaultTimeout;
  const std::size_t scheme = text.find("://");
  const std::size_t equals = text.find('=');
  TargetGroup group;
  if (equals < scheme) {
    group.labels["service_name"] = std::string(text.substr(0, equals));
    text.remove_prefix(equals + 1);
  }
  const auto url = net::ParseUrl(text);
  if (!url) {
    return Error(Code::kInvalid, "--scrape: " + url.error().message());
  }
  job.scheme = url->tls ? "https" : "http";
  job.name = group.labels.contains("service_name") ? group.labels["service_name"] : url->authority;
  job.path_prefix = url->target == "/" ? "" : url->target;
  group.targets.push_back(url->authority);
  job.groups.push_back(std::move(group));
  return job;
}

Result<std::vector<TargetGroup>> ReadTargetFile(const std::string& path) {
  WHEREFORE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return Parse(text, path, [](const YAML::Node& root) { return ReadGroups(root); });
}

std::vector<std::string> ExpandPattern(const std::string& pattern) {
  const std::filesystem::path path(pattern);
  const std::string last = path.filename().string();
  if (last.find_first_of("*?[") == std::string::npos) return {pattern};
  std::vector<std::string> files;
  std::error_code error;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (fnmatch(last.c_str(), entry.path().filename().c_str(), FNM_PERIOD) == 0) {
      files.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<ScrapeTarget> TargetsOf(const ScrapeJob& job,
                                    const std::vector<TargetGroup>& from_files) {
  std::vector<ScrapeTarget> out;
  const auto add = [&](const TargetGroup& group) {
    for (const std::string& address : group.targets) {
      LabelMap labels = group.labels;
      labels.try_emplace("job", job.name);
      labels["__address__"] = address;
      labels["__scheme__"] = job.scheme;
      labels["__profile_path_prefix__"] = job.path_prefix;
      if (!Relabel(job.relabel, labels) || labels["__address__"].empty()) continue;
      labels.try_emplace("instance", labels["__address__"]);
      labels.try_emplace("service_name", labels["job"]);
      ScrapeTarget target{.url =
                              fmt::format("{}://{}{}", labels["__scheme__"], labels["__address__"],
                                          labels["__profile_path_prefix__"])};
      for (auto& [name, value] : labels) {
        if (!name.starts_with("__") && !value.empty()) target.labels[name] = value;
      }
      if (std::ranges::find(out, target) == out.end()) out.push_back(std::move(target));
    }
  };
  for (const TargetGroup& group : job.groups) add(group);
  for (const TargetGroup& group : from_files) add(group);
  return out;
}

}  // namespace wherefore::gateway
