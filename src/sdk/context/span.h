// A span as the tracer keeps it between its start and its export. Plain values; belongs to the
// thread that works on it, then to the tracer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wherefore/wherefore.h"

namespace wherefore::sdk {

using SpanValue = std::variant<std::string, std::int64_t, double, bool>;
struct SpanAttribute {
  std::string key;
  SpanValue value;
};
struct SpanEventRecord {
  std::uint64_t time_ns = 0;
  std::string name;
  std::vector<SpanAttribute> attributes;
};

// Limits of one span. What exceeds them is dropped and counted in the fields OTLP has for that.
inline constexpr std::size_t kMaxSpanAttributes = 128;
inline constexpr std::size_t kMaxSpanEvents = 128;
inline constexpr std::size_t kMaxSpanText = 4096;  // bytes of a key, value or name; cut there

// Of spans that began and ended on one thread: which, and the CPU time it used meanwhile.
inline constexpr std::string_view kThreadIdKey = "thread.id";
inline constexpr std::string_view kSpanCpuKey = "wherefore.span.cpu_ns";

// Where the parent of a span is, as OTLP's flags say it; nothing is said where that is not known.
enum class ParentPlace : std::uint8_t { kUnknown, kHere, kElsewhere };

}  // namespace wherefore::sdk

// One span between start and end.
struct wherefore_span {
  wherefore_span_context ids = {};
  std::uint8_t parent[8] = {};
  bool recording = false;   // false: not sampled; it has ids and nothing else
  bool is_request = false;  // link_filter.h
  bool watched = false;     // the filter knows that it runs
  wherefore::sdk::ParentPlace parent_place = wherefore::sdk::ParentPlace::kUnknown;
  int kind = WHEREFORE_INTERNAL;
  std::uint64_t start_ns = 0;  // wall clock
  std::int64_t started = 0;    // monotonic: durations do not jump with the clock
  std::uint32_t tid = 0;       // of the thread that began it; 0: its CPU time was not read
  std::int64_t cpu_at_start = 0;
  std::uint64_t end_ns = 0;
  std::string name;
  std::vector<wherefore::sdk::SpanAttribute> attributes;
  std::vector<wherefore::sdk::SpanEventRecord> events;
  std::uint32_t dropped_attributes = 0;
  std::uint32_t dropped_events = 0;
  int status = 0;
  std::string status_message;
};
