// Governor: keeps the profiler to its budget.
//
// Every few seconds it compares what the profiler used with what the host used. Above the budget
// every distance between samples is doubled, well below it they come back step by step. Samples carry the
// distance they were taken at, so sums stay right at any rate. Guarded by the collector's lock.
#pragma once

#include <cstdint>

#include "sdk/options.h"

namespace wherefore::sdk {

struct Usage {
  std::int64_t profiler_ns = 0;  // CPU time of handlers, hooks and our own threads, since the start
  std::int64_t process_ns = 0;   // CPU time of the whole process, since the start
};

enum class Load : std::uint8_t { kNormal, kAdaptive, kShed };

class Governor {
 public:
  explicit Governor(const Options& options);

  // Gives true when scale() or shedding() changed.
  bool Step(const Usage& usage);

  // Distances are multiplied by this: 1, 2, 4 ... 64.
  [[nodiscard]] std::int64_t scale() const { return scale_; }
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
  void Judge(const Usage& usage);

  double max_overhead_;
  LoadThresholds shed_;
  LoadThresholds adaptive_;
  ReadMachine read_machine_;
  bool begun_ = false;
  Usage judged_;  // up to here
  int steps_ = 0;  // since then
  std::int64_t scale_ = 1;
  std::int64_t own_scale_ = 1;
  int calm_ = 0;
  double overhead_ = 0;
  Load load_ = Load::kNormal;
};

}  // namespace wherefore::sdk
