// Graph: the pipelines of one configuration, from receivers to ends.
//
//   receiver -> Entrance -> ProfilingGate -> Pipeline (processors) -> FanOut -> exporters, store
//
// Links that do nothing are left out: with one pipeline, no processors and one end, a receiver's
// entrance leads straight to that end.
//
// Threads: Write from any thread. A graph is immutable; a reload makes another one, and requests
//          finish in the graph they began in, which they keep alive.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "base/status.h"
#include "gateway/config/gateway_config.h"
#include "gateway/graph/exporter_set.h"
#include "gateway/graph/fan_out.h"
#include "gateway/process/processor.h"
#include "profile/sink.h"

namespace wherefore::gateway {

class Profiling;  // gateway/profiling/profiling.h

class Graph {
 public:
  // `config` has been checked, its exporters are in `exporters`; `store` is null if no pipeline
  // leads there. `profiling` outlives it; null: `profiling:` is not enforced.
  Graph(const GatewayConfig& config, profile::Sink* store, const ExporterSet& exporters,
        Profiling* profiling = nullptr);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  // Where a receiver writes; null if no pipeline names it.
  [[nodiscard]] profile::Sink* EntranceOf(const std::string& receiver) const;
  // What each pipeline is made of, and what its parts say.
  [[nodiscard]] Status status() const;

 private:
  class Pipeline;
  class Entrance;
  struct Described {
    std::string id;
    std::string path;  // "otlp -> batch -> wherefore"
    std::vector<std::pair<std::string, const Processor*>> processors;
    std::vector<std::pair<std::string, std::shared_ptr<Losses>>> losses;  // by exporter
  };

  profile::Sink* MakePipeline(const GatewayConfig& config, const PipelineConfig& pipeline,
                              profile::Sink* store, const ExporterSet& exporters);
  // The processors of `part` before `next`; `next` itself if they have nothing to do.
  profile::Sink* MakeSteps(const GatewayConfig& config, const PipelineConfig& part,
                           profile::Sink* next, Described& described);
  profile::Sink* MakeEnds(const GatewayConfig& config, const PipelineConfig& pipeline,
                          profile::Sink* store, const ExporterSet& exporters, Described& described);
  template <typename T, typename... Arguments>
  T* Keep(Arguments&&... arguments);

  std::vector<std::unique_ptr<profile::Sink>> parts_;
  std::vector<std::shared_ptr<ExporterSlot>> slots_;
  std::map<std::string, profile::Sink*> entrances_;  // by receiver
  std::vector<Described> described_;
};

// What a receiver writes to: the entrance of the graph that is current.
class Inlet final : public profile::Sink {
 public:
  explicit Inlet(std::string receiver) : receiver_(std::move(receiver)) {}

  // Requests that begin from now on go through `graph`.
  void Set(std::shared_ptr<const Graph> graph);
  // The same, as another receiver; an empty name: refused.
  void Set(std::shared_ptr<const Graph> graph, std::string receiver);
  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;

 private:
  Mutex mutex_;
  std::string receiver_ GUARDED_BY(mutex_);
  std::shared_ptr<const Graph> graph_ GUARDED_BY(mutex_);
};

// The configuration of a server that was given none: its receivers (`otlp`, `pyroscope`, `pprof`)
// into the store.
[[nodiscard]] GatewayConfig DefaultPipelines();

}  // namespace wherefore::gateway
