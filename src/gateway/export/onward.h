// Onward: passes what waited on disk to the rest of a pipeline, until it is taken. For ends that
// are senders themselves (graph/tail_sampler.h, profiling/waiting_profiles.h).
//
// Threads: one thread passes on and sleeps; Stop from any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "gateway/export/queue.h"
#include "profile/sink.h"

namespace wherefore::gateway {

// What waits, as a fact; a problem if it cannot be written. `what`: "spans".
void AddWaiting(Status& status, const QueueFigures& figures, std::string_view what);

class Onward {
 public:
  // `who`: for the log.
  Onward(std::string who, std::shared_ptr<profile::Sink> next)
      : who_(std::move(who)), next_(std::move(next)) {}

  // Every second, with the same identity, until the data is durable there. What is refused for good
  // is logged. False: stopped meanwhile.
  bool Pass(const profile::WriteRequest& request);
  // False: stopped.
  bool SleepUntil(std::int64_t monotonic_ns);
  // Ends both, for good.
  void Stop();
  [[nodiscard]] profile::Sink& next() { return *next_; }

 private:
  const std::string who_;
  const std::shared_ptr<profile::Sink> next_;
  Mutex mutex_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace wherefore::gateway
