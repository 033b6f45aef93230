// The C ABI of the profiler, and the start without any code when the library is preloaded.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "sdk/api/runtime.h"
#include "sdk/collect/profiler.h"
#include "sdk/config/variables.h"
#include "sdk/context/resource.h"
#include "sdk/net/gzip.h"
#include "sdk/platform/address_space.h"
#include "sdk/platform/log.h"
#include "sdk/platform/thread_state.h"
#include "wherefore/wherefore.h"

namespace wherefore::sdk {
namespace {

// By this section `wherefore run` knows a program that has the library inside, stripped or not.
[[gnu::section("wherefore_inside"), gnu::used, gnu::retain]] constexpr char kInside[] =
    "libwherefore";

// Whether there is a runtime to stop at exit: making one then would need memory.
std::atomic<bool> g_used{false};
std::atomic<bool> g_disabled{false};  // by OTEL_SDK_DISABLED; start said so

// From here on the end of the program is ours to see. quick_exit runs no destructors, but what is
// registered here. A program may call it in a signal handler, so this thread only waits.
void RegisterForExit() {
  if (!g_used.exchange(true)) std::at_quick_exit([] { SendLastProfiles(kLongestExitFlushNs); });
}

// With less left under the host's own limits, profiling could take what the host needs: each thread
// of ours may make malloc reserve 64 MiB, and tables come on top.
constexpr std::int64_t kSpaceNeeded = 512LL << 20U;

int StatusOf(const Error& error) {
  switch (error.code()) {
    case Code::kInvalid:
    case Code::kNotFound:
      return WHEREFORE_INVALID;
    case Code::kUnavailable:
    case Code::kUnsupported:
      return WHEREFORE_UNAVAILABLE;
    default:
      return WHEREFORE_FAILED;
  }
}

template <typename Function>
int Guarded(Function function) {
  const Busy busy;
  const int error = errno;
  int status = WHEREFORE_FAILED;
  try {
    status = function();
  } catch (...) {
    Log(LogLevel::kError, "out of memory");
  }
  errno = error;
  return status;
}

int Report(const Result<>& result) {
  if (result) return WHEREFORE_OK;
  Log(LogLevel::kWarn, result.error().message());
  return StatusOf(result.error());
}

std::optional<Type> ToType(int type) {
  if (type < 0 || type >= static_cast<int>(kTypeCount)) return std::nullopt;
  return static_cast<Type>(type);
}

void CopyPairs(const wherefore_attribute* from, std::size_t count, TextPairs& to) {
  for (std::size_t i = 0; from != nullptr && i < count; ++i) {
    if (from[i].key != nullptr && from[i].value != nullptr) SetPair(to, from[i].key, from[i].value);
  }
}

void CopyText(const char* from, std::string& to) {
  if (from != nullptr && *from != '\0') to = from;
}

// What the code says, over what the environment and the file said.
void ApplyCode(const wherefore_options& code, Options& o, std::vector<std::string>& warnings) {
  CopyText(code.service_name, o.service_name);
  CopyPairs(code.resource, code.resource_count, o.resource);
  CopyText(code.endpoint, o.endpoint);
  o.endpoint_from_code = code.endpoint != nullptr && *code.endpoint != '\0';
  CopyPairs(code.headers, code.headers_count, o.profiles_headers);
  CopyPairs(code.headers, code.headers_count, o.traces_headers);
  if (code.timeout_ms != 0) o.timeout_ns = code.timeout_ms * 1'000'000LL;
  if (code.upload_interval_ms != 0)
    o.upload_interval_ns = std::max<std::int64_t>(code.upload_interval_ms, 100) * 1'000'000LL;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    if (code.types[i].enabled != 0) o.types[i].enabled = code.types[i].enabled > 0;
    o.off_by_code[i] = code.types[i].enabled < 0;
    if (code.types[i].rate == 0) continue;
    const auto type = static_cast<Type>(i);
    if (const RateRange range = RatesOf(type); range.has(code.types[i].rate)) {
      o.types[i].rate = code.types[i].rate;
    } else {
      warnings.push_back(
          fmt::format("the rate of {} in the program's options, {}, is not {}; ignored",
                      TypeName(type), code.types[i].rate, range.what));
    }
  }
  if (code.max_stack_depth != 0) {
    o.max_stack_depth = std::min(code.max_stack_depth, 1024U);
    o.max_stack_depth_set = true;
  }
  if (code.manual_start != 0) o.manual_start = true;
  if (code.max_overhead > 0) o.max_overhead = std::min(code.max_overhead, 1.0);
  CopyText(code.output_file, o.output_file);
  if (code.pprof != nullptr && *code.pprof != '\0' && !ParsePprofAddress(code.pprof, o))
    warnings.push_back(
        fmt::format("pprof '{}' is not a port, host:port or off; ignored", code.pprof));
}

LoadedOptions LoadFromSources(const wherefore_options* given) {
  const auto environment = [](const char* name) {
    return std::getenv(name);  // NOLINT(concurrency-mt-unsafe): as documented in options.h
  };
  if (given == nullptr) return LoadOptions(environment);
  // An older program has a shorter structure: the rest is "not said".
  wherefore_options code{};
  std::memcpy(&code, given, std::min(given->size, sizeof(code)));
  std::vector<std::string> warnings;
  LoadedOptions loaded =
      LoadOptions(environment, code.config_file == nullptr ? "" : code.config_file,
                  [&](Options& options) { ApplyCode(code, options, warnings); });
  loaded.warnings.insert(loaded.warnings.end(), warnings.begin(), warnings.end());
  return loaded;
}

LoadedOptions LoadWithCode(const wherefore_options* given) {
  LoadedOptions loaded = LoadFromSources(given);
  for (std::string& unknown : UnknownVariables(environ, KnownVariables()))
    loaded.warnings.push_back(std::move(unknown));
  return loaded;
}

// The options may not have been read yet.
void WarnBeforeStart(std::string_view text) {
  const char* const level = std::getenv("WHEREFORE_LOG");  // NOLINT(concurrency-mt-unsafe)
  const std::string_view asked = level == nullptr ? "" : level;
  if (asked != "off" && asked != "error") Log(LogLevel::kWarn, text);
}

// Says so, with what little there is: nothing here allocates.
bool TooLittleSpace() {
  const std::int64_t left = AddressSpaceLeft();
  if (left >= kSpaceNeeded) return false;
  char line[160];
  const int length = std::snprintf(
      line, sizeof(line),
      "not profiling: the limits on memory (ulimit -v, -d) leave %lld MiB, %lld are needed",
      static_cast<long long>(left >> 20U), static_cast<long long>(kSpaceNeeded >> 20U));
  WarnBeforeStart({line, static_cast<std::size_t>(length)});
  return true;
}

std::string NotProfiling(const Error& why) {
  return "not profiling: " + why.message();
}

// Logs why there will be no file of this operation. Once: there may be many.
int NoOperation() {
  static std::atomic<bool> said{false};
  if (!g_disabled.load() && !said.exchange(true))
    WarnBeforeStart("there will be no profile of one operation: no profiler runs, start one first");
  return WHEREFORE_NOT_RUNNING;
}

bool WriteWhole(const char* path, std::string_view bytes) {
  std::FILE* const file = std::fopen(path, "wbe");
  if (file == nullptr) return false;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && written;
}

}  // namespace
}  // namespace wherefore::sdk

