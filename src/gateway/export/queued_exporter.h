// QueuedExporter: a queue on disk, consumers that empty it, and a sender. All exporters but debug.
//
// Threads: as exporter.h says; each consumer is a thread.
// Always:  the batch a consumer has taken is finished, halved, or put back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/cancel.h"
#include "base/mutex.h"
#include "gateway/export/exporter.h"
#include "gateway/export/exporter_metrics.h"
#include "gateway/export/queue.h"
#include "gateway/export/retry.h"
#include "gateway/export/sender.h"

namespace wherefore::gateway {

class QueuedExporter final : public Exporter {
 public:
  QueuedExporter(ExporterOptions options, std::unique_ptr<Sender> sender);
  ~QueuedExporter() override;

  Result<> Start() override;
  void Stop() override;
  void Write(profile::WriteRequest request,
             std::function<void(Result<profile::WriteAnswer>)> done) override;
  [[nodiscard]] Status status() const override;

 private:
  void Consume();
  void Deliver(const QueuedBatch& batch);
  // One attempt; false: the batch is done with, in one way or another.
  bool TryAgain(const QueuedBatch& batch, RetryPauses& pauses, std::int64_t first_try_ns);
  // The request of a batch; none if it cannot be sent as it is and was dealt with.
  [[nodiscard]] std::optional<Request> MakeRequest(const QueuedBatch& batch);
  [[nodiscard]] Outcome Send(Request request);
  // What follows from an outcome that is not kSent; true: try again.
  bool DealWith(const QueuedBatch& batch, const Outcome& outcome, RetryPauses& pauses,
                std::int64_t first_try_ns);
  void Sent(const QueuedBatch& batch, const Outcome& outcome);
  void Drop(const QueuedBatch& batch, std::string_view reason, const std::string& message);
  // Two halves in its place, or it is dropped.
  void HalveOrDrop(const QueuedBatch& batch, std::string_view reason, const std::string& message);
  void NoteError(const std::string& message);
  void UpdateGauges() const;

  const ExporterOptions options_;
  const std::unique_ptr<Sender> sender_;
  const std::unique_ptr<ExporterMetrics> metrics_;
  std::unique_ptr<Queue> queue_;
  Gate gate_;
  CancelToken stop_;
  std::vector<std::thread> consumers_;

  Mutex reading_;  // one batch at a time is read and merged, whatever the number of consumers
  mutable Mutex mutex_;
  CondVar sent_something_;
  int sending_ GUARDED_BY(mutex_) = 0;
  std::string last_error_ GUARDED_BY(mutex_);
  std::int64_t last_error_ns_ GUARDED_BY(mutex_) = 0;
  std::int64_t last_sent_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace wherefore::gateway
