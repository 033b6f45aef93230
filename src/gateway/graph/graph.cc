#include "gateway/graph/graph.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/text.h"
#include "gateway/profiling/gate.h"

namespace wherefore::gateway {
namespace {

using Done = std::function<void(Result<profile::WriteAnswer>)>;
using formats::Signal;

bool IsEmpty(const profile::WriteRequest& request) {
  if (const auto* spans = std::get_if<profile::SpanBatch>(&request.data)) {
    return spans->spans.empty();
  }
  return std::get<profile::Batch>(request.data).profiles.empty();
}

// A further branch of a request. It may reach an end that the first branch reaches too, which must
// not take it for a repeat.
class Branch final : public profile::Sink {
 public:
  Branch(const std::string& pipeline, profile::Sink* next)
      : salt_(HashString(pipeline)), next_(next) {}
  void Write(profile::WriteRequest request, Done done) override {
    request.identity.low ^= salt_.low;
    request.identity.high ^= salt_.high;
    next_->Write(std::move(request), std::move(done));
  }

 private:
  const Hash128 salt_;
  profile::Sink* const next_;
};

Counter& ProcessorCounter(std::string_view which, const std::string& processor, Signal signal) {
  return Metrics::Global().GetCounter(
      fmt::format("otelcol_processor_{}_items_total", which),
      "Items that a processor took and gave.",
      {{"processor", processor},
       {"otel_signal", signal == Signal::kTraces ? "traces" : "profiles"}});
}

}  // namespace

// The processors of a pipeline, one after the other.
class Graph::Pipeline final : public profile::Sink {
 public:
  Pipeline(const GatewayConfig& config, const PipelineConfig& pipeline, profile::Sink* next)
      : next_(next) {
    for (const std::string& id : pipeline.processors) {
      const ProcessorConfig& processor = config.processors.at(id);
      if (!processor.make) continue;  // batch: says how queues are emptied
      steps_.push_back({id, processor.make(), &ProcessorCounter("incoming", id, pipeline.signal),
                        &ProcessorCounter("outgoing", id, pipeline.signal)});
    }
  }

  void Write(profile::WriteRequest request, Done done) override {
    for (const Step& step : steps_) {
      step.incoming->Add(ItemsOf(request));
      if (const Result<> processed = step.processor->Process(request); !processed) {
        return done(processed.error());
      }
      step.outgoing->Add(ItemsOf(request));
      if (IsEmpty(request)) return done(std::move(request.decoded));
    }
    next_->Write(std::move(request), std::move(done));
  }

  [[nodiscard]] bool empty() const { return steps_.empty(); }
  [[nodiscard]] std::vector<std::pair<std::string, const Processor*>> processors() const {
    std::vector<std::pair<std::string, const Processor*>> all;
    for (const Step& step : steps_) all.emplace_back(step.id, step.processor.get());
    return all;
  }

 private:
  struct Step {
    std::string id;
    std::unique_ptr<Processor> processor;
    Counter* incoming;
    Counter* outgoing;
  };
  std::vector<Step> steps_;
  profile::Sink* const next_;
};

// Sends each signal to its pipelines. A signal that has none is refused with a hint.
class Graph::Entrance final : public profile::Sink {
 public:
  struct Way {
    profile::Sink* next = nullptr;
    std::string refusal;  // without a next
  };
  Entrance(Way profiles, Way traces) : profiles_(std::move(profiles)), traces_(std::move(traces)) {}

  void Write(profile::WriteRequest request, Done done) override {
    const bool spans = std::holds_alternative<profile::SpanBatch>(request.data);
    const Way& way = spans ? traces_ : profiles_;
    if (way.next == nullptr) return done(Error(Code::kUnsupported, way.refusal));
    way.next->Write(std::move(request), std::move(done));
  }