using namespace wherefore::sdk;  // NOLINT(google-build-using-namespace): this file is the border

extern "C" {

int wherefore_start(const wherefore_options* options) noexcept {
  return Guarded([&]() -> int {
    if (options != nullptr && options->size < sizeof(options->size)) return WHEREFORE_INVALID;
    if (g_used.load() && Runtime::Global().started_by_code()) return WHEREFORE_ALREADY_RUNNING;
    if (TooLittleSpace()) return WHEREFORE_UNAVAILABLE;
    RegisterForExit();
    const LoadedOptions loaded = LoadWithCode(options);
    Runtime& runtime = Runtime::Global();
    const auto started = runtime.Start(loaded);
    if (started) return WHEREFORE_OK;
    g_disabled.store(loaded.options.disabled);
    if (loaded.options.disabled) return WHEREFORE_DISABLED;
    if (runtime.running()) return WHEREFORE_ALREADY_RUNNING;
    Log(LogLevel::kWarn, NotProfiling(started.error()));
    return StatusOf(started.error());
  });
}

int wherefore_stop(void) noexcept {
  return Guarded([] {
    Runtime& runtime = Runtime::Global();
    return runtime.Stop(runtime.timeout_ns()) ? WHEREFORE_OK : WHEREFORE_NOT_RUNNING;
  });
}

int wherefore_flush(uint32_t timeout_ms) noexcept {
  return Guarded([&]() -> int {
    if (!Runtime::Global().running()) return WHEREFORE_NOT_RUNNING;
    const std::int64_t deadline = wherefore::MonotonicNs() + timeout_ms * 1'000'000LL;
    if (Runtime::Global().Flush(deadline)) return WHEREFORE_OK;
    return wherefore::MonotonicNs() >= deadline ? WHEREFORE_TIMED_OUT : WHEREFORE_FAILED;
  });
}

int wherefore_running(void) noexcept {
  return Guarded([] { return Runtime::Global().running() ? 1 : 0; });
}

int wherefore_set_enabled(int type, int enabled) noexcept {
  return Guarded([&]() -> int {
    const auto known = ToType(type);
    if (!known) return WHEREFORE_INVALID;
    if (!Runtime::Global().running()) return WHEREFORE_NOT_RUNNING;
    return Report(SetEnabled(*known, enabled != 0));
  });
}

int wherefore_set_rate(int type, double rate) noexcept {
  return Guarded([&]() -> int {
    const auto known = ToType(type);
    if (!known || !std::isfinite(rate) || rate <= 0) return WHEREFORE_INVALID;
    if (!Runtime::Global().running()) return WHEREFORE_NOT_RUNNING;
    return Report(SetRate(*known, rate));
  });
}

int wherefore_get_type_state(int type, wherefore_type_state* out) noexcept {
  return Guarded([&]() -> int {
    const auto known = ToType(type);
    if (!known || out == nullptr || out->size < sizeof(out->size)) return WHEREFORE_INVALID;
    wherefore_type_state state{};
    state.size = std::min(out->size, sizeof(state));
    for (const TypeState& s : TypeStates()) {
      if (s.type != *known) continue;
      state.on = s.on ? 1 : 0;
      state.rate = s.rate;
      s.why.copy(state.why, sizeof(state.why) - 1);
    }
    const bool running = Runtime::Global().running();
    if (!running) {
      state.on = 0;
      std::strcpy(state.why, "the profiler is not running");
    }
    std::memcpy(out, &state, state.size);
    return running ? WHEREFORE_OK : WHEREFORE_NOT_RUNNING;
  });
}

const char* wherefore_status_text(int status) noexcept {
  switch (status) {
    case WHEREFORE_OK:
      return "fine";
    case WHEREFORE_INVALID:
      return "an argument makes no sense";
    case WHEREFORE_ALREADY_RUNNING:
      return "already running";
    case WHEREFORE_NOT_RUNNING:
      return "not running";
    case WHEREFORE_UNAVAILABLE:
      return "cannot work in this process";
    case WHEREFORE_TIMED_OUT:
      return "not done in time";
    case WHEREFORE_DISABLED:
      return "disabled by OTEL_SDK_DISABLED";
    default:
      return "the system refused";
  }
}

const char* wherefore_version(void) noexcept {
  return LibraryVersion();
}

int wherefore_operation_begin(unsigned types, uint64_t* operation) noexcept {
  return Guarded([&]() -> int {
    if (operation == nullptr || types == 0 || types >= 1U << kTypeCount) return WHEREFORE_INVALID;
    *operation = 0;
    if (!Runtime::Global().running()) return NoOperation();
    const auto begun = BeginOperation(types);
    if (!begun) return Report(begun.error());
    *operation = *begun;
    return WHEREFORE_OK;
  });
}

int wherefore_operation_end(uint64_t operation, const char* path) noexcept {
  return Guarded([&]() -> int {
    if (!Runtime::Global().running()) return WHEREFORE_NOT_RUNNING;
    const auto profile = EndOperation(operation);
    if (!profile) return Report(profile.error());
    if (path == nullptr) return WHEREFORE_OK;
    const auto packed = Gzip(*profile);
    if (packed && WriteWhole(path, *packed)) return WHEREFORE_OK;
    Log(LogLevel::kWarn, fmt::format("cannot write {}", path));
    return WHEREFORE_FAILED;
  });
}

}  // extern "C"

