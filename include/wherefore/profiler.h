// profiler.h: start, stop and steer the profiler from C++17.
//
//     wherefore::Options options;
//     options.service_name = "checkout";
//     auto profiler = wherefore::Profiler::Start(options);   // stops when it goes out of scope
//
// Header-only over the C ABI in wherefore.h; nothing here throws.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "wherefore/wherefore.h"

namespace wherefore {

enum class Type {
  kCpu = WHEREFORE_CPU,
  kWall = WHEREFORE_WALL,
  kOffCpu = WHEREFORE_OFF_CPU,
  kHeap = WHEREFORE_HEAP,
  kMutex = WHEREFORE_MUTEX,
  kBlock = WHEREFORE_BLOCK,
  kThreads = WHEREFORE_THREADS,
};

// What is not set here comes from the environment, else from the configuration file, else it is the
// default.
struct Options {
  std::string service_name;
  std::vector<std::pair<std::string, std::string>> resource;
  std::string endpoint;
  std::vector<std::pair<std::string, std::string>> headers;
  std::chrono::milliseconds timeout{0};
  std::chrono::milliseconds upload_interval{0};
  std::uint32_t max_stack_depth = 0;
  double max_overhead = 0;  // 0.01 = 1 %
  bool manual_start = false;
  std::string config_file;
  std::string output_file;
  std::string pprof;  // "6060" or "host:6060"

  Options& Enable(Type type, double rate = 0) {
    types_[static_cast<int>(type)] = {1, 0, rate};
    return *this;
  }
  Options& Disable(Type type) {
    types_[static_cast<int>(type)].enabled = -1;
    return *this;
  }
  // Sets the rate without switching the type on or off.
  Options& Rate(Type type, double rate) {
    types_[static_cast<int>(type)].rate = rate;
    return *this;
  }
  // Only these.
  Options& Only(std::initializer_list<Type> types) {
    for (auto& type : types_) type.enabled = -1;
    for (const Type type : types) types_[static_cast<int>(type)].enabled = 1;
    return *this;
  }

 private:
  friend class Profiler;
  wherefore_type_options types_[WHEREFORE_TYPE_COUNT] = {};
};

// One running profiler; there is one for the whole process. Movable: the last owner stops it.
class Profiler {
 public:
  // A second Start while one runs gives an object that owns nothing: status() says
  // WHEREFORE_ALREADY_RUNNING and destroying it stops nothing. A profiler that LD_PRELOAD or
  // `wherefore run` started before main is taken over: it continues with these options, and this
  // object stops it.
  static Profiler Start(const Options& options = {}) noexcept {
    wherefore_options c{};
    c.size = sizeof(c);
    try {
      const auto resource = Attributes(options.resource);
      const auto headers = Attributes(options.headers);
      c.service_name = Text(options.service_name);
      c.resource = resource.data();
      c.resource_count = resource.size();
      c.endpoint = Text(options.endpoint);
      c.headers = headers.data();
      c.headers_count = headers.size();
      c.timeout_ms = static_cast<std::uint32_t>(options.timeout.count());
      c.upload_interval_ms = static_cast<std::uint32_t>(options.upload_interval.count());
      for (int i = 0; i < WHEREFORE_TYPE_COUNT; ++i) c.types[i] = options.types_[i];
      c.max_stack_depth = options.max_stack_depth;
      c.manual_start = options.manual_start ? 1 : 0;
      c.max_overhead = options.max_overhead;
      c.config_file = Text(options.config_file);
      c.output_file = Text(options.output_file);
      c.pprof = Text(options.pprof);
      return Profiler(wherefore_start(&c));
    } catch (...) {  // out of memory
      return Profiler(WHEREFORE_FAILED);
    }
  }

  Profiler(Profiler&& other) noexcept
      : status_(other.status_), owns_(std::exchange(other.owns_, false)) {}
  Profiler& operator=(Profiler&& other) noexcept {
    if (this != &other) {
      Stop();
      status_ = other.status_;
      owns_ = std::exchange(other.owns_, false);
    }
    return *this;
  }
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  ~Profiler() { Stop(); }

  // WHEREFORE_OK when this object started the profiler.
  [[nodiscard]] int status() const noexcept { return status_; }
  [[nodiscard]] explicit operator bool() const noexcept { return status_ == WHEREFORE_OK; }

  // Sends what is left and stops; harmless to repeat.
  void Stop() noexcept {
    if (std::exchange(owns_, false)) wherefore_stop();
  }
  // The profiler keeps running after this object is gone.
  void Detach() noexcept { owns_ = false; }

  // True when everything sampled so far has arrived.
  static bool Flush(std::chrono::milliseconds timeout = std::chrono::seconds(10)) noexcept {
    return wherefore_flush(static_cast<std::uint32_t>(timeout.count())) == WHEREFORE_OK;
  }
  static bool Running() noexcept { return wherefore_running() != 0; }
  static bool Enable(Type type, bool enabled = true) noexcept {
    return wherefore_set_enabled(static_cast<int>(type), enabled ? 1 : 0) == WHEREFORE_OK;
  }
  static bool SetRate(Type type, double rate) noexcept {
    return wherefore_set_rate(static_cast<int>(type), rate) == WHEREFORE_OK;
  }
  // Whether it is on, at which rate, and if not, why (`why`, text).
  [[nodiscard]] static wherefore_type_state State(Type type) noexcept {
    wherefore_type_state state{};
    state.size = sizeof(state);
    wherefore_get_type_state(static_cast<int>(type), &state);
    return state;
  }

 private:
  explicit Profiler(int status) noexcept : status_(status), owns_(status == WHEREFORE_OK) {}

  static const char* Text(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }
  static std::vector<wherefore_attribute> Attributes(
      const std::vector<std::pair<std::string, std::string>>& pairs) {
    std::vector<wherefore_attribute> out;
    out.reserve(pairs.size());
    for (const auto& pair : pairs) out.push_back({pair.first.c_str(), pair.second.c_str()});
    return out;
  }

  int status_;
  bool owns_;
};

// Profiles one operation into a pprof file, in addition to the continuous profiles. A Profiler must
// have been started (with `manual_start` nothing else is sampled); without one no file is written,
// and the log says so.
//
//     { wherefore::ScopedProfile profile("cpu.pb.gz"); ExpensiveCalculation(); }
class ScopedProfile {
 public:
  explicit ScopedProfile(std::string path,
                         std::initializer_list<Type> types = {Type::kCpu}) noexcept
      : path_(std::move(path)) {
    unsigned mask = 0;
    for (const Type type : types) mask |= 1U << static_cast<int>(type);
    status_ = wherefore_operation_begin(mask, &operation_);
  }
  ScopedProfile(const ScopedProfile&) = delete;
  ScopedProfile& operator=(const ScopedProfile&) = delete;
  ~ScopedProfile() { Stop(); }

  // Writes the file; WHEREFORE_OK on success.
  int Stop() noexcept {
    if (operation_ != 0) {
      status_ = wherefore_operation_end(std::exchange(operation_, 0), path_.c_str());
    }
    return status_;
  }

 private:
  std::string path_;
  std::uint64_t operation_ = 0;
  int status_ = WHEREFORE_OK;
};

}  // namespace wherefore
