// Exporter: an end of a pipeline that sends data on. The store is the other kind of end; both are
// Sinks, so a pipeline does not tell them apart.
//
// Threads: Write from any thread. Start before the first Write, Stop after the last one returned.
// Always:  `done` is called with a value only after the data is on this disk, synced, in the
//          exporter's queue (or, with `wait_for_result`, after the next hop took it).
// Failure: a full queue is kLimit, a queue that cannot be written kUnavailable: the sender comes
//          again. What the next hop refuses for good is counted, logged and dropped.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/status.h"
#include "profile/sink.h"

namespace wherefore::gateway {

// What a size counts.
enum class Sizer : std::uint8_t { kRequests, kItems, kBytes };  // items: samples, spans

struct RetryOptions {
  bool enabled = true;
  std::int64_t initial_interval_ns = 5'000'000'000;
  double randomization_factor = 0.5;
  double multiplier = 1.5;
  std::int64_t max_interval_ns = 30'000'000'000;
  std::int64_t max_elapsed_ns = 0;  // 0: never given up
  bool operator==(const RetryOptions&) const = default;
};

// How a queue is emptied: so much together, or whatever is there after so long.
struct BatchOptions {
  std::int64_t timeout_ns = 200'000'000;  // 0: at once
  std::uint64_t min_size = 8192;
  std::uint64_t max_size = 0;  // 0: no limit
  Sizer sizer = Sizer::kItems;
  bool only_due = false;  // only what has waited for `timeout` itself
  bool operator==(const BatchOptions&) const = default;
};

struct QueueOptions {
  std::string directory;  // of this exporter's queue alone
  std::uint64_t size = std::uint64_t{1} << 30;
  Sizer sizer = Sizer::kBytes;
  int consumers = 10;
  bool wait_for_result = false;  // the answer waits for the next hop's
  bool block_on_overflow = false;
  std::optional<BatchOptions> batch;  // unset: each request by itself
  bool operator==(const QueueOptions&) const = default;
};

struct TlsOptions {
  bool insecure = false;  // plain text
  bool skip_verify = false;
  std::string ca_file;  // replaces the system's authorities
  bool include_system_authorities = false;
  std::string certificate_file;
  std::string key_file;
  std::string server_name;
  std::string min_version = "1.2";
  bool operator==(const TlsOptions&) const = default;
};

struct ExporterOptions {
  enum class Kind : std::uint8_t { kOtlpGrpc, kOtlpHttp, kPyroscope, kFile, kDebug };
  struct File {
    std::string path;
    bool proto = false;  // else JSON, a line each
    bool zstd = false;
    std::uint64_t max_bytes = 0;  // 0: no rotation
    int max_days = 0;
    int max_backups = 100;
    bool append = false;
    bool create_directory = false;
    bool operator==(const File&) const = default;
  };
  struct Debug {
    enum class Verbosity : std::uint8_t { kBasic, kNormal, kDetailed };
    Verbosity verbosity = Verbosity::kBasic;
    int sampling_initial = 2;
    int sampling_thereafter = 1;
    bool operator==(const Debug&) const = default;
  };

  std::string id;  // "otlphttp/traces", as the configuration names it
  Kind kind = Kind::kOtlpHttp;
  std::string endpoint;         // host:port, or a URL
  std::string traces_endpoint;  // otlphttp: used as they are, instead of endpoint + path
  std::string profiles_endpoint;
  std::map<std::string, std::string> headers;
  std::int64_t timeout_ns = 30'000'000'000;
  std::string compression = "gzip";  // gzip, zstd, none
  int compression_level = 0;         // 0: gzip 1, zstd 3
  bool json = false;                 // otlphttp
  TlsOptions tls;
  RetryOptions retry;
  // While the next hop answers 401, 403 or 404, one request in this time finds out whether it still
  // does.
  std::int64_t probe_interval_ns = 60'000'000'000;
  QueueOptions queue;
  File file;
  Debug debug;
  // Equal options: a reload can keep the exporter.
  bool operator==(const ExporterOptions&) const = default;
};

class Exporter : public profile::Sink {
 public:
  virtual Result<> Start() = 0;
  // Stops sending; requests under way get five seconds. What is still queued stays on disk for the
  // next exporter with this directory, which may start when this returns. Not started again.
  virtual void Stop() = 0;
  [[nodiscard]] virtual Status status() const = 0;
};

// Opens nothing yet; options that cannot work are kInvalid, with the option's name.
[[nodiscard]] Result<std::unique_ptr<Exporter>> MakeExporter(ExporterOptions options);

}  // namespace wherefore::gateway
