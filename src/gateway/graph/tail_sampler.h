// TailSampler: `tail_sampling` in a pipeline. Spans wait on disk until `decision_wait` after the
// first one of their trace; then the policies say whether the whole trace goes on.
//
// It is an Exporter towards the pipeline before it: what it acknowledged is on disk, synced, in a
// queue of its own. Towards the pipeline behind it, it is a sender that tries again until the data
// is durable there, with the same identity each time.
//
// Threads: Write and status from any thread; a thread of its own decides and passes on.
// Always:  spans of a trace that come after its decision follow it, as long as it is remembered
//          (num_traces). After a restart, traces are decided from what is still waiting together.
// Failure: as a queue's (export/queue.h). A batch that cannot be read any more is dropped, logged
//          and counted.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "gateway/export/exporter.h"
#include "gateway/export/onward.h"
#include "gateway/export/queue.h"
#include "gateway/process/tail_policy.h"

namespace wherefore::gateway {

class TailSampler final : public Exporter {
 public:
  // `id`: "traces tail_sampling". `next` is the rest of the pipeline.
  TailSampler(std::string id, TailOptions options, QueueOptions queue,
              std::shared_ptr<profile::Sink> next);
  ~TailSampler() override { Stop(); }

  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;
  Result<> Start() override;
  void Stop() override;
  [[nodiscard]] Status status() const override;

 private:
  struct Trace {
    TraceFacts facts;
    std::int64_t first_ns = 0;  // monotonic; 0: known from an earlier run
    bool decided = false;
    bool kept = false;
  };

  // Adds what these spans say. `now_ns` 0: they were waiting when the server started.
  void Note(const profile::SpanBatch& batch, std::int64_t now_ns);
  // When all traces of these spans may be decided.
  [[nodiscard]] std::int64_t DueOf(const profile::SpanBatch& batch) const;
  void Decide(profile::SpanBatch& batch);
  void Run();
  void Deliver(const QueuedBatch& queued);

  const std::string id_;
  const TailOptions options_;
  Onward onward_;
  Queue queue_;
  std::thread thread_;
  Counter& kept_;
  Counter& dropped_;
  mutable Mutex mutex_;
  std::map<profile::TraceId, Trace> traces_ GUARDED_BY(mutex_);
  std::deque<profile::TraceId> by_age_ GUARDED_BY(mutex_);  // of traces_, oldest first
};

}  // namespace wherefore::gateway
