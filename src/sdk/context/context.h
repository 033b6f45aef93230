// Which span and which labels a thread works for: OpenTelemetry's thread context (OTEP 4947).
//
// Each thread has one record of 256 bytes in its own static TLS, laid out as the specification
// says, and the exported TLS pointer `otel_thread_ctx_v1` leads readers outside the process to it.
// Only the owning thread writes its record. Readers look while the thread stands still (a signal
// handler on it, a ptrace stop, an eBPF program), so compiler fences are all the order it needs:
// `valid` is 0 while anything else changes. A scope keeps the 28 bytes it replaced, nothing in the
// record points to a scope: coroutines may suspend inside one.
//
// Writing is the C ABI's part (context.cc implements it). ReadThreadContext and ReadThreadLabels
// are safe in signal handlers; so are entering and leaving a span once the thread has done either
// before. The rest is for ordinary code, any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "wherefore/wherefore.h"

namespace wherefore::sdk {

inline constexpr std::size_t kRecordBytes = WHEREFORE_CONTEXT_BYTES;
inline constexpr std::size_t kHeadBytes = 28;
inline constexpr std::size_t kLabelBytes = kRecordBytes - kHeadBytes;
inline constexpr std::size_t kMaxLabelKeys = 256;

// valid, trace flags and attrs-data-size. One word, because it is read back as one right after it
// was written: bytes of their own would stall the processor's store forwarding.
struct RecordTail {
  std::uint32_t word;
  [[nodiscard]] static RecordTail Of(bool valid, std::uint8_t flags, std::uint32_t label_bytes) {
    return {(valid ? 1U : 0U) | std::uint32_t{flags} << 8 | label_bytes << 16};
  }
  [[nodiscard]] bool valid() const { return (word & 0xff) == 1; }
  [[nodiscard]] std::uint8_t flags() const { return static_cast<std::uint8_t>(word >> 8); }
  [[nodiscard]] std::uint32_t label_bytes() const { return word >> 16; }
  [[nodiscard]] RecordTail Invalid() const { return {word & ~0xffU}; }
};

struct alignas(8) ThreadRecord {
  std::uint8_t trace_id[16];
  std::uint8_t span_id[8];
  RecordTail tail;
  std::uint8_t labels[kLabelBytes];
};
static_assert(sizeof(ThreadRecord) == kRecordBytes && offsetof(ThreadRecord, tail) == 24 &&
              offsetof(ThreadRecord, labels) == kHeadBytes);

struct ThreadBlock {
  ThreadRecord record;
  bool published;  // otel_thread_ctx_v1 leads to `record`
};

// This thread's. No C++ initialiser, initial-exec: a plain load from the thread pointer.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): zeros
extern __thread ThreadBlock t_thread_block
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
// Another publisher in this process owns the symbol; its records are read instead of ours.
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): a constant
extern bool g_foreign_publisher __attribute__((visibility("hidden")));
[[nodiscard]] const ThreadRecord* ForeignRecord();

// Safe in signal handlers. Null when this thread has no valid record.
[[nodiscard]] inline const ThreadRecord* ReadableRecord() {
  const ThreadRecord* const record = g_foreign_publisher ? ForeignRecord() : &t_thread_block.record;
  return record != nullptr && record->tail.valid() ? record : nullptr;
}

// The span this thread works for; false when there is none. Safe in signal handlers.
[[nodiscard]] inline bool ReadThreadContext(wherefore_span_context* out) {
  const ThreadRecord* const record = ReadableRecord();
  if (record == nullptr) return false;
  std::memcpy(out->trace_id, record->trace_id, sizeof(out->trace_id));
  std::memcpy(out->span_id, record->span_id, sizeof(out->span_id));
  out->flags = record->tail.flags();
  std::uint64_t any[3];
  std::memcpy(any, record, sizeof(any));
  return (any[0] | any[1]) != 0 && any[2] != 0;
}

// The labels as they stand in the record: {u8 key, u8 length, bytes}...; returns how many bytes
// were copied to `out`. Safe in signal handlers. Of a key that occurs twice the last counts.
[[nodiscard]] inline std::size_t ReadThreadLabels(std::uint8_t* out, std::size_t capacity) {
  const ThreadRecord* const record = ReadableRecord();
  if (record == nullptr) return 0;
  const std::size_t bytes = record->tail.label_bytes();
  if (bytes > capacity || (!g_foreign_publisher && bytes > kLabelBytes)) return 0;
  std::memcpy(out, record->labels, bytes);
  return bytes;
}

// All names, by number.
[[nodiscard]] std::vector<std::string> LabelKeys();
// Called with all names, after each new one, on the thread that asked for it. Null: nobody.
void OnNewLabelKey(void (*listener)());

// Held over a fork, so that the child finds the names in order.
void LockLabelKeys();
void UnlockLabelKeys();

// Finds out whether another publisher owns `otel_thread_ctx_v1` (an executable that has its own
// copy of this library or another SDK in it). Once, before the first handler runs.
void FindForeignPublisher();

}  // namespace wherefore::sdk
