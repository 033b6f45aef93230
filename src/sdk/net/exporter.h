// Exporter: takes finished OTLP requests and gets them to the server, or into files.
//
// One thread of its own does everything that can wait. Requests that cannot be sent are kept and
// tried again with growing pauses, as OTLP says: 429, 502, 503 and 504 and a broken connection are
// worth another try, every other answer is final. Memory is bounded: when more than
// kMaxQueuedBytes wait, the oldest are dropped, counted, and the log says so once in a while.
//
// All functions from any thread, not from signal handlers. None throws. After fork the child calls
// AbandonInChild before anything else; what waited then is the parent's to send.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sdk/config/options.h"
#include "sdk/net/export_types.h"
#include "sdk/net/opamp_client.h"

namespace wherefore::sdk {

class ExportWorker;

class Exporter {
 public:
  // `before_tls_ends` runs when the program exits, should OpenSSL be in use: a last chance to Stop.
  // `host`: what the server may ask of this process; empty: it is not asked.
  explicit Exporter(const Options& options, void (*before_tls_ends)() = nullptr,
                    const OpampHost& host = {});
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // False when the system gave no thread; requests then wait in memory. In a preloaded library the
  // thread comes with the first request: most programs a script starts have none.
  bool Start();
  // Sends what waits until `deadline_ns` (monotonic), then ends the thread; the rest is dropped.
  void Stop(std::int64_t deadline_ns);

  // Something will be sent soon. TLS is loaded now, because at exit it would be too late.
  void Expect();
  // The system will give no more threads after this: starts ours now.
  void StartThread();
  // Asks the server now, and from then on: without it the first request begins that.
  void Poll();
  void Enqueue(Signal signal, std::string request);
  // True when everything enqueued since the last call, and before this one, has arrived. Losses
  // between two calls make the second return false.
  bool Flush(std::int64_t deadline_ns);

  [[nodiscard]] ExporterStatistics Statistics() const;
  // Of its thread, in nanoseconds.
  [[nodiscard]] std::int64_t CpuTime() const;

  // In a forked child, at once: an empty queue and no connections. Nothing of the parent's is
  // touched.
  void AbandonInChild();
  // In a forked child that continues: a new thread, if the parent had one.
  void AfterFork();

 private:
  const Options options_;
  void (*const before_tls_ends_)();
  const OpampHost host_;
  // A child abandons its parent's: its locks and threads are in no known state.
  ExportWorker* worker_;
  bool started_ = false;
  int pid_;
};

}  // namespace wherefore::sdk
