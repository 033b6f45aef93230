// Profiling: what `profiling:` and its API have to do with a running server, over reloads: the word
// of the API (control.h), the SDKs that ask for it (opamp_server.h), requests that qualify for
// `conditional` (trace_table.h), and load (load.h).
//
// Threads: as its parts say. Apply is called by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "gateway/config/profiling_settings.h"
#include "gateway/profiling/control.h"
#include "gateway/profiling/load.h"
#include "gateway/profiling/opamp_server.h"
#include "gateway/profiling/trace_table.h"
#include "net/http.h"

namespace wherefore::gateway {

class Profiling {
 public:
  struct Options {
    std::string directory;                // of the server's data; empty: nothing is kept
    bool tenants = false;                 // X-Scope-OrgID counts
    std::function<LoadReading()> load;    // null: this machine's
    std::function<double()> store_queue;  // how full it is, 0 to 1; null: there is no store
  };
  explicit Profiling(Options options);
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;
  ~Profiling();

  void Apply(const std::optional<ProfilingSettings>& settings);
  [[nodiscard]] ProfilingControl& control() { return control_; }
  [[nodiscard]] TraceTable& traces() { return traces_; }
  [[nodiscard]] const std::string& directory() const { return options_.directory; }
  // Load is shed: 1: detail of traces that are not known to qualify; 2: profiles.
  [[nodiscard]] int level() const { return load_.level(); }
  [[nodiscard]] LoadWatch& load() { return load_; }
  // Of profiles that wait, for each receiver: OTLP's and Pyroscope's clients' together 256 MiB.
  static constexpr std::uint64_t kMostWaitingBytes = 128u << 20;
  // /api/v1/profiling: for the main port.
  void AddApiRoutes(net::Router& router);
  // /v1/opamp: for every port that takes OTLP over HTTP.
  void AddOpampRoutes(net::Router& router) { opamp_.AddRoutes(router); }
  [[nodiscard]] std::vector<Status> status() const;

 private:
  LoadReading ReadLoad();

  const Options options_;
  ProfilingControl control_;
  TraceTable traces_;
  OpampServer opamp_{control_, options_.tenants};
  MachineCpu machine_cpu_;  // the watch's thread's
  LoadWatch load_;
};

}  // namespace wherefore::gateway
