// The processor `probabilistic_sampler`: keeps a share of all traces, whole ones, without knowing
// them. Every sampler with the same share keeps the same traces. Profiles pass. Any thread.
#pragma once

#include <cstdint>

#include "gateway/process/processor.h"

namespace wherefore::gateway {

class ProbabilisticSampler final : public Processor {
 public:
  struct Options {
    double percentage = 0;
    std::uint32_t hash_seed = 0;  // 0: the trace id itself decides, as OpenTelemetry specifies
  };
  explicit ProbabilisticSampler(Options options);

  Result<> Process(profile::WriteRequest& request) override;
  [[nodiscard]] bool Keeps(const profile::TraceId& trace) const;

 private:
  const Options options_;
  const std::uint64_t threshold_;  // of 2^56: traces below it go
};

}  // namespace wherefore::gateway
