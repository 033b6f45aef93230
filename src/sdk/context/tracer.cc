#include "sdk/context/tracer.h"

#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "sdk/context/context.h"
#include "sdk/context/span_encoder.h"
#include "sdk/platform/thread_state.h"

namespace wherefore::sdk {
namespace {

constexpr std::int64_t kBatchNs = kNsPerSecond;
constexpr std::size_t kBatchSpans = 1024;

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kFactors[2] = {0xbf58476d1ce4e5b9, 0x94d049bb133111eb};

// splitmix64's finaliser: neighbours in, unrelated numbers out.
constexpr std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * kFactors[0];
  x = (x ^ (x >> 27)) * kFactors[1];
  return x ^ (x >> 31);
}

// What an odd number must be multiplied by to give 1, by Newton's method.
constexpr std::uint64_t Inverse(std::uint64_t odd) {
  std::uint64_t x = odd;
  for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
  return x;
}

// Mix(Unmix(x)) == x.
constexpr std::uint64_t Unmix(std::uint64_t x) {
  x = (x ^ (x >> 31) ^ (x >> 62)) * Inverse(kFactors[1]);
  x = (x ^ (x >> 27) ^ (x >> 54)) * Inverse(kFactors[0]);
  return x ^ (x >> 30) ^ (x >> 60);
}
static_assert(Mix(Unmix(1)) == 1 && Unmix(Mix(0xfedcba9876543210)) == 0xfedcba9876543210);

// Readings of this thread's CPU clock in the second that began at `since`. One half is for the
// beginnings of spans and the other for their ends: most of those that began can end.
struct Readings {
  std::int64_t since;
  std::uint32_t begins;
  std::uint32_t ends;

  [[nodiscard]] bool Take(std::uint32_t Readings::* count, std::int64_t now) {
    if (now - since >= kNsPerSecond) *this = {.since = now, .begins = 0, .ends = 0};
    return this->*count < Tracer::kMostReadings / 2 && ++(this->*count) != 0;
  }
};
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit
thread_local constinit Readings t_readings [[gnu::tls_model("initial-exec")]] = {};

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
    for (std::uint64_t& s : seeds_) s = seed = Mix(seed + kStep);
  }
}

void Tracer::Start(const Options& options, Exporter& exporter, RuntimeStatistics (*statistics)()) {
  if (running_.load()) return;
  options_ = options;
  SetConditional(options.conditional);
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

void Tracer::SetConditional(const Conditional& conditional) {
  conditional_.slow_request_ns.store(conditional.slow_request_ns, std::memory_order_relaxed);
  conditional_.errors.store(conditional.errors, std::memory_order_relaxed);
  conditional_.active.store(conditional.active(), std::memory_order_relaxed);
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
  const std::uint64_t number = next_id_.fetch_add(1, std::memory_order_relaxed) * kStep;
  // |1: an id is never zero.
  const std::uint64_t id = Mix(seeds_[0] + number) | 1;
  std::memcpy(span.ids.span_id, &id, sizeof(id));
  if (!new_trace) return;
  const std::uint64_t trace[2] = {Mix(seeds_[1] + number) | 1, Mix(seeds_[2] + number)};
  std::memcpy(span.ids.trace_id, trace, sizeof(trace));
}

// Ids are made of numbers that count up (MakeIds), so the way back tells, without remembering any.
bool Tracer::MadeHere(const std::uint8_t (&span_id)[8]) const {
  std::uint64_t id = 0;
  std::memcpy(&id, span_id, sizeof(id));
  const auto is_one = [this](std::uint64_t mixed) {
    const std::uint64_t number = (Unmix(mixed) - seeds_[0]) * Inverse(kStep);
    return number != 0 && number < next_id_.load(std::memory_order_relaxed);
  };
  return (id & 1) != 0 && (is_one(id) || is_one(id - 1));
}

std::unique_ptr<wherefore_span> Tracer::Begin(const char* name, int kind,
                                              const wherefore_span_context* parent) {
  if (!running()) return nullptr;
  auto span = std::make_unique<wherefore_span>();
  wherefore_span_context current{};
  const bool given = parent != nullptr && HasIds(*parent);
  if (!given) parent = ReadThreadContext(&current) ? &current : nullptr;
  if (parent != nullptr) {
    span->ids = *parent;
    std::memcpy(span->parent, parent->span_id, sizeof(span->parent));
  }
  // A parent that this tracer did not make came from elsewhere if it was given; as the thread's
  // current one it may be another tracer's of this process.
  if (parent == nullptr || MadeHere(parent->span_id)) {
    span->parent_place = ParentPlace::kHere;
  } else if (given) {
    span->parent_place = ParentPlace::kElsewhere;
  }
  span->is_request = parent == nullptr || span->parent_place == ParentPlace::kElsewhere ||
                     kind == WHEREFORE_SERVER || kind == WHEREFORE_CONSUMER;
  MakeIds(*span, parent == nullptr);
  if (parent == nullptr) span->ids.flags = Sampled(span->ids, options_.trace_ratio) ? 1 : 0;
  span->recording = (span->ids.flags & 1) != 0 && options_.tracing;
  span->watched = span->is_request && conditional_.active.load(std::memory_order_relaxed);
  if (span->watched) links().Begin(TraceOf(*span));
  span->started = MonotonicNs();
  if (!span->recording) return span;
  span->name = Cut(name == nullptr ? "" : name);
  span->kind = kind >= WHEREFORE_INTERNAL && kind <= WHEREFORE_CONSUMER ? kind : WHEREFORE_INTERNAL;
  span->start_ns = static_cast<std::uint64_t>(NowUnixNs());
  if (t_readings.Take(&Readings::begins, span->started)) {
    span->tid = CurrentTid();
    span->cpu_at_start = ThreadCpuNs();
  }
  return span;
}

void Tracer::Judge(const wherefore_span& span) {
  if (!span.watched) return;
  const std::int64_t took = MonotonicNs() - span.started;
  const std::int64_t slow = conditional_.slow_request_ns.load(std::memory_order_relaxed);
  const bool failed = conditional_.errors.load(std::memory_order_relaxed) && span.status == 2;
  links().End(TraceOf(span), failed || (slow > 0 && took >= slow), took);
}

// What the program set itself stays, and so does the limit.
void Tracer::AddCpuTime(wherefore_span& span) {
  if (span.tid == 0 || span.tid != CurrentTid() ||
      span.attributes.size() + 2 > kMaxSpanAttributes ||
      !t_readings.Take(&Readings::ends, MonotonicNs())) {
    return;
  }
  const bool there = std::ranges::any_of(span.attributes, [](const SpanAttribute& a) {
    return a.key == kThreadIdKey || a.key == kSpanCpuKey;
  });
  if (there) return;
  span.attributes.push_back({std::string(kThreadIdKey), std::int64_t{span.tid}});
  span.attributes.push_back({std::string(kSpanCpuKey), ThreadCpuNs() - span.cpu_at_start});
}

void Tracer::End(std::unique_ptr<wherefore_span> span) {
  Judge(*span);
  if (!span->recording || !running()) return;
  if (options_.runtime_stats) AddRuntimeStatistics(*span);
  AddCpuTime(*span);
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
