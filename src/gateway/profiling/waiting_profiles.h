// WaitingProfiles: `profiling.conditional` for the profiles of one receiver. Profiles with links
// wait on disk for `decision_wait`; then samples of traces that have a request that qualifies
// (trace_table.h) keep their detail, samples of others lose it (reduce.h), and the profile goes on
// into the pipelines. No request seen: kept.
//
// It is an Exporter towards the receiver: what it acknowledged is on disk, synced. While the server
// sheds load, and when too much waits, profiles are decided at once from what is known.
//
// Threads: Write and status from any thread; a thread of its own decides and passes on.
// Failure: as a queue's (export/queue.h). Profiles that cannot be read any more are dropped, logged
//          and counted. After a restart the spans of before are not known: what waited is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/metrics.h"
#include "gateway/export/exporter.h"
#include "gateway/export/onward.h"
#include "gateway/export/queue.h"
#include "gateway/profiling/profiling.h"

namespace wherefore::gateway {

class WaitingProfiles final : public Exporter {
 public:
  // `conditional` null: it was switched off; what still waits goes on as it is. `profiling`
  // outlives it. `next`: the pipelines of the receiver.
  WaitingProfiles(std::string id, std::shared_ptr<const ProfilingConditional> conditional,
                  QueueOptions queue, Profiling& profiling, std::shared_ptr<profile::Sink> next);
  ~WaitingProfiles() override { Stop(); }

  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;
  Result<> Start() override;
  void Stop() override;
  [[nodiscard]] Status status() const override;

 private:
  void Run();
  void Deliver(const QueuedBatch& queued);
  // Takes the detail out of what does not qualify. `shed`: also of what is not known to.
  bool Decide(profile::Batch& batch, std::uint32_t tenant, bool shed);
  // Without waiting.
  void PassAtOnce(profile::WriteRequest request, bool shed,
                  std::function<void(Result<profile::WriteAnswer>)> done);

  const std::string id_;
  const std::shared_ptr<const ProfilingConditional> conditional_;
  Profiling& profiling_;
  Onward onward_;
  Queue queue_;
  std::thread thread_;
};

}  // namespace wherefore::gateway
