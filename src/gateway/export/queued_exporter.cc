#include "gateway/export/queued_exporter.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "gateway/export/queue_entry.h"

namespace wherefore::gateway {
namespace {

using Kind = Outcome::Kind;

}  // namespace

QueuedExporter::QueuedExporter(ExporterOptions options, std::unique_ptr<Sender> sender)
    : options_(std::move(options)),
      sender_(std::move(sender)),
      metrics_(std::make_unique<ExporterMetrics>(options_.id)),
      queue_(std::make_unique<Queue>(options_.queue)),
      gate_(options_.probe_interval_ns) {}

QueuedExporter::~QueuedExporter() {
  Stop();
}

Result<> QueuedExporter::Start() {
  WHEREFORE_RETURN_IF_ERROR(sender_->Start());
  auto opened = queue_->Open();
  if (!opened) return std::move(opened).error().Within(options_.id);
  UpdateGauges();
  for (int i = 0; i < std::max(options_.queue.consumers, 1); ++i)
    consumers_.emplace_back([this] { Consume(); });
  return {};
}

void QueuedExporter::Stop() {
  gate_.Stop();
  queue_->Close();
  {
    // An answer that is nearly there saves the next hop a repeat.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    MutexLock lock(mutex_);
    while (sending_ > 0 && sent_something_.WaitUntil(mutex_, until)) {
    }
  }
  stop_.Cancel();
  for (std::thread& consumer : consumers_) consumer.join();
  consumers_.clear();
  queue_->Unlock();
}

void QueuedExporter::Write(profile::WriteRequest request,
                           std::function<void(Result<profile::WriteAnswer>)> done) {
  const formats::Signal signal = SignalOf(request);
  if (!sender_->Takes(signal)) {
    return done(Error(Code::kUnsupported,
                      fmt::format("{} takes no {}", options_.id,
                                  signal == formats::Signal::kTraces ? "spans" : "profiles")));
  }
  QueueEntry entry = EntryOf(request);
  if (entry.items == 0) return done(std::move(request.decoded));
  const std::uint32_t items = entry.items;
  queue_->Append(std::move(entry), [this, signal, items,
                                    reply = std::move(done)](Result<profile::WriteAnswer> answer) {
    if (!answer) {
      metrics_->EnqueueFailed(signal, items);
    } else if (answer->repeated) {
      metrics_->Repeated();
    }
    UpdateGauges();
    if (!answer) answer = std::move(answer).error().Within(options_.id);
    reply(std::move(answer));
  });
}

void QueuedExporter::Consume() {
  while (const auto batch = queue_->Take()) Deliver(*batch);
}

void QueuedExporter::Deliver(const QueuedBatch& batch) {
  RetryPauses pauses(options_.retry, std::hash<std::uint64_t>()(batch.record.id) ^
                                         static_cast<std::uint64_t>(NowUnixNs()));
  const std::int64_t first_try = MonotonicNs();
  while (TryAgain(batch, pauses, first_try)) metrics_->Retried();
  UpdateGauges();
}

bool QueuedExporter::TryAgain(const QueuedBatch& batch, RetryPauses& pauses,
                              std::int64_t first_try_ns) {
  if (!gate_.Pass()) {
    queue_->PutBack(batch);
    return false;
  }
  auto request = MakeRequest(batch);
  if (!request) {
    gate_.NothingSent();
    return false;
  }
  const Outcome outcome = Send(*std::move(request));
  gate_.Report(outcome);
  if (outcome.kind != Kind::kSent) return DealWith(batch, outcome, pauses, first_try_ns);
  Sent(batch, outcome);
  return false;
}

// Made anew for every attempt, so that batches that wait take no memory.
std::optional<Request> QueuedExporter::MakeRequest(const QueuedBatch& batch) {
  auto bytes = [&] {
    MutexLock lock(reading_);
    return queue_->Read(batch);
  }();
  if (bytes && bytes->size() <= sender_->max_request_bytes())
    return Request{batch.signal, batch.tenant, *std::move(bytes)};
  if (bytes) {
    HalveOrDrop(batch, "too_large",
                fmt::format("a request of {}, more than can be sent",
                            FormatBytes(static_cast<std::int64_t>(bytes->size()))));
  } else if (bytes.error().code() == Code::kLimit) {
    Drop(batch, "too_large", bytes.error().message());
  } else {
    HalveOrDrop(batch, "damaged", bytes.error().message());
  }
  return std::nullopt;
}

Outcome QueuedExporter::Send(Request request) {
  {
    MutexLock lock(mutex_);
    ++sending_;
  }
  Outcome outcome = sender_->Send(std::move(request), stop_);
  MutexLock lock(mutex_);
  if (--sending_ == 0) sent_something_.NotifyAll();
  return outcome;
}

bool QueuedExporter::DealWith(const QueuedBatch& batch, const Outcome& outcome, RetryPauses& pauses,
                              std::int64_t first_try_ns) {
  if (stop_.cancelled()) {
    queue_->PutBack(batch);
    return false;
  }
  NoteError(outcome.message);
  if (outcome.kind == Kind::kTooLarge || outcome.kind == Kind::kRefused) {
    if (outcome.kind == Kind::kTooLarge) {
      HalveOrDrop(batch, "too_large", outcome.message);
    } else {
      Drop(batch, "refused", outcome.message);
    }
    return false;
  }
  if (batch.senders_wait) {
    queue_->Finish(batch, Error(Code::kUnavailable, outcome.message));
    return false;
  }
  if (outcome.kind == Kind::kMisconfigured) return true;
  const std::int64_t pause = pauses.NextNs(outcome.retry_after_ns);
  const std::int64_t max_elapsed = options_.retry.max_elapsed_ns;
  const bool too_late = max_elapsed > 0 && MonotonicNs() + pause - first_try_ns > max_elapsed;
  if (!options_.retry.enabled || too_late) {
    Drop(batch, too_late ? "gave_up" : "retry_off", outcome.message);
    return false;
  }
  if (gate_.Sleep(pause)) return true;
  queue_->PutBack(batch);
  return false;
}

void QueuedExporter::Sent(const QueuedBatch& batch, const Outcome& outcome) {
  metrics_->Sent(batch.signal, batch.items);
  if (outcome.rejected > 0) metrics_->Rejected(outcome.rejected);
  if (!outcome.message.empty()) {
    static LogLimiter limiter(1);
    if (limiter.Allow()) {
      Log(LogLevel::kWarn, "the next hop kept only a part",
          {{"exporter", options_.id},
           {"rejected", outcome.rejected},
           {"message", outcome.message}});
    }
  }
  {
    MutexLock lock(mutex_);
    last_sent_ns_ = NowUnixNs();
  }
  queue_->Finish(batch, profile::WriteAnswer{outcome.rejected, outcome.message, false});
}

void QueuedExporter::Drop(const QueuedBatch& batch, std::string_view reason,
                          const std::string& message) {
  metrics_->Dropped(batch.signal, batch.items, reason);
  NoteError(message);
  queue_->Finish(batch, Error(Code::kInvalid, message));
}

void QueuedExporter::HalveOrDrop(const QueuedBatch& batch, std::string_view reason,
                                 const std::string& message) {
  constexpr std::size_t kMostHalvings = 24;
  const bool single = batch.record.entries.size() == 1;
  // A damaged request has no halves.
  if (single && (reason == "damaged" || batch.record.path.size() >= kMostHalvings))
    return Drop(batch, reason, message);
  const auto halved = queue_->Halve(batch);
  if (halved) return;
  // Not now: the disk may be full for a while.
  NoteError(halved.error().message());
  (void)gate_.Sleep(kNsPerSecond);
  queue_->PutBack(batch);
}

void QueuedExporter::NoteError(const std::string& message) {
  static LogLimiter limiter(10);
  if (limiter.Allow())
    Log(LogLevel::kWarn, "exporting failed", {{"exporter", options_.id}, {"error", message}});
  MutexLock lock(mutex_);
  last_error_ = message;
  last_error_ns_ = NowUnixNs();
}

void QueuedExporter::UpdateGauges() const {
  const QueueFigures figures = queue_->figures();
  metrics_->SetQueue(figures.size, options_.queue.size,
                     figures.oldest_ns == 0 ? 0 : NowUnixNs() - figures.oldest_ns);
}

Status QueuedExporter::status() const {
  UpdateGauges();
  const QueueFigures figures = queue_->figures();
  const ExporterMetrics::Totals totals = metrics_->totals();
  const auto count = [](std::uint64_t n) { return FormatCount(static_cast<std::int64_t>(n)); };
  Status status{.part = "exporter " + options_.id};
  const auto fact = [&](std::string name, std::string value) {
    status.facts.emplace_back(std::move(name), std::move(value));
  };
  fact("queued requests", count(figures.requests));
  fact("queued bytes", FormatBytes(static_cast<std::int64_t>(figures.bytes)));
  fact("queue", fmt::format("{:.1f} % full", 100.0 * static_cast<double>(figures.size) /
                                                 static_cast<double>(std::max<std::uint64_t>(
                                                     options_.queue.size, 1))));
  if (figures.oldest_ns != 0)
    fact("oldest", FormatDuration(std::max<std::int64_t>(NowUnixNs() - figures.oldest_ns, 0)));
  fact("sent requests", count(totals.sent_requests));
  fact("sent samples and spans", count(totals.sent_items));
  if (totals.retries > 0) fact("retries", count(totals.retries));
  if (totals.rejected > 0) fact("rejected by the next hop", count(totals.rejected));
  if (totals.not_queued_items > 0) fact("not queued", count(totals.not_queued_items));
  for (const auto& [reason, items] : totals.dropped_items)
    fact("dropped (" + reason + ")", count(items));
  MutexLock lock(mutex_);
  if (!last_error_.empty()) {
    fact("last error", last_error_);
    fact("last error at", FormatTime(last_error_ns_));
  }
  if (gate_.misconfigured()) {
    status.problems.push_back(
        {.what = options_.id + ": the next hop refuses every request: " + last_error_,
         .fix = "Correct its address or credentials; the queue is kept and tried once a minute."});
  } else if (!last_error_.empty() && last_error_ns_ > last_sent_ns_ && figures.requests > 0) {
    status.problems.push_back(
        {.what = options_.id + ": nothing can be sent: " + last_error_,
         .fix = "Look whether the next hop runs and can be reached; the queue is kept."});
  }
  if (!figures.write_error.empty()) {
    status.problems.push_back(
        {.what = options_.id + ": the queue cannot be written: " + figures.write_error,
         .fix = "Free some disk space; senders are told to come again.",
         .blocks_writes = true});
  }
  if (figures.damaged > 0) {
    status.problems.push_back({.what = fmt::format("{}: {} places of queue files could not be read",
                                                   options_.id, figures.damaged),
                               .fix = "See the .bad files in " + options_.queue.directory +
                                      "; look for a failing disk."});
  }
  return status;
}

}  // namespace wherefore::gateway
