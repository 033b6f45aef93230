// The C ABI of the tracer. Every function takes NULL and swallows want of memory.
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "sdk/context/tracer.h"
#include "sdk/platform/thread_state.h"

namespace {

using wherefore::sdk::AddSpanAttribute;
using wherefore::sdk::Tracer;

template <typename Function>
void Quietly(Function function) {
  const wherefore::sdk::Busy busy;  // what we allocate is not the program's
  const int error = errno;
  try {
    function();
  } catch (...) {
    // Out of memory: the span lacks something; the program goes on.
  }
  errno = error;
}

std::string_view View(const char* text) {
  return text == nullptr ? std::string_view() : text;
}

void Set(wherefore_span* span, const char* key, wherefore::sdk::SpanValue value) {
  if (span == nullptr || key == nullptr) return;
  AddSpanAttribute(*span, key, std::move(value));
}

}  // namespace

extern "C" {

wherefore_span* wherefore_span_start(const char* name, int kind,
                                     const wherefore_span_context* parent) noexcept {
  wherefore_span* span = nullptr;
  Quietly([&] { span = Tracer::Global().Begin(name, kind, parent).release(); });
  return span;
}

void wherefore_span_get_context(const wherefore_span* span, wherefore_span_context* out) noexcept {
  if (out != nullptr) *out = span == nullptr ? wherefore_span_context{} : span->ids;
}

void wherefore_span_set_text(wherefore_span* span, const char* key, const char* value,
                             size_t length) noexcept {
  Quietly([&] {
    Set(span, key, std::string(value == nullptr ? "" : value, value == nullptr ? 0 : length));
  });
}
void wherefore_span_set_int(wherefore_span* span, const char* key, int64_t value) noexcept {
  Quietly([&] { Set(span, key, value); });
}
void wherefore_span_set_double(wherefore_span* span, const char* key, double value) noexcept {
  Quietly([&] { Set(span, key, value); });
}
void wherefore_span_set_bool(wherefore_span* span, const char* key, int value) noexcept {
  Quietly([&] { Set(span, key, value != 0); });
}

void wherefore_span_add_event(wherefore_span* span, const char* name,
                              const wherefore_attribute* attributes, size_t count) noexcept {
  if (span == nullptr || !span->recording) return;
  Quietly([&] {
    if (span->events.size() >= wherefore::sdk::kMaxSpanEvents) {
      ++span->dropped_events;
      return;
    }
    wherefore::sdk::SpanEventRecord event;
    event.time_ns = static_cast<std::uint64_t>(wherefore::NowUnixNs());
    event.name = View(name).substr(0, wherefore::sdk::kMaxSpanText);
    if (attributes == nullptr) count = 0;
    for (size_t i = 0; i < std::min(count, wherefore::sdk::kMaxSpanAttributes); ++i)
      event.attributes.push_back(
          {std::string(View(attributes[i].key)), std::string(View(attributes[i].value))});
    span->events.push_back(std::move(event));
  });
}

void wherefore_span_set_status(wherefore_span* span, int code, const char* message) noexcept {
  if (span == nullptr || code < 0 || code > 2) return;
  span->status = code;
  Quietly([&] { span->status_message = View(message).substr(0, wherefore::sdk::kMaxSpanText); });
}

void wherefore_span_add_runtime_statistics(wherefore_span* span) noexcept {
  if (span == nullptr) return;
  Quietly([&] { Tracer::Global().AddRuntimeStatistics(*span); });
}

void wherefore_span_end(wherefore_span* span) noexcept {
  if (span == nullptr) return;
  Quietly([&] { Tracer::Global().End(std::unique_ptr<wherefore_span>(span)); });
}

int wherefore_traceparent_parse(const char* text, size_t length,
                                wherefore_span_context* out) noexcept {
  if (out != nullptr) *out = {};
  if (text == nullptr) return 0;
  int found = 0;
  Quietly([&] {
    if (const auto parsed = wherefore::sdk::ParseTraceparent({text, length})) {
      if (out != nullptr) *out = *parsed;
      found = 1;
    }
  });
  return found;
}

void wherefore_traceparent_format(const wherefore_span_context* span, char out[56]) noexcept {
  if (out == nullptr) return;
  out[0] = '\0';
  if (span == nullptr) return;
  Quietly([&] {
    const std::string text = wherefore::sdk::FormatTraceparent(*span);
    std::memcpy(out, text.c_str(), text.size() + 1);
  });
}

}  // extern "C"