namespace wherefore::sdk {
namespace {

// The file this code is in, and whether the dynamic linker was asked to preload it.
bool Preloaded() {
  const char* const list = std::getenv("LD_PRELOAD");  // NOLINT(concurrency-mt-unsafe): before main
  Dl_info own{};
  if (list == nullptr || dladdr(reinterpret_cast<void*>(&Preloaded), &own) == 0) return false;
  const std::string_view path = own.dli_fname == nullptr ? "" : own.dli_fname;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return !name.empty() && std::string_view(list).find(name) != std::string_view::npos;
}

// The executable brings a copy of this library along, linked in: that one is in charge.
bool AnotherCopyIsFirst() {
  Dl_info first{};
  Dl_info own{};
  void* const found = dlsym(RTLD_DEFAULT, "wherefore_start");
  return found != nullptr && dladdr(found, &first) != 0 &&
         dladdr(reinterpret_cast<void*>(&AnotherCopyIsFirst), &own) != 0 &&
         first.dli_fbase != own.dli_fbase;
}

// Programs this one starts are not preloaded.
void LeaveChildrenAlone() {
  std::string rest;
  Dl_info own{};
  dladdr(reinterpret_cast<void*>(&LeaveChildrenAlone), &own);
  const std::string_view path = own.dli_fname;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const char* const preloaded =
      std::getenv("LD_PRELOAD");  // NOLINT(concurrency-mt-unsafe): before main
  std::string_view list = preloaded == nullptr ? "" : preloaded;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(": "), list.size());
    const std::string_view entry = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (entry.empty() || entry.substr(entry.rfind('/') + 1) == name) continue;
    rest += (rest.empty() ? "" : ":") + std::string(entry);
  }
  // NOLINTBEGIN(concurrency-mt-unsafe): before main
  if (rest.empty()) {
    unsetenv("LD_PRELOAD");
  } else {
    setenv("LD_PRELOAD", rest.c_str(), 1);
  }
  // NOLINTEND(concurrency-mt-unsafe)
}

