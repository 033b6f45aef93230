#include "gateway/config/gateway_config.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "gateway/config/component_tables.h"
#include "gateway/config/fields.h"
#include "net/url.h"

namespace wherefore::gateway {
namespace {

template <typename Map>
std::vector<std::string_view> KeysOf(const Map& map) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

std::string_view TypeOf(std::string_view id) {
  return id.substr(0, id.find('/'));
}

bool IsId(std::string_view id) {
  const std::size_t slash = id.find('/');
  return slash != 0 && slash + 1 != id.size() && !id.contains(' ');
}

// Reads all components of one root key. Unknown types are errors even if nobody uses them.
template <typename Config>
std::map<std::string, Config> ReadComponents(const Node& root, std::string_view section,
                                             const ComponentTypes<Config>& types,
                                             Problems& problems) {
  std::map<std::string, Config> all;
  const Node* const node = root.Find(section);
  if (node == nullptr || !ExpectMap(*node, section, problems)) return all;
  std::vector<std::string_view> names;
  for (const auto& type : types) names.push_back(type.name);
  for (const Entry& entry : node->entries) {
    const std::string_view type = TypeOf(entry.key);
    const auto known = std::ranges::find(types, type, &ComponentType<Config>::name);
    if (!IsId(entry.key)) {
      problems.Fail(entry.place, fmt::format("`{}`: expected type or type/name", entry.key));
    } else if (known == types.end()) {
      problems.Fail(entry.place, fmt::format("{}: there is no type `{}`{}", section, type,
                                             WhatExists(type, names)));
    } else if (ExpectMap(entry.value, entry.key, problems)) {
      Config config;
      config.id = entry.key;
      config.place = entry.place;
      known->read(entry.value, config, problems);
      if constexpr (requires { config.canonical; }) {
        config.canonical = CanonicalText(entry.value);
      }
      all.emplace(entry.key, std::move(config));
    }
  }
  return all;
}

// Lists of component ids, with the place of each.
struct Name {
  std::string text;
  Place place;
};

auto Names(auto member) {
  return [member](const Entry& entry, auto& out, Problems& problems) {
    if (!ExpectList(entry.value, entry.key, problems)) return;
    for (const Node& item : entry.value.items) {
      auto text = ReadText(item);
      if (text) {
        std::invoke(member, out).push_back({*std::move(text), item.place});
      } else {
        problems.Fail(item.place,
                      fmt::format("`{}`: expected a name, not {}", entry.key, item.Description()));
      }
    }
  };
}

struct WrittenPipeline {
  std::vector<Name> receivers;
  std::vector<Name> processors;
  std::vector<Name> exporters;
};

struct WrittenTelemetry {
  std::optional<LogLevel> log_level;
  std::string metrics_level;
};

struct WrittenService {
  std::vector<Name> extensions;
  const Node* pipelines = nullptr;
  WrittenTelemetry telemetry;
};

// `level` is obeyed, everything else there is for the collector's own telemetry.
template <typename Read>
auto OnlyLevel(Read read) {
  return [read](const Entry& entry, WrittenTelemetry& out, Problems& problems) {
    if (!ExpectMap(entry.value, entry.key, problems)) return;
    for (const Entry& inner : entry.value.entries) {
      if (inner.key == "level") {
        read(inner, out, problems);
      } else {
        problems.Warn(inner.place, fmt::format("`{}` has no effect here", inner.key));
      }
    }
  };
}

void ReadTelemetry(const Entry& entry, WrittenService& out, Problems& problems) {
  static const auto log_level =
      Choice(&WrittenTelemetry::log_level,
             std::vector<std::pair<std::string_view, LogLevel>>{{"debug", LogLevel::kDebug},
                                                                {"DEBUG", LogLevel::kDebug},
                                                                {"info", LogLevel::kInfo},
                                                                {"INFO", LogLevel::kInfo},
                                                                {"warn", LogLevel::kWarn},
                                                                {"WARN", LogLevel::kWarn},
                                                                {"error", LogLevel::kError},
                                                                {"ERROR", LogLevel::kError}});
  static const auto metrics_level =
      OneOf(&WrittenTelemetry::metrics_level, {"none", "basic", "normal", "detailed"});
  if (!ExpectMap(entry.value, entry.key, problems)) return;
  for (const Entry& part : entry.value.entries) {
    if (part.key == "logs") {
      OnlyLevel(log_level)(part, out.telemetry, problems);
    } else if (part.key == "metrics") {
      OnlyLevel(metrics_level)(part, out.telemetry, problems);
    } else {
      problems.Warn(part.place, fmt::format("`{}` has no effect here", part.key));
    }
  }
}

WrittenService ReadService(const Node& root, Problems& problems) {
  static const Fields<WrittenService> kFields = {
      {"extensions", Names(&WrittenService::extensions)},
      {"pipelines", [](const Entry& entry, WrittenService& out,
                       Problems& /*problems*/) { out.pipelines = &entry.value; }},
      {"telemetry", ReadTelemetry},
  };
  WrittenService service;
  const Node* const node = root.Find("service");
  if (node == nullptr || !ExpectMap(*node, "service", problems)) return service;
  ReadMap(*node, kFields, service, problems);
  return service;
}

// The extensions that service.extensions names.
Extensions StartedExtensions(const Extensions& all, const std::vector<Name>& names,
                             Problems& problems) {
  Extensions started;
  for (const Name& name : names) {
    const auto found = all.find(name.text);
    if (found == all.end()) {
      problems.Fail(name.place, fmt::format("extension `{}` is not defined{}", name.text,
                                            WhatExists(name.text, KeysOf(all))));
    } else {
      started.insert(*found);
    }
  }
  return started;
}

// Checks the pipelines against the components they name.
class PipelineReader {
 public:
  PipelineReader(const GatewayConfig& config, Problems& problems)
      : config_(config), problems_(problems) {}

