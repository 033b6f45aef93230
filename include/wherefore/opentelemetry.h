// opentelemetry.h: makes the active span of opentelemetry-cpp known to the profiler, automatically.
//
//     wherefore::PublishOpenTelemetrySpans();   // once, early in main()
//
// It wraps a RuntimeContextStorage (opentelemetry-cpp's own by default): every Attach and Detach
// also updates this thread's record, so that samples link to whatever span opentelemetry-cpp calls
// current. Header-only, C++17; the including program brings opentelemetry-cpp 1.x itself.
#pragma once

#include <cstring>
#include <utility>

#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/nostd/unique_ptr.h>
#include <opentelemetry/nostd/variant.h>
#include <opentelemetry/trace/span.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/span_metadata.h>

#include "wherefore/context.h"

namespace wherefore {

// Passes everything on to the storage it was given, and publishes what becomes current. Any thread.
class PublishingContextStorage : public opentelemetry::context::RuntimeContextStorage {
  using Context = opentelemetry::context::Context;
  using Token = opentelemetry::context::Token;
  using Storage = opentelemetry::context::RuntimeContextStorage;

 public:
  explicit PublishingContextStorage(opentelemetry::nostd::shared_ptr<Storage> inner) noexcept
      : inner_(std::move(inner)) {}

  Context GetCurrent() noexcept override { return inner_->GetCurrent(); }

  opentelemetry::nostd::unique_ptr<Token> Attach(const Context& context) noexcept override {
    auto token = inner_->Attach(context);
    Publish(context);
    return token;
  }

  bool Detach(Token& token) noexcept override {
    const bool detached = inner_->Detach(token);
    // Several contexts may have been detached at once: publish what is current now.
    Publish(inner_->GetCurrent());
    return detached;
  }

 private:
  // Looks the span up itself: trace::GetSpan returns an invalid span of its own if there is none.
  static void Publish(const Context& context) noexcept {
    namespace nostd = opentelemetry::nostd;
    namespace trace = opentelemetry::trace;
    using SharedSpan = nostd::shared_ptr<trace::Span>;
    SpanContext span{};
    const opentelemetry::context::ContextValue value = context.GetValue(trace::kSpanKey);
    if (nostd::holds_alternative<SharedSpan>(value)) {
      const trace::SpanContext ids = nostd::get<SharedSpan>(value)->GetContext();
      if (ids.IsValid()) {
        std::memcpy(span.trace_id, ids.trace_id().Id().data(), sizeof(span.trace_id));
        std::memcpy(span.span_id, ids.span_id().Id().data(), sizeof(span.span_id));
        span.flags = ids.trace_flags().flags();
      }
    }
    wherefore_saved_span unused;
    wherefore_span_enter(&span, &unused);
  }

  opentelemetry::nostd::shared_ptr<Storage> inner_;
};

// Call it before the first span. Pass `inner` if the program has a storage of its own.
inline void PublishOpenTelemetrySpans(
    opentelemetry::nostd::shared_ptr<opentelemetry::context::RuntimeContextStorage> inner =
        opentelemetry::nostd::shared_ptr<opentelemetry::context::RuntimeContextStorage>(
            new opentelemetry::context::ThreadLocalContextStorage())) {
  opentelemetry::context::RuntimeContext::SetRuntimeContextStorage(
      opentelemetry::nostd::shared_ptr<opentelemetry::context::RuntimeContextStorage>(
          new PublishingContextStorage(std::move(inner))));
}

}  // namespace wherefore
