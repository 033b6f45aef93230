#include "sdk/context/context.h"

#include <algorithm>
#include <bit>
#include <cerrno>

#include "base/mutex.h"
#include "formats/wire/utf8.h"
#include "sdk/context/thread_symbol.h"
#include "sdk/platform/thread_state.h"

namespace wherefore::sdk {

__thread ThreadBlock t_thread_block __attribute__((tls_model("initial-exec")));
bool g_foreign_publisher = false;

namespace {

// One per process, never destroyed: threads may label themselves while the program exits.
struct KeyTable {
  Mutex mutex;
  std::vector<std::string> names GUARDED_BY(mutex);
  std::atomic<void (*)()> listener{nullptr};
};
KeyTable& Keys() {
  static auto& table = *new KeyTable;
  return table;
}

[[gnu::noinline, gnu::cold]] void PublishRecord() {
  if (!g_foreign_publisher) SetThreadSymbol(&t_thread_block.record);
  t_thread_block.published = true;
}

[[gnu::noinline, gnu::cold]] void EnterFirstSpan(const wherefore_span_context* span,
                                                 wherefore_saved_span* saved) {
  PublishRecord();
  wherefore_span_enter(span, saved);
}

inline ThreadRecord& OwnRecord() {
  ThreadBlock& block = t_thread_block;
  if (!block.published) [[unlikely]]
    PublishRecord();
  return block.record;
}

inline void CompilerFence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

inline void StoreTail(ThreadRecord& record, RecordTail tail) {
  static_cast<volatile RecordTail&>(record.tail).word = tail.word;
}

// Ids and tail are always moved in the same pieces, 8 + 8 + 8 + 4 bytes: a load that straddles two
// fresh stores waits for both to reach the cache, and vector registers forward later than plain
// ones.
inline void CopyIds(void* to, const void* from) {
  for (int i = 0; i < 24; i += 8)
    std::memcpy(static_cast<char*>(to) + i, static_cast<const char*>(from) + i, 8);
}
inline void CopyHead(void* to, const void* from) {
  CopyIds(to, from);
  std::memcpy(static_cast<char*>(to) + 24, static_cast<const char*>(from) + 24, 4);
}

inline bool HasIds(const wherefore_span_context& span) {
  static_assert(offsetof(wherefore_span_context, span_id) == 16);
  const auto word = [&span](std::size_t index) {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const char*>(&span) + 8 * index, sizeof(value));
    return value;
  };
  return word(2) != 0 && (word(0) | word(1)) != 0;
}

// The number of a label's name, made UTF-8; -1 when 256 are taken or it is too long.
int LabelKey(const char* text) {
  constexpr std::size_t kMaxName = 255;
  if (text == nullptr || *text == '\0' || std::strlen(text) > kMaxName) return -1;
  const std::string name = formats::ReplaceBadUtf8(text);
  KeyTable& table = Keys();
  int index = -1;
  {
    const MutexLock lock(table.mutex);
    const auto found = std::find(table.names.begin(), table.names.end(), name);
    if (found != table.names.end()) return static_cast<int>(found - table.names.begin());
    if (table.names.size() >= kMaxLabelKeys) return -1;
    index = static_cast<int>(table.names.size());
    table.names.push_back(name);
  }
  if (auto* const listener = table.listener.load()) listener();
  return index;
}

}  // namespace

std::vector<std::string> LabelKeys() {
  KeyTable& table = Keys();
  const MutexLock lock(table.mutex);
  return table.names;
}

void OnNewLabelKey(void (*listener)()) {
  Keys().listener.store(listener);
}

void LockLabelKeys() {
  Keys().mutex.LockForFork();
}
void UnlockLabelKeys() {
  auto& table = Keys();
  table.mutex.HeldOverFork();
  table.mutex.unlock();
}

void FindForeignPublisher() {
  g_foreign_publisher = ThreadSymbolIsForeign();
}

const ThreadRecord* ForeignRecord() {
  return static_cast<const ThreadRecord*>(ThreadSymbol());
}

}  // namespace wherefore::sdk

