// `profiling:` of a configuration: how programs profile themselves, and what this server enforces
// on those that do not. Plain data; one thread at a time.
//
// Keys and units are those of libwherefore's file (docs/sdk.md), as far as they make sense from
// outside a program; adaptive.base_rate, adaptive.max_rate, conditional.decision_wait and `enabled`
// are for the server. Unset: not said, so a program's own settings count.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "settings/node.h"
#include "settings/problems.h"

namespace wherefore::gateway {

struct ProfilingType {
  std::optional<bool> enabled;
  // Hz for cpu, wall and off_cpu; bytes for heap; nanoseconds for mutex, block and threads.
  std::optional<double> rate;
  std::string rate_text;  // as it was written: "512KB"
};
struct ProfilingConditional {
  std::optional<std::int64_t> slow_request_ns;
  std::optional<double> cpu;  // share of a request's time: 0.8
  std::optional<bool> errors;
  std::int64_t decision_wait_ns = 10'000'000'000;

  bool operator==(const ProfilingConditional&) const = default;
};
struct ProfilingLoadShedding {
  bool enabled = true;  // the block itself switches it on
  double cpu = 0.9;
  std::optional<std::int64_t> memory_bytes;
};
struct ProfilingAdaptive {
  bool enabled = true;
  double cpu = 0.8;
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> base_rate;
  std::optional<double> max_rate;
};

struct ProfilingSettings {
  using Type = ProfilingType;
  using Conditional = ProfilingConditional;
  using LoadShedding = ProfilingLoadShedding;
  using Adaptive = ProfilingAdaptive;

  std::optional<bool> enabled;
  std::optional<std::vector<std::string>> types;
  std::map<std::string, Type> by_type;  // "cpu", "heap", ...: libwherefore's names
  std::optional<Conditional> conditional;
  std::optional<std::uint32_t> max_stack_depth;
  std::optional<std::int64_t> max_profile_bytes;
  std::optional<std::int64_t> upload_interval_ns;
  std::optional<LoadShedding> load_shedding;
  std::optional<Adaptive> adaptive;
  std::optional<double> max_overhead;  // share: 0.01
};

// Whether libwherefore knows a type of this name.
[[nodiscard]] bool IsProfilingType(std::string_view name);

[[nodiscard]] ProfilingSettings ReadProfiling(const settings::Node& node,
                                              settings::Problems& problems);

}  // namespace wherefore::gateway
