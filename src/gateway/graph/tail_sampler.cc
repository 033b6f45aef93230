#include "gateway/graph/tail_sampler.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "formats/formats.h"
#include "gateway/export/queue_entry.h"

namespace wherefore::gateway {
namespace {

// Everything that waits is one batch, once the oldest has waited long enough.
QueueOptions Waiting(QueueOptions queue, std::int64_t wait_ns) {
  queue.batch = BatchOptions{.timeout_ns = wait_ns, .min_size = std::uint64_t{1} << 60};
  return queue;
}

Counter& CounterOf(const std::string& id, const char* decision) {
  return Metrics::Global().GetCounter("wherefore_tail_sampling_spans_total",
                                      "Spans that tail_sampling decided on.",
                                      {{"processor", id}, {"decision", decision}});
}

}  // namespace

TailSampler::TailSampler(std::string id, TailOptions options, QueueOptions queue,
                         std::shared_ptr<profile::Sink> next)
    : id_(std::move(id)),
      options_(std::move(options)),
      onward_(id_, std::move(next)),
      queue_(Waiting(std::move(queue), options_.decision_wait_ns)),
      kept_(CounterOf(id_, "kept")),
      dropped_(CounterOf(id_, "dropped")) {}

Result<> TailSampler::Start() {
  WHEREFORE_RETURN_IF_ERROR(queue_.Open());
  thread_ = std::thread([this] { Run(); });
  return {};
}

void TailSampler::Stop() {
  onward_.Stop();
  queue_.Close();
  if (thread_.joinable()) thread_.join();
  queue_.Unlock();
}

void TailSampler::Write(profile::WriteRequest request,
                        std::function<void(Result<profile::WriteAnswer>)> done) {
  Note(std::get<profile::SpanBatch>(request.data), MonotonicNs());
  queue_.Append(EntryOf(request), std::move(done));
}

void TailSampler::Note(const profile::SpanBatch& batch, std::int64_t now_ns) {
  MutexLock lock(mutex_);
  for (const profile::Span& span : batch.spans) {
    const auto [entry, added] = traces_.try_emplace(span.trace);
    if (added) {
      entry->second.first_ns = now_ns;
      by_age_.push_back(span.trace);
    }
    if (!entry->second.decided) entry->second.facts.Add(batch, span, options_.policies);
  }
  while (traces_.size() > options_.num_traces) {
    traces_.erase(by_age_.front());
    by_age_.pop_front();
  }
}

std::int64_t TailSampler::DueOf(const profile::SpanBatch& batch) const {
  MutexLock lock(mutex_);
  std::int64_t due = 0;
  for (const profile::Span& span : batch.spans) {
    const auto found = traces_.find(span.trace);
    if (found == traces_.end() || found->second.first_ns == 0) continue;
    due = std::max(due, found->second.first_ns + options_.decision_wait_ns);
  }
  return due;
}

void TailSampler::Decide(profile::SpanBatch& batch) {
  MutexLock lock(mutex_);
  const std::size_t before = batch.spans.size();
  std::erase_if(batch.spans, [&](const profile::Span& span) REQUIRES(mutex_) {
    const auto found = traces_.find(span.trace);
    if (found == traces_.end()) {  // forgotten: there are more traces than num_traces
      TraceFacts facts;
      facts.Add(batch, span, options_.policies);
      return !facts.Kept(span.trace, options_.policies);
    }
    Trace& trace = found->second;
    if (!trace.decided) {
      trace.decided = true;
      trace.kept = trace.facts.Kept(span.trace, options_.policies);
    }
    return !trace.kept;
  });
  kept_.Add(batch.spans.size());
  dropped_.Add(before - batch.spans.size());
}

void TailSampler::Run() {
  while (const auto batch = queue_.Take()) Deliver(*batch);
}

void TailSampler::Deliver(const QueuedBatch& queued) {
  const Result<std::string> bytes = queue_.Read(queued);
  auto decoded = bytes ? formats::DecodeOtlpTraces(std::make_shared<const std::string>(*bytes))
                       : Result<formats::DecodedSpans>(bytes.error());
  if (!decoded) {
    Log(LogLevel::kError, "spans that waited for a decision cannot be read any more",
        {{"processor", id_}, {"spans", queued.items}, {"error", decoded.error().message()}});
    dropped_.Add(queued.items);
    return queue_.Finish(queued, profile::WriteAnswer{});
  }
  Note(decoded->data, 0);  // after a restart they are not known yet
  if (!onward_.SleepUntil(DueOf(decoded->data))) return queue_.PutBack(queued);
  Decide(decoded->data);
  profile::WriteRequest request = RequestOf(queued, *bytes);
  const bool nothing = decoded->data.spans.empty();
  request.data = std::move(decoded->data);
  if (!nothing && !onward_.Pass(request)) return queue_.PutBack(queued);
  queue_.Finish(queued, profile::WriteAnswer{});
}

Status TailSampler::status() const {
  Status status;
  status.part = id_;
  AddWaiting(status, queue_.figures(), "spans");
  status.facts.emplace_back("spans kept", FormatCount(static_cast<std::int64_t>(kept_.value())));
  status.facts.emplace_back("spans dropped",
                            FormatCount(static_cast<std::int64_t>(dropped_.value())));
  return status;
}

}  // namespace wherefore::gateway
