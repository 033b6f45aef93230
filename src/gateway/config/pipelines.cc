#include "gateway/config/pipelines.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "net/url.h"

namespace wherefore::gateway {

using namespace settings;  // trees with places
namespace {

struct WrittenPipeline {
  std::vector<Name> receivers;
  std::vector<Name> processors;
  std::vector<Name> exporters;
};

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

// tail_sampling waits in a queue too.
void AddTails(GatewayConfig& config, const std::string& data, Problems& problems) {
  for (const PipelineConfig& pipeline : config.pipelines) {
    std::size_t tails = 0;
    for (const std::string& name : pipeline.processors) {
      const ProcessorConfig& processor = config.processors.at(name);
      if (!processor.tail) continue;
      if (++tails > 1) {
        problems.Fail(pipeline.place,
                      fmt::format("pipeline `{}` has tail_sampling more than once", pipeline.id));
      }
      ExporterConfig tail;
      tail.id = TailId(pipeline.id, name);
      tail.place = processor.place;
      tail.tail = processor.tail;
      tail.canonical = processor.canonical;
      tail.options.id = tail.id;
      tail.options.queue.directory = data + "/queue/" + net::PercentEncode(tail.id);
      config.tails.emplace(tail.id, tail);
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

}  // namespace

std::vector<PipelineConfig> ReadPipelines(const Node& node, const GatewayConfig& config,
                                          Problems& problems) {
  return PipelineReader(config, problems).Read(node);
}

void FitTogether(GatewayConfig& config, const Extensions& extensions, const std::string& data,
                 Problems& problems) {
  RemoveUnused(config);
  SpreadBatches(config, problems);
  PlaceQueues(config, extensions, data, problems);
  AddTails(config, data, problems);
  CheckPorts(config, problems);
}

}  // namespace wherefore::gateway