// --- the C ABI; no runtime behind it: a scope works with no profiler running. At global scope,
// where the header's declarations are, or the compiler forgets that they are exported. ---
using namespace wherefore::sdk;  // NOLINT(google-build-using-namespace): this part is the border

extern "C" {

void wherefore_span_enter(const wherefore_span_context* span,
                          wherefore_saved_span* saved) noexcept {
  ThreadBlock& block = t_thread_block;
  if (!block.published) [[unlikely]]
    return EnterFirstSpan(span, saved);  // a jump: the usual way needs no stack frame
  ThreadRecord& record = block.record;
  if (saved != nullptr) [[likely]]
    CopyHead(saved->bytes, &record);
  const std::uint32_t label_bytes = record.tail.label_bytes();
  static constexpr wherefore_span_context kNone{};
  // Both ids or none.
  const bool complete = span != nullptr && HasIds(*span);
  if (!complete) [[unlikely]]
    span = &kNone;
  const auto tail = RecordTail::Of(complete || label_bytes != 0, span->flags, label_bytes);
  StoreTail(record, tail.Invalid());
  CompilerFence();
  CopyIds(&record, span);
  CompilerFence();
  StoreTail(record, tail);
}

void wherefore_span_leave(const wherefore_saved_span* saved) noexcept {
  if (saved == nullptr) return;
  ThreadRecord& record = t_thread_block.record;  // published when the span was entered
  RecordTail tail{};
  std::memcpy(&tail, saved->bytes + offsetof(ThreadRecord, tail), sizeof(tail));
  StoreTail(record, tail.Invalid());
  CompilerFence();
  CopyIds(&record, saved->bytes);
  CompilerFence();
  StoreTail(record, tail);
}

int wherefore_label_enter(int key, const char* value, size_t length) noexcept {
  ThreadRecord& record = OwnRecord();
  const RecordTail before = record.tail;
  const std::size_t used = before.label_bytes();
  if (value == nullptr) length = 0;
  if (key < 0 || key >= static_cast<int>(kMaxLabelKeys) || length > 255 ||
      used + 2 + length > kLabelBytes) {
    return -1;
  }
  // Past the end first; the new size makes it count.
  record.labels[used] = static_cast<std::uint8_t>(key);
  record.labels[used + 1] = static_cast<std::uint8_t>(length);
  if (length != 0) std::memcpy(record.labels + used + 2, value, length);
  CompilerFence();
  StoreTail(record,
            RecordTail::Of(true, before.flags(), static_cast<std::uint32_t>(used + 2 + length)));
  return static_cast<int>(used << 1 | (before.valid() ? 1 : 0));
}

void wherefore_label_leave(int saved) noexcept {
  if (saved < 0) return;
  ThreadRecord& record = OwnRecord();
  const auto used = static_cast<std::uint32_t>(saved) >> 1;
  if (used > kLabelBytes) return;
  StoreTail(record, RecordTail::Of((saved & 1) != 0, record.tail.flags(), used));
}

void wherefore_context_save(wherefore_context* out) noexcept {
  if (out != nullptr) std::memcpy(out->bytes, &OwnRecord(), kRecordBytes);
}

void wherefore_context_restore(const wherefore_context* context) noexcept {
  if (context == nullptr) return;
  ThreadRecord& record = OwnRecord();
  const auto other = std::bit_cast<ThreadRecord>(context->bytes);
  if (other.tail.label_bytes() > kLabelBytes) return;
  StoreTail(record, other.tail.Invalid());
  CompilerFence();
  std::memcpy(record.trace_id, other.trace_id, offsetof(ThreadRecord, tail));
  std::memcpy(record.labels, other.labels, other.tail.label_bytes());
  CompilerFence();
  StoreTail(record, other.tail);
}

int wherefore_span_current(wherefore_span_context* out) noexcept {
  wherefore_span_context found{};
  const bool there = ReadThreadContext(&found);
  if (out != nullptr) *out = found;
  return there ? 1 : 0;
}

int wherefore_label_key(const char* name) noexcept {
  const Busy busy;
  const int error = errno;
  int key = 0;
  try {
    key = LabelKey(name);
  } catch (...) {
    key = -1;  // out of memory
  }
  errno = error;
  return key;
}

}  // extern "C"
