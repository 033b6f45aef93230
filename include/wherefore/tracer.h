// tracer.h: a small tracer for programs without opentelemetry-cpp, in C++17.
//
//     wherefore::Span span("process-data", wherefore::SpanKind::kServer,
//                          wherefore::Extract(request.header("traceparent")));
//     span.Set("http.route", "/items").Set("items", 12);
//
// A Span is current on its thread from construction to End(): samples link to it, spans begun
// inside are its children. It ends with its scope. Spans go out with the profiler's exporter; while
// no profiler runs they cost a few nanoseconds and are dropped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "wherefore/context.h"

namespace wherefore {

enum class SpanKind {
  kInternal = WHEREFORE_INTERNAL,
  kServer = WHEREFORE_SERVER,
  kClient = WHEREFORE_CLIENT,
  kProducer = WHEREFORE_PRODUCER,
  kConsumer = WHEREFORE_CONSUMER,
};
enum class SpanStatus { kUnset = 0, kOk = 1, kError = 2 };

// Reads a W3C traceparent header; all zero if the text is not valid.
[[nodiscard]] inline SpanContext Extract(std::string_view traceparent) noexcept {
  SpanContext span{};
  wherefore_traceparent_parse(traceparent.data(), traceparent.size(), &span);
  return span;
}
// The header to send with a request; empty if there is no span.
[[nodiscard]] inline std::string Inject(const SpanContext& span) {
  if (!IsValid(span)) return {};
  char text[56];
  wherefore_traceparent_format(&span, text);
  return text;
}

// One thread's span. Not movable: it is part of the thread's stack of scopes.
class Span {
 public:
  // A child of the current span, or the first of a new trace.
  explicit Span(const char* name, SpanKind kind = SpanKind::kInternal) noexcept
      : Span(name, kind, nullptr) {}
  // A child of `parent`, or as above if that is all zero.
  Span(const char* name, SpanKind kind, const SpanContext& parent) noexcept
      : Span(name, kind, IsValid(parent) ? &parent : nullptr) {}
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;
  ~Span() { End(); }

  Span& Set(const char* key, std::string_view value) noexcept {
    wherefore_span_set_text(span_, key, value.data(), value.size());
    return *this;
  }
  Span& Set(const char* key, const char* value) noexcept {
    return Set(key, std::string_view(value));
  }
  Span& Set(const char* key, bool value) noexcept {
    wherefore_span_set_bool(span_, key, value ? 1 : 0);
    return *this;
  }
  template <typename Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Span& Set(const char* key, Number value) noexcept {
    if constexpr (std::is_integral_v<Number>) {
      wherefore_span_set_int(span_, key, static_cast<std::int64_t>(value));
    } else {
      wherefore_span_set_double(span_, key, static_cast<double>(value));
    }
    return *this;
  }
  Span& AddEvent(const char* name) noexcept {
    wherefore_span_add_event(span_, name, nullptr, 0);
    return *this;
  }
  Span& AddEvent(const char* name, const char* key, const char* value) noexcept {
    const wherefore_attribute attribute = {key, value};
    wherefore_span_add_event(span_, name, &attribute, 1);
    return *this;
  }
  Span& SetStatus(SpanStatus status, const char* message = "") noexcept {
    wherefore_span_set_status(span_, static_cast<int>(status), message);
    return *this;
  }

  // Adds runtime.heap_alloc, runtime.heap_objects and runtime.threads as they are now. Memory in
  // use is estimated from the heap samples and left out while the heap is not profiled; threads are
  // the program's own. Takes about two microseconds.
  Span& AddRuntimeStatistics() noexcept {
    wherefore_span_add_runtime_statistics(span_);
    return *this;
  }

  [[nodiscard]] const SpanContext& context() const noexcept { return context_; }

  void End() noexcept {
    if (ended_) return;
    ended_ = true;
    wherefore_span_leave(&saved_);
    wherefore_span_end(span_);
    span_ = nullptr;
  }

 private:
  Span(const char* name, SpanKind kind, const SpanContext* parent) noexcept
      : span_(wherefore_span_start(name, static_cast<int>(kind), parent)) {
    // Without a tracer the caller's trace is still passed on.
    if (span_ != nullptr) {
      wherefore_span_get_context(span_, &context_);
    } else {
      context_ = parent != nullptr ? *parent : CurrentSpan();
    }
    wherefore_span_enter(&context_, &saved_);
  }

  wherefore_span* span_;
  SpanContext context_{};
  wherefore_saved_span saved_;
  bool ended_ = false;
};

}  // namespace wherefore
