#include "sdk/api/runtime.h"

#include <pthread.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "sdk/api/pprof_server.h"
#include "sdk/api/remote_control.h"
#include "sdk/api/type_list.h"
#include "sdk/collect/profiler.h"
#include "sdk/context/context.h"
#include "sdk/context/process_context.h"
#include "sdk/context/tracer.h"
#include "sdk/platform/log.h"
#include "sdk/platform/thread_state.h"

namespace wherefore::sdk {
namespace {

void PublishLabelKeys() {
  if (const auto updated = UpdateProcessContext(LabelKeys()); !updated)
    Log(LogLevel::kDebug, updated.error().message());
}

}  // namespace

Runtime& Runtime::Global() {
  static Runtime& runtime = *new Runtime;
  return runtime;
}

Result<> Runtime::Start(const LoadedOptions& loaded) {
  const Busy busy;
  const MutexLock lock(mutex_);
  if (running_ && !options_.preloaded)
    return Error(Code::kUnavailable, "the profiler is already running");
  if (running_)
    StopNow(kLongestExitFlushNs, loaded.options.disabled ? Unsent::kSend : Unsent::kKeep);
  SetLogLevel(loaded.options.log_level);
  if (loaded.options.log_brief) SetLogBrief();
  for (const std::string& warning : loaded.warnings) Log(LogLevel::kWarn, warning);
  if (loaded.options.disabled) {
    Log(LogLevel::kInfo, "off: OTEL_SDK_DISABLED");
    return Error(Code::kUnsupported, "disabled by OTEL_SDK_DISABLED");
  }
  options_ = loaded.options;
  FindForeignPublisher();
  const ResourceAttributes resource = DescribeProcess(options_);
  if (const auto published = PublishProcessContext(resource, LabelKeys()); !published)
    Log(LogLevel::kDebug, published.error().message());
  OnNewLabelKey(&PublishLabelKeys);
  exporter_ =
      new Exporter(options_, [] { static_cast<void>(Global().StopAtExit()); }, RemoteControl());
  WatchForks();
  // The profiler first: it must know of every later thread of ours.
  WHEREFORE_RETURN_IF_ERROR(StartProfiler(options_, *exporter_));
  if (!exporter_->Start()) {
    StopProfiler();
    return Error(Code::kLimit, "the system gave no thread to send from (ulimit -u, pids.max)");
  }
  Tracer::Global().SetResource(resource);
  Tracer::Global().Start(options_, *exporter_, &ReadRuntimeStatistics);
  const Options now = EffectiveOptions();
  Tracer::Global().SetConditional(now.conditional);
  if (!now.SamplesAnything() && !now.manual_start) exporter_->Poll();
  running_ = true;
  ServePprof();
  Log(LogLevel::kInfo, StartLine());
  if (LogIsBrief()) LogRefusedTypes();
  return {};
}

// Others say so in the line about their start.
void Runtime::LogRefusedTypes() {
  std::string refused;
  for (const TypeState& state : TypeStates()) {
    if (!state.refused || state.why.empty()) continue;
    refused +=
        fmt::format("{}{} ({})", refused.empty() ? "" : ", ", TypeName(state.type), state.why);
  }
  if (!refused.empty())
    LogTrouble(fmt::format("{} (process {}): off: {}", options_.service_name, getpid(), refused));
}

void Runtime::ServePprof() {
  if (options_.pprof_port < 0) return;
  server_ = std::make_unique<HttpServer>();
  AddPprofRoutes(
      *server_,
      {.now = &CollectPprof,
       .allocations = &CollectAllocations,
       .begin = [](Type type) { return BeginOperation(1U << static_cast<unsigned>(type)); },
       .end = &EndOperation,
       .drop = &DropOperation});
  if (const auto started = server_->Start(options_.pprof_host, options_.pprof_port); !started) {
    Log(LogLevel::kWarn, "pprof: " + started.error().message());
    server_.reset();
  }
}

std::string Runtime::StartLine() {
  std::string line = fmt::format("profiling {} (process {}): {}", options_.service_name, getpid(),
                                 ListTypes(TypeStates()));
  line += options_.output_file.empty() ? fmt::format("; to {} every {}", options_.profiles_url,
                                                     FormatDuration(options_.upload_interval_ns))
                                       : "; to files " + options_.output_file;
  if (server_ != nullptr)
    line += fmt::format("; http://{}:{}/debug/pprof/", options_.pprof_host, server_->port());
  if (!options_.opamp_url.empty()) line += "; obeys " + UrlWithoutUser(options_.opamp_url);
  return line;
}

bool Runtime::Stop(std::int64_t longest_ns) {
  const Busy busy;
  const MutexLock lock(mutex_);
  if (!running_) return false;
  StopNow(longest_ns, Unsent::kSend);
  return true;
}

void Runtime::StopNow(std::int64_t longest_ns, Unsent unsent) {
  running_ = false;
  if (server_ != nullptr) server_->Stop();
  server_.reset();
  Tracer::Global().Stop();
  StopProfiler(unsent);
  exporter_->Stop(MonotonicNs() + longest_ns);
}

bool Runtime::StopAtExit() {
  return Stop(std::min(timeout_ns(), kLongestExitFlushNs));
}

void Runtime::WithoutThreads(const std::function<void()>& call) {
  LoadedOptions again;
  {
    const MutexLock lock(mutex_);
    again.options = options_;
  }
  const LogLevel level = std::exchange(again.options.log_level, LogLevel::kError);
  const bool was_running = StopAtExit();
  call();
  if (!was_running) return;
  const auto started = Start(again);  // said once already what is on
  SetLogLevel(level);
  if (!started) return Log(LogLevel::kInfo, "cannot go on: " + started.error().message());
  const MutexLock lock(mutex_);
  options_.log_level = level;
}

void Runtime::BeforeLastThread() {
  const Busy busy;
  const MutexLock lock(mutex_);
  if (running_) exporter_->StartThread();
}

bool Runtime::Flush(std::int64_t deadline_ns) {
  const Busy busy;
  Exporter* exporter = nullptr;
  {
    const MutexLock lock(mutex_);
    if (!running_) return false;
    exporter = exporter_;
  }
  const bool sampled = FlushProfiler(deadline_ns);
  Tracer::Global().Flush();
  return exporter->Flush(deadline_ns) && sampled;
}

bool Runtime::running() {
  const MutexLock lock(mutex_);
  return running_;
}

bool Runtime::started_by_code() {
  const MutexLock lock(mutex_);
  return running_ && !options_.preloaded;
}

std::int64_t Runtime::timeout_ns() {
  const MutexLock lock(mutex_);
  return running_ ? options_.timeout_ns : 0;
}

// Every lock of ours is held over a fork or belongs to something the child replaces. One handler
// for all of them: they must be taken in the order in which they are taken elsewhere, Runtime's
// before the collector's before those of the context.
void Runtime::WatchForks() {
  if (watching_forks_) return;
  watching_forks_ = true;
  OnChildRestart([](const ResourceAttributes& resource) { Global().OnRestart(resource); });
  pthread_atfork([] { Global().BeforeFork(); }, [] { Global().AfterFork(false); },
                 [] { Global().AfterFork(true); });
}

void Runtime::BeforeFork() {
  mutex_.LockForFork();
  LockProfilerForFork();
  LockLabelKeys();
  LockProcessContext();
}

void Runtime::AfterFork(bool in_child) {
  mutex_.HeldOverFork();
  UnlockProfilerAfterFork(in_child);
  UnlockProcessContext(in_child);
  UnlockLabelKeys();
  if (in_child) {
    const Busy busy;
    if (exporter_ != nullptr) exporter_->AbandonInChild();
    Tracer::Global().AbandonInChild();
    // Its threads are the parent's, and the port.
    if (server_ != nullptr) server_.release()->AfterFork();
  }
  mutex_.unlock();
}

void Runtime::OnRestart(const ResourceAttributes& resource) {
  const Busy busy;
  if (const auto published = PublishProcessContext(resource, LabelKeys()); !published)
    Log(LogLevel::kDebug, published.error().message());
  Tracer::Global().SetResource(resource);
}

}  // namespace wherefore::sdk
