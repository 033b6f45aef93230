#include "gateway/profiling/waiting_profiles.h"

#include <utility>

#include "base/log.h"
#include "formats/formats.h"
#include "gateway/export/queue_entry.h"
#include "gateway/profiling/reduce.h"
#include "profile/reduced.h"

namespace wherefore::gateway {
namespace {

using Verdict = TraceTable::Verdict;

// What has waited long enough, together, but no more than the store likes as one request.
QueueOptions Waiting(QueueOptions queue, const ProfilingConditional* conditional) {
  queue.size = Profiling::kMostWaitingBytes;
  queue.batch = BatchOptions{.timeout_ns = conditional ? conditional->decision_wait_ns : 0,
                             .min_size = std::uint64_t{1} << 60,
                             .max_size = 4u << 20,
                             .sizer = Sizer::kBytes,
                             .only_due = true};
  return queue;
}

Counter& SamplesOf(const char* outcome) {
  return Metrics::Global().GetCounter(
      "wherefore_conditional_samples_total",
      "Samples with links that profiling.conditional decided on: their request qualified, none "
      "did, none was seen (kept), or load was shed.",
      {{"outcome", outcome}});
}

}  // namespace

WaitingProfiles::WaitingProfiles(std::string id,
                                 std::shared_ptr<const ProfilingConditional> conditional,
                                 QueueOptions queue, Profiling& profiling,
                                 std::shared_ptr<profile::Sink> next)
    : id_(std::move(id)),
      conditional_(std::move(conditional)),
      profiling_(profiling),
      onward_(id_, std::move(next)),
      queue_(Waiting(std::move(queue), conditional_.get())) {}

Result<> WaitingProfiles::Start() {
  WHEREFORE_RETURN_IF_ERROR(queue_.Open());
  thread_ = std::thread([this] { Run(); });
  return {};
}

void WaitingProfiles::Stop() {
  onward_.Stop();
  queue_.Close();
  if (thread_.joinable()) thread_.join();
  queue_.Unlock();
}

void WaitingProfiles::Write(profile::WriteRequest request,
                            std::function<void(Result<profile::WriteAnswer>)> done) {
  const auto& batch = std::get<profile::Batch>(request.data);
  std::vector<TraceTable::LinkedCpu> cpu = LinkedCpuOf(batch);
  // It may be called after this object is gone.
  const auto finish = [&profiling = profiling_, tenant = request.tenant, linked = std::move(cpu),
                       reply = std::move(done)](Result<profile::WriteAnswer> answer) {
    if (answer && !answer->repeated) profiling.traces().NoteCpu(tenant, linked);
    reply(std::move(answer));
  };
  const bool shed = profiling_.level() > 0;
  const bool full =
      queue_.figures().bytes + request.body_bytes > Profiling::kMostWaitingBytes / 8 * 7;
  if (shed || full || !conditional_) return PassAtOnce(std::move(request), shed, finish);
  queue_.Append(EntryOf(request), finish);
}

void WaitingProfiles::PassAtOnce(profile::WriteRequest request, bool shed,
                                 std::function<void(Result<profile::WriteAnswer>)> done) {
  // The first time it may have waited, and went on under another identity.
  if (auto known = queue_.Known(request.identity)) return done(*std::move(known));
  static Counter& at_once = Metrics::Global().GetCounter(
      "wherefore_conditional_at_once_total",
      "Requests that profiling.conditional decided on without waiting: too much waits, or load is "
      "shed.");
  at_once.Add(1);
  if (Decide(std::get<profile::Batch>(request.data), request.tenant, shed)) {
    request.otlp_bytes.reset();
  }
  onward_.next().Write(std::move(request), std::move(done));
}

bool WaitingProfiles::Decide(profile::Batch& batch, std::uint32_t tenant, bool shed) {
  if (!conditional_ && !shed) return false;
  static Counter& kept = SamplesOf("kept");
  static Counter& reduced = SamplesOf("reduced");
  static Counter& no_request = SamplesOf("no_request");
  static Counter& sheds = SamplesOf("shed");
  const std::vector<Verdict> verdicts = profiling_.traces().Ask(tenant, batch);
  std::vector<bool> keeps(verdicts.size());
  for (std::size_t i = 0; i < keeps.size(); ++i) {
    keeps[i] = verdicts[i] == Verdict::kQualifies || (!shed && verdicts[i] == Verdict::kNoRequest);
  }
  for (const profile::Id link : batch.samples.link) {
    if (link == 0) continue;
    const bool known = verdicts[link] != Verdict::kNoRequest;
    Counter& outcome = verdicts[link] == Verdict::kQualifies ? kept
                       : shed                                ? sheds
                       : known                               ? reduced
                                                             : no_request;
    outcome.Add(1);
  }
  return ReduceDetail(batch, keeps, shed ? profile::kReducedShed : profile::kReducedConditional);
}

void WaitingProfiles::Run() {
  while (const auto batch = queue_.Take()) Deliver(*batch);
}

void WaitingProfiles::Deliver(const QueuedBatch& queued) {
  const Result<std::string> bytes = queue_.Read(queued);
  auto decoded = bytes ? formats::DecodeOtlpProfiles(std::make_shared<const std::string>(*bytes))
                       : Result<formats::DecodedProfiles>(bytes.error());
  if (!decoded) {
    static Counter& lost = SamplesOf("damaged");
    lost.Add(queued.items);
    Log(LogLevel::kError, "profiles that waited for a decision cannot be read any more",
        {{"queue", id_}, {"samples", queued.items}, {"error", decoded.error().message()}});
    return queue_.Finish(queued, profile::WriteAnswer{});
  }
  profile::WriteRequest request = RequestOf(queued, *bytes);
  (void)Decide(decoded->data, request.tenant, false);
  request.data = std::move(decoded->data);
  if (!onward_.Pass(request)) return queue_.PutBack(queued);
  queue_.Finish(queued, profile::WriteAnswer{});
}

Status WaitingProfiles::status() const {
  Status status;
  status.part = id_;
  AddWaiting(status, queue_.figures(), "profiles");
  return status;
}

}  // namespace wherefore::gateway