int StartPreloaded() {
  if (AnotherCopyIsFirst()) return WHEREFORE_ALREADY_RUNNING;
  if (TooLittleSpace()) return WHEREFORE_UNAVAILABLE;
  RegisterForExit();
  LoadedOptions loaded = LoadWithCode(nullptr);
  loaded.options.preloaded = true;
  // The first program says what is on; those it starts keep quiet about that, however many they
  // are, unless somebody asked for more.
  constexpr char kSaid[] = "WHEREFORE_SAID";
  // NOLINTBEGIN(concurrency-mt-unsafe): before main
  loaded.options.log_brief =
      std::getenv(kSaid) != nullptr && std::getenv("WHEREFORE_LOG") == nullptr;
  setenv(kSaid, "1", 0);
  // NOLINTEND(concurrency-mt-unsafe)
  const auto started = Runtime::Global().Start(loaded);
  if (!started && !loaded.options.disabled) LogTrouble(NotProfiling(started.error()));
  if (!loaded.options.follow_exec) LeaveChildrenAlone();
  return WHEREFORE_OK;
}

// Chromium's zygote, and that of everything made of it, ends itself when it finds a thread it did
// not start.
bool InsistsOnOneThread(int argc, const char* const* argv) {
  return std::any_of(argv, argv + argc,
                     [](std::string_view word) { return word == "--type=zygote"; });
}

// The C library gives constructors what main gets.
[[gnu::constructor]] void OnLoad(int argc, char** argv, char** /*environment*/) {
  if (Preloaded() && !InsistsOnOneThread(argc, argv)) Guarded(&StartPreloaded);
}

[[gnu::destructor]] void OnExit() {
  if (!g_used.load()) return;
  Guarded([] {
    Runtime::Global().StopAtExit();
    return WHEREFORE_OK;
  });
}

}  // namespace
}  // namespace wherefore::sdk