 private:
  const Way profiles_;
  const Way traces_;
};

template <typename T, typename... Arguments>
T* Graph::Keep(Arguments&&... arguments) {
  auto part = std::make_unique<T>(std::forward<Arguments>(arguments)...);
  T* const raw = part.get();
  parts_.push_back(std::move(part));
  return raw;
}

namespace {

std::string AddressOf(const ReceiverConfig& receiver) {
  std::vector<std::string> addresses;
  for (const auto& [port, what] : {std::pair(&receiver.grpc, "gRPC"), {&receiver.http, "HTTP"}}) {
    if (*port) addresses.push_back(fmt::format("port {} ({})", (*port)->port, what));
  }
  return fmt::format("{} at {}", receiver.id, fmt::join(addresses, ", "));
}

// "receiver otlp takes no profiles; send them to otlp/profiles at port 4327 (gRPC)"
std::string Refusal(const GatewayConfig& config, const std::string& receiver, Signal signal) {
  std::vector<std::string> others;
  for (const PipelineConfig& pipeline : config.pipelines) {
    if (pipeline.signal != signal) continue;
    for (const std::string& id : pipeline.receivers) {
      const ReceiverConfig& other = config.receivers.at(id);
      if (other.grpc || other.http) others.push_back(AddressOf(other));
    }
  }
  return fmt::format("receiver {} takes no {}; {}", receiver,
                     signal == Signal::kTraces ? "traces" : "profiles",
                     others.empty() ? "no receiver of this server does"
                                    : fmt::format("send them to {}", fmt::join(others, " or ")));
}

}  // namespace

Graph::Graph(const GatewayConfig& config, profile::Sink* store, const ExporterSet& exporters,
             Profiling* profiling) {
  // By receiver and signal, in the order of the configuration.
  std::map<std::pair<std::string, Signal>, std::vector<FanOut::End>> ways;
  for (const PipelineConfig& pipeline : config.pipelines) {
    profile::Sink* const way = MakePipeline(config, pipeline, store, exporters);
    for (const std::string& receiver : pipeline.receivers) {
      auto& ends = ways[{receiver, pipeline.signal}];
      ends.push_back({ends.empty() ? way : Keep<Branch>(pipeline.id, way), true, nullptr});
    }
  }
  const auto way_of = [&](const std::string& receiver, Signal signal) -> Entrance::Way {
    const auto found = ways.find({receiver, signal});
    if (found == ways.end()) return {nullptr, Refusal(config, receiver, signal)};
    if (found->second.size() == 1) return {found->second[0].sink, {}};
    return {Keep<FanOut>(found->second), {}};
  };
  for (const auto& [id, receiver] : config.receivers) {
    Entrance::Way profiles = way_of(id, Signal::kProfiles);
    if (profiling != nullptr && profiles.next != nullptr) {
      // What waited enters behind the gate.
      const std::shared_ptr<ExporterSlot> waits = exporters.Find(WaitId(id));
      if (waits) slots_.push_back(waits);
      if (waits) entrances_[WaitId(id)] = profiles.next;
      const bool waiting = config.profiling && config.profiling->conditional && waits;
      profiles.next = Keep<ProfilingGate>(*profiling, config.profiling,
                                          waiting ? waits.get() : nullptr, profiles.next);
    }
    Entrance::Way traces = way_of(id, Signal::kTraces);
    if (profiling != nullptr && traces.next != nullptr && config.profiling &&
        config.profiling->conditional) {
      traces.next = Keep<SpanWatch>(*profiling, traces.next);
    }
    entrances_[id] = Keep<Entrance>(std::move(profiles), std::move(traces));
  }
}

Graph::~Graph() = default;

profile::Sink* Graph::MakePipeline(const GatewayConfig& config, const PipelineConfig& pipeline,
                                   profile::Sink* store, const ExporterSet& exporters) {
  Described described{.id = pipeline.id};
  std::vector<std::string> path = {fmt::format("{}", fmt::join(pipeline.receivers, ", "))};
  if (!pipeline.processors.empty()) {
    path.push_back(fmt::format("{}", fmt::join(pipeline.processors, ", ")));
  }
  path.push_back(fmt::format("{}", fmt::join(pipeline.exporters, ", ")));
  described.path = fmt::format("{}", fmt::join(path, " -> "));
  profile::Sink* next = MakeEnds(config, pipeline, store, exporters, described);
  PipelineConfig part = pipeline;
  const auto tail = std::ranges::find_if(part.processors, [&](const std::string& id) {
    return config.processors.at(id).tail != nullptr;
  });
  if (tail != part.processors.end()) {
    // What is behind tail_sampling is an entrance of its own: spans wait before it.
    const std::string id = TailId(pipeline.id, *tail);
    PipelineConfig rest = pipeline;
    rest.processors.assign(std::next(tail), part.processors.end());
    part.processors.erase(tail, part.processors.end());
    entrances_[id] = MakeSteps(config, rest, next, described);
    slots_.push_back(exporters.Find(id));
    next = slots_.back().get();
  }
  next = MakeSteps(config, part, next, described);
  described_.push_back(std::move(described));
  return next;
}

profile::Sink* Graph::MakeSteps(const GatewayConfig& config, const PipelineConfig& part,
                                profile::Sink* next, Described& described) {
  auto steps = std::make_unique<Pipeline>(config, part, next);
  if (steps->empty()) return next;
  std::ranges::move(steps->processors(), std::back_inserter(described.processors));
  parts_.push_back(std::move(steps));
  return parts_.back().get();
}

profile::Sink* Graph::MakeEnds(const GatewayConfig& config, const PipelineConfig& pipeline,
                               profile::Sink* store, const ExporterSet& exporters,
                               Described& described) {
  std::vector<FanOut::End> ends;
  for (const std::string& id : pipeline.exporters) {
    if (config.exporters.at(id).is_store) {
      ends.push_back({store, true, nullptr});
      continue;
    }
    slots_.push_back(exporters.Find(id));
    // The only exporter of a pipeline is required; a dead one among several stops nobody.
    FanOut::End end{slots_.back().get(), pipeline.exporters.size() == 1, nullptr};
    if (!end.required) {
      end.losses = std::make_shared<Losses>();
      end.losses->items = &Metrics::Global().GetCounter(
          "wherefore_lost_items_total",
          "Samples and spans that an exporter beside others refused, and nobody will send again.",
          {{"pipeline", pipeline.id}, {"exporter", id}});
      described.losses.emplace_back(id, end.losses);
    }
    ends.push_back(std::move(end));
  }
  if (ends.size() == 1) return ends[0].sink;
  return Keep<FanOut>(std::move(ends));
}

profile::Sink* Graph::EntranceOf(const std::string& receiver) const {
  const auto found = entrances_.find(receiver);
  return found == entrances_.end() ? nullptr : found->second;
}

Status Graph::status() const {
  constexpr std::int64_t kRecent = 60 * kNsPerSecond;
  Status status;
  status.part = "pipelines";
  for (const Described& pipeline : described_) {
    status.facts.emplace_back(pipeline.id, pipeline.path);
    for (const auto& [id, processor] : pipeline.processors) {
      for (auto& [name, value] : processor->facts()) {
        status.facts.emplace_back(fmt::format("{} {}: {}", pipeline.id, id, name),
                                  std::move(value));
      }
    }
    for (const auto& [exporter, losses] : pipeline.losses) {
      const std::uint64_t lost = losses->count.load(std::memory_order_relaxed);
      if (lost == 0) continue;
      const std::string text = FormatCount(static_cast<std::int64_t>(lost));
      status.facts.emplace_back(fmt::format("{} {}: lost", pipeline.id, exporter), text);
      if (MonotonicNs() - losses->last_ns.load(std::memory_order_relaxed) > kRecent) continue;
      status.problems.push_back(
          {fmt::format("exporter {} refuses data, which is lost to it ({} so far)", exporter, text),
           "look at its queue and at the next hop; the other ends have the data", false});
    }
  }
  return status;
}

void Inlet::Set(std::shared_ptr<const Graph> graph) {
  MutexLock lock(mutex_);
  graph_.swap(graph);
}

void Inlet::Set(std::shared_ptr<const Graph> graph, std::string receiver) {
  MutexLock lock(mutex_);
  graph_.swap(graph);
  receiver_ = std::move(receiver);
}

void Inlet::Write(profile::WriteRequest request, Done done) {
  std::shared_ptr<const Graph> graph;
  profile::Sink* entrance = nullptr;
  {
    MutexLock lock(mutex_);
    graph = graph_;
    entrance = graph ? graph->EntranceOf(receiver_) : nullptr;
  }
  if (!graph) return done(Error(Code::kUnavailable, "the server is starting"));
  if (entrance == nullptr) {
    return done(Error(Code::kUnsupported, "no pipeline takes data from this port"));
  }
  entrance->Write(std::move(request),
                  [graph = std::move(graph), reply = std::move(done)](
                      Result<profile::WriteAnswer> result) { reply(std::move(result)); });
}

GatewayConfig DefaultPipelines() {
  GatewayConfig config;
  const auto add = [&](const char* id, ReceiverConfig::Kind kind) {
    ReceiverConfig receiver;
    receiver.id = id;
    receiver.kind = kind;
    config.receivers.emplace(id, std::move(receiver));
  };
  add("otlp", ReceiverConfig::Kind::kOtlp);
  add("pyroscope", ReceiverConfig::Kind::kPyroscope);
  add("pprof", ReceiverConfig::Kind::kPprof);
  ExporterConfig store;
  store.id = "wherefore";
  store.is_store = true;
  config.exporters.emplace("wherefore", std::move(store));
  config.pipelines.push_back({.id = "profiles",
                              .signal = Signal::kProfiles,
                              .receivers = {"otlp", "pyroscope", "pprof"},
                              .exporters = {"wherefore"}});
  config.pipelines.push_back({.id = "traces",
                              .signal = Signal::kTraces,
                              .receivers = {"otlp", "pyroscope"},  // which takes OTLP/HTTP too
                              .exporters = {"wherefore"}});
  return config;
}

}  // namespace wherefore::gateway
