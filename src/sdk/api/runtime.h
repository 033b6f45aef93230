// Runtime: the library in one process. Sets up options, profiler, exporter, tracer, contexts and
// the pprof server, and takes them down again.
//
// One per process, never destroyed. Any thread; start and stop wait for each other. Nothing throws.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "sdk/collect/profiler.h"
#include "sdk/config/load_options.h"
#include "sdk/context/resource.h"
#include "sdk/net/exporter.h"
#include "sdk/net/http_server.h"

namespace wherefore::sdk {

// At exit nobody waits longer than this for a slow server, whatever the export timeout: a script
// may start a hundred programs.
inline constexpr std::int64_t kLongestExitFlushNs = 500'000'000;

class Runtime {
 public:
  static Runtime& Global();

  // kUnavailable: the program's code started it already (nothing changes); kUnsupported: disabled
  // by OTEL_SDK_DISABLED; otherwise the profiler's error. One line in the log tells what is on,
  // what is off and why. What a preload started goes on as `loaded` says: its samples, of types
  // that are still on, are sent with those to come.
  [[nodiscard]] Result<> Start(const LoadedOptions& loaded);
  // Sends what is left, for at most `longest_ns` once it is ready to be sent. False: nothing was
  // running.
  bool Stop(std::int64_t longest_ns);
  // Runs `call` while the process has no thread of ours; afterwards everything starts again as its
  // options say. What was sampled before is sent first, within bounds.
  void WithoutThreads(const std::function<void()>& call);
  // Before a call after which the system gives this process no new threads: starts those we will
  // need, so that what is sampled can be sent.
  void BeforeLastThread();
  // At the end of the program: sends what was sampled last, within bounds. May be called twice.
  bool StopAtExit();
  // True when everything sampled and traced before has arrived.
  bool Flush(std::int64_t deadline_ns);
  [[nodiscard]] bool running();
  // It runs, and not only because of a preload: there is nothing to start or to take over.
  [[nodiscard]] bool started_by_code();
  // How long sending may take when the program ends, from its options; 0 when nothing runs.
  [[nodiscard]] std::int64_t timeout_ns();

 private:
  Runtime() = default;
  void StopNow(std::int64_t longest_ns, Unsent unsent) REQUIRES(mutex_);
  void ServePprof() REQUIRES(mutex_);
  void WatchForks() REQUIRES(mutex_);
  void BeforeFork();
  void AfterFork(bool in_child);
  void OnRestart(const ResourceAttributes& resource);
  [[nodiscard]] std::string StartLine() REQUIRES(mutex_);
  void LogRefusedTypes() REQUIRES(mutex_);

  Mutex mutex_;
  bool running_ GUARDED_BY(mutex_) = false;
  bool watching_forks_ GUARDED_BY(mutex_) = false;
  Options options_ GUARDED_BY(mutex_);
  Exporter* exporter_ GUARDED_BY(mutex_) = nullptr;  // never freed: the profiler may use it late
  std::unique_ptr<HttpServer> server_ GUARDED_BY(mutex_);
};

}  // namespace wherefore::sdk
