#include "sdk/context/tracer.h"

#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "sdk/context/context.h"
#include "sdk/context/span_encoder.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kBatchNs = kNsPerSecond;
constexpr std::size_t kBatchSpans = 1024;

// splitmix64's finaliser: neighbours in, unrelated numbers out.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::int64_t ThreadCpuNs() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * kNsPerSecond + used.tv_nsec;
}

bool HasIds(const wherefore_span_context& span) {
  constexpr wherefore_span_context kNone{};
  return std::memcmp(span.trace_id, kNone.trace_id, sizeof(kNone.trace_id)) != 0 &&
         std::memcmp(span.span_id, kNone.span_id, sizeof(kNone.span_id)) != 0;
}

LinkFilter::TraceId TraceOf(const wherefore_span& span) {
  LinkFilter::TraceId trace{};
  std::memcpy(trace.data(), span.ids.trace_id, trace.size());
  return trace;
}

// By the last eight bytes of the trace id, so that every service decides the same.
bool Sampled(const wherefore_span_context& ids, double ratio) {
  if (ratio >= 1) return true;
  std::uint64_t number = 0;
  for (int i = 8; i < 16; ++i) number = number << 8 | ids.trace_id[i];
  return static_cast<double>(number >> 11) * 0x1p-53 < ratio;
}

std::string Cut(std::string_view text) {
  text = text.substr(0, kMaxSpanText);
  // Never through the middle of a character.
  while (text.size() == kMaxSpanText && !text.empty() &&
         (static_cast<unsigned char>(text.back()) & 0x80) != 0) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

}  // namespace

struct Tracer::Waiting {
  Mutex mutex;
  CondVar changed;
  std::vector<std::unique_ptr<wherefore_span>> spans GUARDED_BY(mutex);
  ResourceAttributes resource GUARDED_BY(mutex);
  bool stop GUARDED_BY(mutex) = false;
  LinkFilter links;
};

Tracer& Tracer::Global() {
  static auto* const tracer = new Tracer;
  return *tracer;
}

Tracer::Tracer() : waiting_(new Waiting) {
  Seed();
}

void Tracer::Seed() {
  if (getrandom(seeds_, sizeof(seeds_), GRND_NONBLOCK) != sizeof(seeds_)) {
    std::uint64_t seed =
        static_cast<std::uint64_t>(NowUnixNs()) ^ static_cast<std::uint64_t>(getpid());
    for (std::uint64_t& s : seeds_) s = seed = Mix(seed + 0x9e3779b97f4a7c15);
  }
}

void Tracer::Start(const Options& options, Exporter& exporter, RuntimeStatistics (*statistics)()) {
  if (running_.load()) return;
  options_ = options;
  exporter_ = &exporter;
  statistics_ = statistics;
  {
    const MutexLock lock(waiting_->mutex);
    waiting_->stop = false;
  }
  running_.store(true, std::memory_order_release);
}

void Tracer::Stop() {
  if (!running_.exchange(false)) return;
  {
    const MutexLock lock(waiting_->mutex);
    waiting_->stop = true;
    waiting_->changed.NotifyAll();
  }
  thread_.Join();
  Flush();
}

LinkFilter& Tracer::links() {
  return waiting_->links;
}

void Tracer::AbandonInChild() {
  waiting_ = new Waiting;
  thread_.Forget();
  Seed();
}

void Tracer::SetResource(const ResourceAttributes& resource) {
  const MutexLock lock(waiting_->mutex);
  waiting_->resource = resource;
}

void Tracer::MakeIds(wherefore_span& span, bool new_trace) {
  const std::uint64_t number =
      next_id_.fetch_add(1, std::memory_order_relaxed) * 0x9e3779b97f4a7c15;
  // |1: an id is never zero.
  const std::uint64_t id = Mix(seeds_[0] + number) | 1;
  std::memcpy(span.ids.span_id, &id, sizeof(id));
  if (!new_trace) return;
  const std::uint64_t trace[2] = {Mix(seeds_[1] + number) | 1, Mix(seeds_[2] + number)};
  std::memcpy(span.ids.trace_id, trace, sizeof(trace));
}

std::unique_ptr<wherefore_span> Tracer::Begin(const char* name, int kind,
                                              const wherefore_span_context* parent) {
  if (!running()) return nullptr;
  auto span = std::make_unique<wherefore_span>();
  wherefore_span_context current{};
  const bool inside = ReadThreadContext(&current);
  const bool remote = parent != nullptr && HasIds(*parent);
  if (!remote) parent = inside ? &current : nullptr;
  if (parent != nullptr) {
    span->ids = *parent;
    std::memcpy(span->parent, parent->span_id, sizeof(span->parent));
  }
  // A parent that came from elsewhere, or none at all, makes this the request.
  span->is_request = !inside || (remote && std::memcmp(current.trace_id, parent->trace_id,
                                                       sizeof(current.trace_id)) != 0);
  MakeIds(*span, parent == nullptr);
  if (parent == nullptr) span->ids.flags = Sampled(span->ids, options_.trace_ratio) ? 1 : 0;
  span->recording = (span->ids.flags & 1) != 0 && options_.tracing;
  span->started = MonotonicNs();
  if (options_.conditional.active() && span->is_request) links().Begin(TraceOf(*span));
  if (options_.conditional.cpu > 0) span->cpu_at_start = ThreadCpuNs();
  if (!span->recording) return span;
  span->name = Cut(name == nullptr ? "" : name);
  span->kind = kind >= WHEREFORE_INTERNAL && kind <= WHEREFORE_CONSUMER ? kind : WHEREFORE_INTERNAL;
  span->start_ns = static_cast<std::uint64_t>(NowUnixNs());
  return span;
}

