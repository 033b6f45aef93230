// Tracer: spans for programs without opentelemetry-cpp, from the C ABI to OTLP requests.
//
// A span belongs to the thread that works on it until it ends; then it waits in a bounded list, and
// a thread of ours (started with the first) encodes the list once a second (sooner when it fills)
// and gives it to the exporter. Spans that find the list full are dropped and counted. Never throws
// out of the C ABI.
//
// A span that begins and ends on one thread carries that thread's id and the CPU time it used. Such
// a reading is a system call of half a microsecond, so there are at most kMostReadings a second and
// thread; spans beyond that go without.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "sdk/context/link_filter.h"
#include "sdk/context/resource.h"
#include "sdk/context/runtime_statistics.h"
#include "sdk/context/span.h"
#include "sdk/net/exporter.h"
#include "sdk/platform/background_thread.h"
#include "wherefore/wherefore.h"

namespace wherefore::sdk {

class Tracer {
 public:
  static constexpr std::size_t kMaxWaiting = 8192;
  static constexpr std::uint32_t kMostReadings = 1000;

  // The process's one; never destroyed.
  static Tracer& Global();

  // `statistics` may be empty; it is asked when a span ends, if the options say so.
  void Start(const Options& options, Exporter& exporter, RuntimeStatistics (*statistics)());
  // Hands what waits to the exporter.
  void Stop();
  void Flush();
  // In a forked child, at once: an empty list and other ids. Nothing of the parent's is touched.
  void AbandonInChild();
  // The resource that spans carry. Set again after fork.
  void SetResource(const ResourceAttributes& resource);

  [[nodiscard]] bool running() const { return running_.load(std::memory_order_acquire); }
  // Null when no tracer runs.
  [[nodiscard]] std::unique_ptr<wherefore_span> Begin(const char* name, int kind,
                                                      const wherefore_span_context* parent);
  void End(std::unique_ptr<wherefore_span> span);
  void AddRuntimeStatistics(wherefore_span& span);
  // Which requests qualify, from now on. Any thread.
  void SetConditional(const Conditional& conditional);
  // Do not keep the reference: a forked child has its own.
  [[nodiscard]] LinkFilter& links();
  [[nodiscard]] std::uint64_t dropped() const { return dropped_.load(); }

 private:
  struct Waiting;

  Tracer();
  void Run();
  void Send(std::vector<std::unique_ptr<wherefore_span>> spans);
  void Judge(const wherefore_span& span);
  static void AddCpuTime(wherefore_span& span);
  // Whether this process made that id.
  [[nodiscard]] bool MadeHere(const std::uint8_t (&span_id)[8]) const;
  void MakeIds(wherefore_span& span, bool new_trace);
  void Seed();

  std::atomic<bool> running_{false};
  Options options_;  // set before running_; its `conditional` is as follows
  struct {
    std::atomic<bool> active{false};
    std::atomic<std::int64_t> slow_request_ns{0};
    std::atomic<bool> errors{false};
  } conditional_;
  Exporter* exporter_ = nullptr;
  RuntimeStatistics (*statistics_)() = nullptr;
  Waiting* waiting_;  // a child abandons its parent's
  BackgroundThread thread_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> next_id_{1};
  std::uint64_t seeds_[3] = {};
};

void AddSpanAttribute(wherefore_span& span, std::string_view key, SpanValue value);

// W3C traceparent; nothing when the text is not valid.
[[nodiscard]] std::optional<wherefore_span_context> ParseTraceparent(std::string_view text);
[[nodiscard]] std::string FormatTraceparent(const wherefore_span_context& span);

}  // namespace wherefore::sdk