  std::vector<PipelineConfig> Read(const Node& node) {
    std::vector<PipelineConfig> pipelines;
    if (!ExpectMap(node, "pipelines", problems_)) return pipelines;
    for (const Entry& entry : node.entries) {
      if (auto pipeline = ReadOne(entry)) pipelines.push_back(*std::move(pipeline));
    }
    return pipelines;
  }

 private:
  std::optional<PipelineConfig> ReadOne(const Entry& entry) {
    static const Fields<WrittenPipeline> kFields = {
        {"receivers", Names(&WrittenPipeline::receivers)},
        {"processors", Names(&WrittenPipeline::processors)},
        {"exporters", Names(&WrittenPipeline::exporters)}};
    static constexpr std::array<std::string_view, 2> kSignals = {"traces", "profiles"};
    PipelineConfig pipeline{.id = entry.key, .place = entry.place};
    const std::string_view signal = TypeOf(entry.key);
    if (signal == "metrics" || signal == "logs") {
      problems_.Fail(
          entry.place,
          fmt::format("pipeline `{}`: this server takes profiles and traces only", entry.key));
      return std::nullopt;
    }
    if (std::ranges::find(kSignals, signal) == kSignals.end() || !IsId(entry.key)) {
      problems_.Fail(entry.place, fmt::format("pipeline `{}`: expected traces, profiles, or one of "
                                              "them with a name (traces/x){}",
                                              entry.key, WhatExists(signal, kSignals)));
      return std::nullopt;
    }
    pipeline.signal = signal == "traces" ? formats::Signal::kTraces : formats::Signal::kProfiles;
    if (!ExpectMap(entry.value, entry.key, problems_)) return std::nullopt;
    WrittenPipeline written;
    ReadMap(entry.value, kFields, written, problems_);
    pipeline.receivers = Resolve(written.receivers, "receiver", config_.receivers);
    pipeline.processors = Resolve(written.processors, "processor", config_.processors);
    pipeline.exporters = Resolve(written.exporters, "exporter", config_.exporters);
    Check(pipeline, written);
    return pipeline;
  }

  template <typename Config>
  std::vector<std::string> Resolve(const std::vector<Name>& names, std::string_view what,
                                   const std::map<std::string, Config>& defined) {
    std::vector<std::string> found;
    for (const Name& name : names) {
      if (!defined.contains(name.text)) {
        problems_.Fail(name.place, fmt::format("{} `{}` is not defined{}", what, name.text,
                                               WhatExists(name.text, KeysOf(defined))));
      } else if (std::ranges::find(found, name.text) != found.end()) {
        problems_.Fail(name.place, fmt::format("{} `{}` is named twice", what, name.text));
      } else {
        found.push_back(name.text);
      }
    }
    return found;
  }

  void Check(const PipelineConfig& pipeline, const WrittenPipeline& written) {
    if (written.receivers.empty()) {
      problems_.Fail(pipeline.place, fmt::format("pipeline `{}` has no receiver", pipeline.id));
    }
    if (written.exporters.empty()) {
      problems_.Fail(pipeline.place, fmt::format("pipeline `{}` has no exporter", pipeline.id));
    }
    if (pipeline.signal == formats::Signal::kTraces) {
      for (const std::string& id : pipeline.receivers) {
        const auto kind = config_.receivers.at(id).kind;
        if (kind == ReceiverConfig::Kind::kPprof) {
          problems_.Fail(pipeline.place, fmt::format("receiver `{}` gives profiles only", id));
        }
      }
      for (const std::string& id : pipeline.exporters) {
        const ExporterConfig& exporter = config_.exporters.at(id);
        if (!exporter.is_store && exporter.options.kind == ExporterOptions::Kind::kPyroscope) {
          problems_.Fail(pipeline.place, fmt::format("exporter `{}` takes profiles only", id));
        }
      }
      return;
    }
    for (const Name& name : written.processors) {
      const auto found = config_.processors.find(name.text);
      if (found != config_.processors.end() && found->second.traces_only) {
        problems_.Fail(name.place, fmt::format("processor `{}` takes traces only", name.text));
      }
    }
  }

