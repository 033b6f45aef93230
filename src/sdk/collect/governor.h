// Governor: keeps the profiler to its budget.
//
// Every few seconds it compares what the profiler used with what the host used. Above the budget
// the distance between samples of whatever costs most is doubled; where twice as many of a kind
// would stay well below it, its distance is halved again. excess() says when the budget cannot be
// kept at all. Samples carry the distance they were taken at, so sums stay right at
// any rate. Guarded by the collector's lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sdk/config/options.h"
#include "sdk/sample/cost.h"

namespace wherefore::sdk {

// CPU time since the start.
struct Usage {
  std::int64_t process_ns = 0;  // of the whole process
  std::array<std::int64_t, kSamplerCount> samplers =
      {};                 // of handlers, hooks and the wall clock's thread
  std::int64_t rest = 0;  // of our other threads
};

enum class Load : std::uint8_t { kNormal, kAdaptive, kShed };

class Governor {
 public:
  explicit Governor(const Options& options);

  // Another budget and other thresholds from here on; scales stay and follow.
  void Adopt(const Options& options);
  // Gives true when a scale or shedding() changed.
  bool Step(const Usage& usage);

  // Distances are multiplied by this: 1, 2, 4 ... 64.
  [[nodiscard]] std::int64_t scale(SamplerKind sampler) const {
    return own_scale_[static_cast<std::size_t>(sampler)] * (load_ == Load::kAdaptive ? 2 : 1);
  }
  // The share we take, if it has been above the budget for a while and larger distances would not
  // help or are not allowed.
  [[nodiscard]] std::optional<double> excess() const;
  // As last judged.
  [[nodiscard]] double overhead() const { return overhead_; }
  // Nothing is to be sampled at all.
  [[nodiscard]] bool shedding() const { return load_ == Load::kShed; }

  // Share of the machine's CPUs in use since the last call, and our resident memory. For tests:
  // given instead of read when the reader is replaced.
  struct Machine {
    double cpu = 0;
    std::int64_t resident_bytes = 0;
  };
  using ReadMachine = Machine (*)();
  void ReplaceReader(ReadMachine reader) { read_machine_ = reader; }

 private:
  [[nodiscard]] Load LoadNow() const;
  bool Judge(const Usage& usage);
  bool Slower(const Usage& spent, std::int64_t profiler);
  bool Faster(const Usage& spent);

  double max_overhead_;
  LoadThresholds shed_;
  LoadThresholds adaptive_;
  ReadMachine read_machine_;
  bool begun_ = false;
  Usage judged_;   // up to here
  int steps_ = 0;  // since then
  std::array<std::int64_t, kSamplerCount> own_scale_ = {1, 1, 1, 1};
  int calm_ = 0;   // judgements in a row after which one could sample more
  int above_ = 0;  // and that were above the budget
  int stuck_ = 0;  // judgements in a row that found it too expensive and nothing to do about it
  double overhead_ = 0;
  Load load_ = Load::kNormal;
};

}  // namespace wherefore::sdk
