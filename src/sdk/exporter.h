// Exporter: takes finished OTLP requests and gets them to the server, or into files.
//
// One thread of its own does everything that can wait. Requests that cannot be sent are kept and
// tried again with growing pauses, as OTLP says: 429, 502, 503 and 504 and a broken connection are
// worth another try, every other answer is final. Memory is bounded: when more than kMaxQueuedBytes
// wait, the oldest are dropped, counted, and the log says so once in a while.
//
// All functions from any thread, not from signal handlers. None throws. After fork the child calls
// AbandonInChild before anything else; what waited then is the parent's to send.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sdk/options.h"

namespace wherefore::sdk {

enum class Signal : std::uint8_t { kProfiles, kTraces };
inline constexpr std::size_t kSignalCount = 2;

struct ExporterStatistics {
  std::uint64_t sent = 0;        // requests that arrived (or were written)
  std::uint64_t sent_bytes = 0;  // as they went out
  std::uint64_t retries = 0;
  std::uint64_t rejected = 0;  // final answers other than success
  std::uint64_t dropped = 0;   // for want of memory or time
};

class Exporter {
 public:
  static constexpr std::size_t kMaxQueuedBytes = 16 << 20;

  // `before_tls_ends` runs when the program exits, should OpenSSL be in use: a last chance to Stop.
  explicit Exporter(const Options& options, void (*before_tls_ends)() = nullptr);
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // False when the system gave no thread; requests then wait in memory. In a preloaded library the
  // thread comes with the first request: most programs a script starts have none.
  bool Start();
  // Sends what waits until `deadline_ns` (monotonic), then ends the thread; the rest is dropped.
  void Stop(std::int64_t deadline_ns);

  // Something will be sent before long. TLS gets ready now: it must be before the program ends.
  void Expect();
  // The system will give no thread from here on: the one there is to be starts now.
  void StartThread();
  void Enqueue(Signal signal, std::string request);
  // True when everything enqueued since the last call, and before this one, has arrived. What was
  // lost between two calls is told by the second.
  bool Flush(std::int64_t deadline_ns);

  [[nodiscard]] ExporterStatistics Statistics() const;
  // Of its thread, in nanoseconds.
  [[nodiscard]] std::int64_t CpuTime() const;

  // In a forked child, at once: an empty queue and no connections. Nothing of the parent's is
  // touched.
  void AbandonInChild();
  // In a forked child that goes on: a new thread, if there was one.
  void AfterFork();

 private:
  class Worker;
  const Options options_;
  void (*const before_tls_ends_)();
  Worker* worker_;  // a child abandons its parent's: its locks and threads are in no known state
  bool started_ = false;
  int pid_;
};

}  // namespace wherefore::sdk