  const GatewayConfig& config_;
  Problems& problems_;
};

// What no pipeline names is not started.
void RemoveUnused(GatewayConfig& config) {
  std::set<std::string> receivers;
  std::set<std::string> exporters;
  for (const PipelineConfig& p : config.pipelines) {
    receivers.insert(p.receivers.begin(), p.receivers.end());
    exporters.insert(p.exporters.begin(), p.exporters.end());
  }
  std::erase_if(config.receivers, [&](const auto& r) { return !receivers.contains(r.first); });
  std::erase_if(config.exporters, [&](const auto& e) { return !exporters.contains(e.first); });
}

// `batch` in a pipeline says how the queues of its exporters are emptied, unless they say so
// themselves.
void SpreadBatches(GatewayConfig& config, Problems& problems) {
  std::map<std::string, std::string> from;  // exporter: the processor it has its batch of
  for (const PipelineConfig& pipeline : config.pipelines) {
    for (const std::string& id : pipeline.processors) {
      const ProcessorConfig& processor = config.processors.at(id);
      if (!processor.batch) continue;
      for (const std::string& name : pipeline.exporters) {
        ExporterConfig& exporter = config.exporters.at(name);
        const auto [first, added] = from.try_emplace(name, id);
        if (!added && first->second != id) {
          problems.Warn(processor.place,
                        fmt::format("exporter `{}` is emptied as `{}` says, not as `{}`", name,
                                    first->second, id));
        } else if (added && !exporter.options.queue.batch) {
          exporter.options.queue.batch = processor.batch;
        }
      }
    }
  }
}

// Each exporter's queue has a directory of its own.
void PlaceQueues(GatewayConfig& config, const Extensions& extensions, const std::string& data,
                 Problems& problems) {
  for (auto& [id, exporter] : config.exporters) {
    std::string folder = data + "/queue";
    if (!exporter.storage.empty()) {
      const auto found = extensions.find(exporter.storage);
      if (found == extensions.end() || found->second.directory.empty()) {
        problems.Fail(exporter.place,
                      fmt::format("`storage`: `{}` is not a file_storage extension in "
                                  "service.extensions",
                                  exporter.storage));
        continue;
      }
      folder = found->second.directory;
    }
    exporter.options.queue.directory = folder + "/" + net::PercentEncode(id);
  }
}

bool IsOwnHost(std::string_view host) {
  return host.empty() || host == "localhost" || host == "::1" || host == "0.0.0.0" ||
         host == "::" || host.starts_with("127.");
}

// Host and port of an exporter's address; none if it has none.
std::optional<std::pair<std::string, std::uint16_t>> TargetOf(const std::string& endpoint) {
  if (const auto url = net::ParseUrl(endpoint)) return std::pair(url->host, url->port);
  Problems ignored;
  std::pair<std::string, std::uint16_t> target;
  if (!ReadEndpoint(endpoint, {}, target.first, target.second, ignored)) return std::nullopt;
  return target;
}

// Two receivers cannot share a port, and nothing may be sent to a port of this server: it would go
// round for ever.
void CheckPorts(const GatewayConfig& config, Problems& problems) {
  std::map<std::uint16_t, std::string> ports;
  for (const auto& [id, receiver] : config.receivers) {
    for (const auto* port : {&receiver.grpc, &receiver.http}) {
      if (!*port || (*port)->port == 0) continue;
      const auto [first, added] = ports.try_emplace((*port)->port, id);
      if (!added) {
        problems.Fail(receiver.place, fmt::format("`{}` and `{}` both want port {}", first->second,
                                                  id, (*port)->port));
      }
    }
  }
  for (const auto& [id, exporter] : config.exporters) {
    const ExporterOptions& o = exporter.options;
    for (const std::string& endpoint : {o.endpoint, o.traces_endpoint, o.profiles_endpoint}) {
      const auto target = endpoint.empty() ? std::nullopt : TargetOf(endpoint);
      if (!target || !IsOwnHost(target->first) || !ports.contains(target->second)) continue;
      problems.Fail(exporter.place,
                    fmt::format("exporter `{}` would send to receiver `{}` of this server: {}", id,
                                ports[target->second], endpoint));
    }
  }
}

std::vector<ServeSetting> ReadServeSettings(const Node& root, Problems& problems) {
  std::vector<ServeSetting> settings;
  const Node* const node = root.Find("wherefore");
  if (node == nullptr || !ExpectMap(*node, "wherefore", problems)) return settings;
  for (const Entry& entry : node->entries) {
    ServeSetting setting{.name = entry.key, .place = entry.place};
    std::ranges::replace(setting.name, '_', '-');
    std::vector<const Node*> values = {&entry.value};
    if (entry.value.kind == Node::Kind::kList) {
      values.clear();
      for (const Node& item : entry.value.items) values.push_back(&item);
    }
    for (const Node* value : values) {
      const auto text = ReadText(*value);
      if (text) {
        setting.values.push_back(*text);
      } else if (!value->is_null()) {
        problems.Fail(value->place, fmt::format("`{}`: expected a value, not {}", entry.key,
                                                value->Description()));
      }
    }
    if (!setting.values.empty()) settings.push_back(std::move(setting));
  }
  return settings;
}

void CheckRootKeys(const Node& root, Problems& problems) {
  for (const Entry& entry : root.entries) {
    if (entry.key == "connectors" && !entry.value.is_null()) {
      problems.Fail(entry.place,
                    "connectors: this server takes profiles and traces only, and has "
                    "no connectors");
    } else if (std::ranges::find(kRootKeys, entry.key) == kRootKeys.end()) {
      FailUnknownKey(entry, kRootKeys, problems);
    }
  }
}

}  // namespace

std::string CanonicalText(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::kNull:
      return "~";
    case Node::Kind::kScalar:
      return fmt::format("{:?}{}", node.text, node.quoted ? "q" : "");
    case Node::Kind::kList:
      for (const Node& item : node.items) text += CanonicalText(item) + ",";
      return "[" + text + "]";
    case Node::Kind::kMap:
      for (const Entry& entry : node.entries) {
        text += fmt::format("{:?}:{},", entry.key, CanonicalText(entry.value));
      }
      return "{" + text + "}";
  }
  return text;
}

