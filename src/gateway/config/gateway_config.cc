#include "gateway/config/gateway_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "gateway/config/component_tables.h"
#include "gateway/config/pipelines.h"
#include "settings/fields.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

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
      config.pipelines = ReadPipelines(*service.pipelines, config, problems);
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
  FitTogether(config, extensions, data, problems);
  return config;
}

GatewayConfig LoadGatewayConfig(const ConfigSources& sources, const std::string& data,
                                const Lookup& lookup, Problems& problems) {
  const Node root = ReadSources(sources, lookup, problems);
  return ReadGatewayConfig(root, data, problems);
}

}  // namespace wherefore::gateway
