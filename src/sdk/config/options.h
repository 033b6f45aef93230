// Options: everything that can be chosen about the profiler, with its defaults. load_options.h
// reads them from the environment and from files; docs/sdk.md has the table of all names.
//
// Plain values: any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/platform/log.h"

namespace wherefore::sdk {

// What is measured. The numbers are part of the C ABI: never renumber.
enum class Type : std::uint8_t { kCpu, kWall, kOffCpu, kHeap, kMutex, kBlock, kThreads };
inline constexpr std::size_t kTypeCount = 7;
[[nodiscard]] std::string_view TypeName(Type type);
[[nodiscard]] std::optional<Type> TypeOf(std::string_view name);

// The unit of `rate` by type: kCpu, kWall, kOffCpu samples per second; kHeap bytes between two
// samples; kMutex, kBlock nanoseconds of waiting between two samples; kThreads seconds between two
// snapshots.
struct TypeOptions {
  bool enabled = true;
  double rate = 0;
  friend bool operator==(const TypeOptions&, const TypeOptions&) = default;
};

// What the rate of a type may be: beyond it nothing is meant, and some of it cannot be computed
// with.
struct RateRange {
  double least;
  double most;
  std::string_view what;  // for people: "not <what>"
  [[nodiscard]] bool has(double rate) const { return rate >= least && rate <= most; }
};
[[nodiscard]] RateRange RatesOf(Type type);

// A threshold that is not set never fires.
struct LoadThresholds {
  bool enabled = false;
  double cpu = 0;                 // share of the machine's CPUs in use, 0.9 = 90 %; 0: not set
  std::int64_t memory_bytes = 0;  // resident memory of the process; 0: not set
  friend bool operator==(const LoadThresholds&, const LoadThresholds&) = default;
};

// Which spans' samples keep their links; the others stay in the aggregate. Nothing set: all do.
struct Conditional {
  std::int64_t slow_request_ns = 0;  // spans at least this long
  double cpu = 0;                    // spans that used at least this share of one CPU
  bool errors = false;               // spans that ended with status error
  [[nodiscard]] bool active() const { return slow_request_ns > 0 || cpu > 0 || errors; }
  friend bool operator==(const Conditional&, const Conditional&) = default;
};

using TextPairs = std::vector<std::pair<std::string, std::string>>;

struct Options {
  std::string service_name;  // LoadOptions: the program's file name when nobody says
  TextPairs resource;        // further resource attributes, each key once

  std::string endpoint = "http://127.0.0.1:4318";  // base address; see profiles_url
  bool endpoint_from_code = false;                 // then no address of the environment counts
  std::string profiles_url;                        // complete; LoadOptions always fills these two
  std::string traces_url;
  TextPairs profiles_headers;
  TextPairs traces_headers;
  bool remote = true;     // the server may choose some of this: remote_options.h
  std::string opamp_url;  // where it is asked; LoadOptions fills it; empty: nobody is
  std::string ca_file;    // certificates to trust for https; empty: the system's
  bool gzip = true;
  std::int64_t timeout_ns = 10'000'000'000;
  std::int64_t upload_interval_ns = 10'000'000'000;

  std::array<TypeOptions, kTypeCount> types = {{{true, 100},
                                                {true, 20},
                                                {true, 20},
                                                {true, 512 * 1024},
                                                {true, 100'000},
                                                {true, 100'000},
                                                {true, 60}}};
  std::array<bool, kTypeCount> off_by_code = {};  // the program did: no server may switch it on
  bool enabled = true;  // false: ready, and nothing is sampled, by whomever it is asked for
  unsigned max_stack_depth = 256;
  bool max_stack_depth_set = false;  // a stack cut at a depth the user chose is not "incomplete"
  std::int64_t max_profile_bytes = 10'000'000;
  double max_overhead = 0.01;
  LoadThresholds load_shedding;  // above: no profiles at all
  LoadThresholds adaptive;       // above: half the rates
  Conditional conditional;

  bool tracing = true;         // the small tracer exports spans
  double trace_ratio = 1;      // head sampling of new traces
  bool runtime_stats = false;  // spans carry heap bytes, objects and threads

  std::string output_file;  // OTLP requests are appended here instead of being sent
  int pprof_port = -1;      // -1: no server; 0: a free port, said in the log
  std::string pprof_host = "127.0.0.1";
  std::string state_dir;  // crash markers; empty: none are kept
  LogLevel log_level = LogLevel::kInfo;
  bool follow_exec = true;
  bool manual_start = false;  // ready, but nothing is sampled until asked to
  bool disabled = false;
  bool log_brief = false;  // log.h
  bool preloaded =
      false;  // by the dynamic linker, into whatever program: starting must cost little

  [[nodiscard]] const TypeOptions& of(Type type) const {
    return types[static_cast<std::size_t>(type)];
  }
  [[nodiscard]] bool SamplesAnything() const {
    return enabled && std::ranges::any_of(types, &TypeOptions::enabled);
  }
  [[nodiscard]] TypeOptions& of(Type type) { return types[static_cast<std::size_t>(type)]; }
};

// A finite number and nothing else.
[[nodiscard]] std::optional<double> ParseNumber(std::string_view text);
// "0.9", "90%" or, above 1, "90": a share between 0 and 1. Nothing when it is no such thing.
[[nodiscard]] std::optional<double> ParseShare(std::string_view text);
// on/off, true/false, yes/no, 1/0, any case.
[[nodiscard]] std::optional<bool> ParseSwitch(std::string_view text);
// "key=value,key2=value%202" as in OTEL_RESOURCE_ATTRIBUTES; false when a pair had no '='.
[[nodiscard]] bool ParsePairs(std::string_view text, TextPairs& out);
// "6060", ":6060", "127.0.0.1:6060", "[::1]:6060" or "off" into pprof_host and pprof_port; false
// when it is none of these.
[[nodiscard]] bool ParsePprofAddress(std::string_view text, Options& options);
// Sets `key` in `pairs`, replacing what was there.
void SetPair(TextPairs& pairs, std::string_view key, std::string_view value);

}  // namespace wherefore::sdk