bool GatewayConfig::UsesStore() const {
  return !has_service ||
         std::ranges::any_of(exporters, [](const auto& entry) { return entry.second.is_store; });
}

std::vector<std::shared_ptr<const RedactRules>> RulesBeforeStore(const GatewayConfig& config) {
  std::vector<std::shared_ptr<const RedactRules>> rules;
  for (const PipelineConfig& pipeline : config.pipelines) {
    const auto is_store = [&](const std::string& id) { return config.exporters.at(id).is_store; };
    if (std::ranges::none_of(pipeline.exporters, is_store)) continue;
    for (const std::string& id : pipeline.processors) {
      const auto& redact = config.processors.at(id).redact;
      if (redact) rules.push_back(redact);
    }
  }
  return rules;
}

GatewayConfig ReadGatewayConfig(const Node& root, const std::string& data, Problems& problems) {
  GatewayConfig config;
  CheckRootKeys(root, problems);
  const WrittenService service = ReadService(root, problems);
  const auto all_extensions = ReadComponents(root, "extensions", ExtensionTypes(), problems);
  const Extensions extensions = StartedExtensions(all_extensions, service.extensions, problems);
  config.receivers = ReadComponents(root, "receivers", ReceiverTypes(extensions), problems);
  config.processors = ReadComponents(root, "processors", ProcessorTypes(), problems);
  config.exporters = ReadComponents(root, "exporters", ExporterTypes(), problems);
  config.has_service = root.Find("service") != nullptr;
  if (config.has_service) {
    const Node* const node = root.Find("service");
    if (service.pipelines == nullptr || service.pipelines->entries.empty()) {
      problems.Fail(node->place, "`service` needs `pipelines`");
    } else {
      config.pipelines = PipelineReader(config, problems).Read(*service.pipelines);
    }
  }
  config.log_level = service.telemetry.log_level;
  config.no_component_metrics = service.telemetry.metrics_level == "none";
  for (const auto& [id, extension] : extensions) {
    if (TypeOf(id) == "health_check") config.health_check = extension.health;
  }
  if (const Node* const profiling = root.Find("profiling")) {
    config.profiling = ReadProfiling(*profiling, problems);
  }
  config.serve = ReadServeSettings(root, problems);
  if (problems.failed()) return config;
  RemoveUnused(config);
  SpreadBatches(config, problems);
  PlaceQueues(config, extensions, data, problems);
  CheckPorts(config, problems);
  return config;
}

GatewayConfig LoadGatewayConfig(const ConfigSources& sources, const std::string& data,
                                const Lookup& lookup, Problems& problems) {
  const Node root = ReadSources(sources, lookup, problems);
  return ReadGatewayConfig(root, data, problems);
}

}  // namespace wherefore::gateway
