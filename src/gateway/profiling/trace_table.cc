#include "gateway/profiling/trace_table.h"

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "profile/type_id.h"

namespace wherefore::gateway {
namespace {

constexpr std::uint8_t kServer = 2;
constexpr std::uint8_t kConsumer = 5;
constexpr std::uint8_t kFailed = 2;
constexpr std::uint32_t kIsRemote = 0x200;  // SpanFlags: the parent is in another process

bool IsRequest(const profile::Span& span) {
  return span.parent == profile::SpanId{} || (span.flags & kIsRemote) != 0 ||
         span.kind == kServer || span.kind == kConsumer;
}

}  // namespace

void TraceTable::SetRules(const std::optional<ProfilingConditional>& rules) {
  MutexLock lock(mutex_);
  rules_ = rules;
}

TraceTable::Key TraceTable::KeyOf(std::uint32_t tenant, const profile::TraceId& trace) {
  Key key{};
  std::memcpy(key.data(), &tenant, sizeof(tenant));
  std::memcpy(key.data() + sizeof(tenant), trace.data(), trace.size());
  return key;
}

std::uint64_t TraceTable::SpanKey(std::uint32_t tenant, const profile::SpanId& span) {
  std::uint64_t key = 0;
  std::memcpy(&key, span.data(), sizeof(key));
  return key ^ (std::uint64_t{tenant} * 0x9e3779b97f4a7c15);
}

const TraceTable::Key* TraceTable::KeyOf(std::uint32_t tenant, const profile::Link& link,
                                         Key& room) const {
  if (link.trace != profile::TraceId{}) {
    room = KeyOf(tenant, link.trace);
    return &room;
  }
  const auto found = trace_of_span_.find(SpanKey(tenant, link.span));
  return found == trace_of_span_.end() ? nullptr : &found->second;
}

TraceTable::Trace& TraceTable::TraceOf(const Key& key) {
  const auto [at, fresh] = traces_.try_emplace(key);
  if (!fresh) return at->second;
  by_age_.push_back(key);
  while (traces_.size() > most_traces_) {
    traces_.erase(by_age_.front());
    by_age_.pop_front();
  }
  return at->second;
}

TraceTable::InService& TraceTable::ServiceOf(Trace& trace, std::uint64_t service) {
  for (InService& in : trace.services) {
    if (in.service == service) return in;
  }
  return trace.services.emplace_back(InService{.service = service});
}

void TraceTable::CompareCpu(Trace& trace, const InService& in) const {
  if (!rules_ || !rules_->cpu || in.longest_ns <= 0) return;
  trace.qualifies |=
      static_cast<double>(in.cpu_ns) >= *rules_->cpu * static_cast<double>(in.longest_ns);
}

void TraceTable::NoteSpan(std::uint32_t tenant, const profile::Span& span, std::uint64_t service) {
  const Key key = KeyOf(tenant, span.trace);
  const std::uint64_t span_key = SpanKey(tenant, span.id);
  if (trace_of_span_.try_emplace(span_key, key).second) spans_by_age_.push_back(span_key);
  const std::size_t most_spans = 4 * most_traces_;
  while (trace_of_span_.size() > most_spans) {
    trace_of_span_.erase(spans_by_age_.front());
    spans_by_age_.pop_front();
  }
  if (!IsRequest(span) || span.end_ns == 0) return;
  Trace& trace = TraceOf(key);
  trace.request = true;
  const auto took = static_cast<std::int64_t>(std::min<std::uint64_t>(
      span.end_ns > span.start_ns ? span.end_ns - span.start_ns : 0, INT64_MAX));
  if (rules_ && rules_->slow_request_ns) trace.qualifies |= took >= *rules_->slow_request_ns;
  if (rules_ && rules_->errors.value_or(false)) trace.qualifies |= span.status_code == kFailed;
  if (!rules_ || !rules_->cpu) return;
  InService& in = ServiceOf(trace, service);
  in.longest_ns = std::max(in.longest_ns, took);
  CompareCpu(trace, in);
}

void TraceTable::NoteSpans(std::uint32_t tenant, const profile::SpanBatch& batch) {
  std::vector<std::uint64_t> services;
  for (const profile::Resource& resource : batch.resources) {
    services.push_back(HashString(profile::ServiceName(batch, resource)).low);
  }
  MutexLock lock(mutex_);
  for (const profile::Span& span : batch.spans) NoteSpan(tenant, span, services[span.resource]);
}

void TraceTable::NoteCpu(std::uint32_t tenant, const std::vector<LinkedCpu>& cpu) {
  MutexLock lock(mutex_);
  if (!rules_ || !rules_->cpu) return;
  for (const LinkedCpu& linked : cpu) {
    Key room;
    const Key* const key = KeyOf(tenant, linked.link, room);
    if (key == nullptr) continue;
    Trace& trace = TraceOf(Key(*key));
    InService& in = ServiceOf(trace, linked.service);
    if (__builtin_add_overflow(in.cpu_ns, linked.ns, &in.cpu_ns)) in.cpu_ns = INT64_MAX;
    CompareCpu(trace, in);
  }
}

std::vector<TraceTable::Verdict> TraceTable::Ask(std::uint32_t tenant,
                                                 const profile::Batch& batch) const {
  std::vector<Verdict> verdicts(batch.links.size(), Verdict::kNoRequest);
  MutexLock lock(mutex_);
  for (std::size_t i = 1; i < verdicts.size(); ++i) {
    Key room;
    const Key* const key = KeyOf(tenant, batch.links[i], room);
    const auto found = key == nullptr ? traces_.end() : traces_.find(*key);
    if (found == traces_.end()) continue;
    const Trace& trace = found->second;
    if (trace.request) verdicts[i] = Verdict::kOrdinary;
    if (trace.qualifies) verdicts[i] = Verdict::kQualifies;
  }
  return verdicts;
}

std::vector<TraceTable::LinkedCpu> LinkedCpuOf(const profile::Batch& batch) {
  std::map<std::pair<profile::Id, std::uint64_t>, std::int64_t> sums;
  for (const profile::Profile& p : batch.profiles) {
    const auto match = profile::MatchType(profile::TypeOf(batch, p), "cpu");
    if (!match || match->unit != "nanoseconds") continue;
    const std::uint64_t service =
        HashString(profile::ServiceName(batch, batch.resources[p.resource])).low;
    for (std::size_t i = p.first_sample; i < p.first_sample + p.sample_count; ++i) {
      if (batch.samples.link[i] == 0) continue;
      std::int64_t ns = 0;
      std::int64_t& sum = sums[{batch.samples.link[i], service}];
      if (__builtin_mul_overflow(batch.samples.value[i], match->multiplier, &ns) ||
          __builtin_add_overflow(sum, ns, &sum)) {
        sum = INT64_MAX;
      }
    }
  }
  std::vector<TraceTable::LinkedCpu> all;
  for (const auto& [key, ns] : sums) all.push_back({batch.links[key.first], key.second, ns});
  return all;
}

}  // namespace wherefore::gateway
