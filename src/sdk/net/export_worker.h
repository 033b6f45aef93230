// ExportWorker: the queue, the thread that empties it, and the lanes it sends through.
//
// A lane is a signal's address with its own connection and its own pause, so that a trace receiver
// that is down does not hold up profiles. From the first request on the thread also asks the
// server, once per upload_interval, what it wants of this process (opamp_client.h).
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <random>
#include <string>

#include "base/mutex.h"
#include "sdk/config/options.h"
#include "sdk/net/export_types.h"
#include "sdk/net/http_client.h"
#include "sdk/net/opamp_client.h"
#include "sdk/platform/background_thread.h"

namespace wherefore::sdk {

class ExportWorker {
 public:
  ExportWorker(const Options& options, void (*before_tls_ends)(), const OpampHost& host);
  ~ExportWorker();
  ExportWorker(const ExportWorker&) = delete;
  ExportWorker& operator=(const ExportWorker&) = delete;

  bool Start();
  void Stop(std::int64_t deadline_ns);
  void Expect();
  void StartThreadNow();
  void PollNow();
  void Enqueue(Signal signal, std::string request);
  bool Flush(std::int64_t deadline_ns);
  [[nodiscard]] ExporterStatistics Statistics() const;
  [[nodiscard]] std::int64_t CpuTime() const { return thread_.CpuTime(); }
  // The child's copies of open sockets. Takes no lock.
  void CloseAfterFork();

 private:
  struct Item {
    std::string body;
    bool compressed = false;
    std::uint64_t number = 0;  // counts up over both signals
  };
  struct Lane {
    Signal signal = {};
    const TextPairs* headers = nullptr;
    std::unique_ptr<HttpClient> client;  // the thread's own; null without a usable address
    std::deque<Item> queue;
    std::int64_t not_before_ns = 0;  // pause after a failure
    std::int64_t pause_ns = 0;
    bool told_to_wait = false;  // Retry-After: not even a flush comes earlier
    bool gave_up = false;       // failed once after Stop
    std::int64_t next_log_ns = 0;
  };
  struct Job {
    Lane* lane = nullptr;  // null: the server is to be asked
    Item item;
  };
  enum class Fate : std::uint8_t { kArrived, kAgain, kRejected };
  struct Outcome {
    Fate fate = Fate::kArrived;
    std::int64_t wait_ns = -1;  // what the server asked for
    std::string why;
  };

  bool StartThread() REQUIRES(mutex_);
  void Run();
  // The next request that is due, taken out of its queue. Nothing: the thread is to end.
  std::optional<Job> WaitForJob();
  // The lane with something due; null: `wait_until` is when there may be.
  Lane* NextDue(std::int64_t now, std::int64_t& wait_until) REQUIRES(mutex_);
  void Finish(Lane& lane, Item item, const Outcome& outcome) REQUIRES(mutex_);
  void DropOldest() REQUIRES(mutex_);
  [[nodiscard]] Outcome Deliver(Lane& lane, Item& item);
  void Poll();
  void SayGoodbye();
  [[nodiscard]] Outcome WriteFile(Signal signal, const Item& item);
  void Explain(Lane& lane, const Outcome& outcome);

  [[nodiscard]] bool UsesTls() const;

  const Options& options_;
  void (*const before_tls_ends_)();
  BackgroundThread thread_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::array<Lane, kSignalCount> lanes_;
  std::size_t queued_bytes_ GUARDED_BY(mutex_) = 0;
  std::unique_ptr<OpampClient> opamp_;                   // the thread's own; null: nobody is asked
  std::int64_t poll_at_ GUARDED_BY(mutex_) = INT64_MAX;  // monotonic; INT64_MAX: not yet
  bool polling_ GUARDED_BY(mutex_) = false;
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  std::uint64_t in_flight_ GUARDED_BY(mutex_) = 0;  // the number being sent, or 0
  bool started_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::int64_t stop_by_ns_ GUARDED_BY(mutex_) = 0;
  ExporterStatistics statistics_ GUARDED_BY(mutex_);
  std::uint64_t losses_reported_ GUARDED_BY(mutex_) =
      0;  // dropped and rejected when Flush last returned
  std::minstd_rand random_;
  std::uint64_t files_ = 0;
};

}  // namespace wherefore::sdk
