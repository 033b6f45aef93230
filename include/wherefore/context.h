// context.h: tells the profiler which span and which labels a thread works for, in C++17.
//
// Samples taken inside a SpanScope carry a link to that span, and agents outside the process can
// read the same (OpenTelemetry's thread context). A scope costs a few nanoseconds and works with no
// profiler running. Scopes belong to one thread and end in reverse order; across threads and
// executors use BindContext, in coroutines coroutine.h. Programs with opentelemetry-cpp include
// opentelemetry.h instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "wherefore/wherefore.h"

namespace wherefore {

using SpanContext = wherefore_span_context;

[[nodiscard]] inline bool IsValid(const SpanContext& span) noexcept {
  bool trace = false;
  bool id = false;
  for (const std::uint8_t byte : span.trace_id) trace |= byte != 0;
  for (const std::uint8_t byte : span.span_id) id |= byte != 0;
  return trace && id;
}

// The span this thread works for; all zero if there is none.
[[nodiscard]] inline SpanContext CurrentSpan() noexcept {
  SpanContext span{};
  wherefore_span_current(&span);
  return span;
}

// This thread works for a span until the end of the scope.
class SpanScope {
 public:
  explicit SpanScope(const SpanContext& span) noexcept { wherefore_span_enter(&span, &saved_); }
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;
  ~SpanScope() { wherefore_span_leave(&saved_); }

 private:
  wherefore_saved_span saved_;
};

// The name of a label. Make one per name, as a static:
//     static const wherefore::LabelKey kRoute("http.route");
class LabelKey {
 public:
  explicit LabelKey(const char* name) noexcept : index_(wherefore_label_key(name)) {}
  [[nodiscard]] int index() const noexcept { return index_; }

 private:
  int index_;
};

// Samples of this thread carry the label until the end of the scope. A value that does not fit is
// left out.
class LabelScope {
 public:
  LabelScope(const LabelKey& key, std::string_view value) noexcept
      : saved_(wherefore_label_enter(key.index(), value.data(), value.size())) {}
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;
  ~LabelScope() { wherefore_label_leave(saved_); }

 private:
  int saved_;
};

// Span and labels of a thread as a value: capture them where work is handed over, restore them
// where it continues.
//
// Executor: wrap the task with BindContext. Coroutine: coroutine.h, which also puts back what the
// thread worked for before; Restore() alone would leave it with the coroutine's.
class SavedContext {
 public:
  SavedContext() noexcept : context_{} {}  // no span, no labels
  [[nodiscard]] static SavedContext Capture() noexcept {
    SavedContext out;
    wherefore_context_save(&out.context_);
    return out;
  }
  // Replaces what this thread works for and does not restore it later; ContextScope does.
  void Restore() const noexcept { wherefore_context_restore(&context_); }

 private:
  wherefore_context context_;
};

// Applies a SavedContext until the end of the scope, then restores what was there before.
class ContextScope {
 public:
  explicit ContextScope(const SavedContext& context) noexcept : before_(SavedContext::Capture()) {
    context.Restore();
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() { before_.Restore(); }

 private:
  SavedContext before_;
};

// A callable that runs with the context of the thread that created it:
//     pool.Submit(wherefore::BindContext([=] { Work(); }));
template <typename Function>
class BoundFunction {
 public:
  explicit BoundFunction(Function function) : function_(std::move(function)) {}
  template <typename... Arguments>
  decltype(auto) operator()(Arguments&&... arguments) {
    const ContextScope scope(context_);
    return function_(std::forward<Arguments>(arguments)...);
  }

 private:
  SavedContext context_ = SavedContext::Capture();
  Function function_;
};
template <typename Function>
[[nodiscard]] BoundFunction<std::decay_t<Function>> BindContext(Function&& function) {
  return BoundFunction<std::decay_t<Function>>(std::forward<Function>(function));
}

}  // namespace wherefore
