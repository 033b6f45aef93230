#include "gateway/profiling/profiling.h"

#include "base/memory_limit.h"
#include "gateway/profiling/routes.h"

namespace wherefore::gateway {

Profiling::Profiling(Options options)
    : options_(std::move(options)),
      control_(options_.directory.empty() ? std::string() : options_.directory + "/profiling.json"),
      load_([this] { return ReadLoad(); },
            [this](bool pressure) { control_.SetPressure(pressure); }) {
  control_.Open();
}

Profiling::~Profiling() = default;

void Profiling::Apply(const std::optional<ProfilingSettings>& settings) {
  control_.SetFile(settings);
  load_.Apply(settings);
  traces_.SetRules(settings ? settings->conditional : std::nullopt);
}

void Profiling::AddApiRoutes(net::Router& router) {
  AddProfilingRoutes(router, control_, opamp_, options_.tenants);
}

LoadReading Profiling::ReadLoad() {
  if (options_.load) return options_.load();
  return {.cpu = machine_cpu_.Read(),
          .anonymous_bytes = ReadMemoryUse().anonymous,
          .store_queue = options_.store_queue ? options_.store_queue() : 0};
}

std::vector<Status> Profiling::status() const {
  std::vector<Status> all;
  if (Status control = control_.status(); !control.facts.empty()) {
    all.push_back(std::move(control));
  }
  if (Status load = load_.status(); !load.facts.empty()) all.push_back(std::move(load));
  return all;
}

}  // namespace wherefore::gateway