void Tracer::Judge(const wherefore_span& span) {
  const Conditional& wanted = options_.conditional;
  if (!wanted.active() || !span.is_request) return;
  const std::int64_t elapsed = MonotonicNs() - span.started;
  const bool slow = wanted.slow_request_ns > 0 && elapsed >= wanted.slow_request_ns;
  const bool failed = wanted.errors && span.status == 2;
  const bool busy = wanted.cpu > 0 && span.cpu_at_start >= 0 && elapsed > 0 &&
                    static_cast<double>(ThreadCpuNs() - span.cpu_at_start) >=
                        wanted.cpu * static_cast<double>(elapsed);
  links().End(TraceOf(span), slow || failed || busy);
}

void Tracer::End(std::unique_ptr<wherefore_span> span) {
  Judge(*span);
  if (!span->recording || !running()) return;
  if (options_.runtime_stats) AddRuntimeStatistics(*span);
  span->end_ns = span->start_ns + static_cast<std::uint64_t>(MonotonicNs() - span->started);
  const MutexLock lock(waiting_->mutex);
  if (waiting_->spans.size() >= kMaxWaiting) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (waiting_->stop) return;
  waiting_->spans.push_back(std::move(span));
  // Programs without spans, and children that never end one, have no thread for them.
  if (!thread_.running() &&
      !thread_.Start(
          "wherefore-trace", [](void* self) { static_cast<Tracer*>(self)->Run(); }, this))
    return;
  // The thread sleeps without limit while there is nothing; the first wakes it, a full batch too.
  const std::size_t count = waiting_->spans.size();
  if (count == 1 || count == kBatchSpans) waiting_->changed.NotifyAll();
}

void Tracer::AddRuntimeStatistics(wherefore_span& span) {
  if (statistics_ == nullptr || !span.recording) return;
  const RuntimeStatistics now = statistics_();
  if (now.heap) {
    AddSpanAttribute(span, "runtime.heap_alloc", now.heap->bytes);
    AddSpanAttribute(span, "runtime.heap_objects", now.heap->objects);
  }
  if (now.threads) AddSpanAttribute(span, "runtime.threads", *now.threads);
}

void Tracer::Run() {
  Waiting& waiting = *waiting_;
  const MutexLock lock(waiting.mutex);
  while (!waiting.stop) {
    if (waiting.spans.empty()) {
      waiting.changed.Wait(waiting.mutex);
      continue;
    }
    const auto due = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kBatchNs);
    while (!waiting.stop && waiting.spans.size() < kBatchSpans &&
           std::chrono::steady_clock::now() < due) {
      waiting.changed.WaitUntil(waiting.mutex, due);
    }
    std::vector<std::unique_ptr<wherefore_span>> spans;
    spans.swap(waiting.spans);
    waiting.mutex.unlock();
    Send(std::move(spans));
    waiting.mutex.lock();
  }
}

void Tracer::Flush() {
  std::vector<std::unique_ptr<wherefore_span>> spans;
  {
    const MutexLock lock(waiting_->mutex);
    spans.swap(waiting_->spans);
  }
  Send(std::move(spans));
}

void Tracer::Send(std::vector<std::unique_ptr<wherefore_span>> spans) {
  if (spans.empty() || exporter_ == nullptr) return;
  ResourceAttributes resource;
  {
    const MutexLock lock(waiting_->mutex);
    resource = waiting_->resource;
  }
  exporter_->Enqueue(Signal::kTraces, EncodeSpans(spans, resource));
}

void AddSpanAttribute(wherefore_span& span, std::string_view key, SpanValue value) {
  if (!span.recording || key.empty()) return;
  if (auto* const text = std::get_if<std::string>(&value)) *text = Cut(*text);
  const std::string name = Cut(key);
  const auto same = std::find_if(span.attributes.begin(), span.attributes.end(),
                                 [&](const SpanAttribute& a) { return a.key == name; });
  if (same != span.attributes.end()) {
    same->value = std::move(value);
  } else if (span.attributes.size() < kMaxSpanAttributes) {
    span.attributes.push_back({name, std::move(value)});
  } else {
    ++span.dropped_attributes;
  }
}

}  // namespace wherefore::sdk
