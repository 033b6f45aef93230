// Runs in signal context: no locks, no allocation, no library calls but those on the allow-list of
// tools/signal_safe.txt.
#include "sdk/sample/capture.h"

#include <array>
#include <atomic>

#include "sdk/context/context.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/shared.h"
#include "sdk/unwind/unwind.h"

// Set by the linker: the section of our hooks. Null in a program that has none of them.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
extern "C" [[gnu::weak, gnu::visibility("hidden")]] const char __start_wherefore_hooks[];
extern "C" [[gnu::weak, gnu::visibility("hidden")]] const char __stop_wherefore_hooks[];
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace wherefore::sdk {

bool IsHook(std::uint64_t pc) {
  return pc >= reinterpret_cast<std::uintptr_t>(__start_wherefore_hooks) &&
         pc < reinterpret_cast<std::uintptr_t>(__stop_wherefore_hooks);
}

bool HooksAreLinked() {
  return &__start_wherefore_hooks[0] != &__stop_wherefore_hooks[0];
}

namespace {

// Our own frames above a hook are a handful.
constexpr int kMostOwnFrames = 8;

// Caches are lent out for one unwind: a thousand threads do not need a thousand of them.
struct Lendable {
  std::atomic<bool> lent{false};
  RuleCache cache = {};
};
constinit std::array<Lendable, 16> g_caches;

class CacheLoan {
 public:
  explicit CacheLoan(std::uint32_t tid) {
    for (std::uint32_t i = 0; i < g_caches.size(); ++i) {
      Lendable& candidate = g_caches[(tid + i) % g_caches.size()];
      if (!candidate.lent.exchange(true, std::memory_order_acquire)) {
        loan_ = &candidate;
        return;
      }
    }
  }
  ~CacheLoan() {
    if (loan_ != nullptr) loan_->lent.store(false, std::memory_order_release);
  }
  CacheLoan(const CacheLoan&) = delete;
  CacheLoan& operator=(const CacheLoan&) = delete;

  [[nodiscard]] RuleCache* get() const { return loan_ == nullptr ? nullptr : &loan_->cache; }

 private:
  Lendable* loan_ = nullptr;
};

StackEnd EndOf(UnwindEnd end) {
  if (end == UnwindEnd::kComplete) return StackEnd::kComplete;
  return end == UnwindEnd::kTruncated ? StackEnd::kTruncated : StackEnd::kBroken;
}

void UnwindWith(const CodeMap* map, Event& event, const Registers& start,
                const StackMemory& memory) {
  event.generation = map == nullptr ? 0 : map->generation;
  const CacheLoan cache(event.tid);
  UnwindEnd end = UnwindEnd::kNoTable;
  event.depth = static_cast<std::uint16_t>(Unwind(
      start, memory,
      {.map = map, .cache = cache.get(), .max_depth = static_cast<int>(g_shared.queue.max_depth())},
      event.pcs, &end));
  event.end = EndOf(end);
}

// How much of a stack is kept: of the thread's own, and of one whose end we do not know.
constexpr std::uint64_t kMostKept = 64U << 10U;
constexpr std::uint64_t kMostKeptByKernel = 8U << 10U;
constexpr std::uint64_t kPage = 4096;

// Keeps the stack as it is, to be followed later (early_stacks.h). False: there was no room.
bool KeepForLater(Event& event, const Registers& start, const StackMemory& memory) {
  const bool own = memory.high != 0;
  const std::uint64_t from = own ? memory.low : (start.sp & ~std::uint64_t{7}) - kRedZone;
  const std::uint64_t left = memory.high - from;
  EarlyStacks::Kept* const kept = g_shared.early.Claim(start, from,
                                                       !own               ? kMostKeptByKernel
                                                       : left < kMostKept ? left
                                                                          : kMostKept);
  if (kept == nullptr) return false;
  if (own) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a stack address
    __builtin_memcpy(kept->bytes(), reinterpret_cast<const void*>(from), kept->size);
  } else {
    std::uint64_t done = 0;
    while (done < kMostKeptByKernel) {
      const std::uint64_t to_page = kPage - ((from + done) % kPage);
      const std::uint64_t piece =
          to_page < kMostKeptByKernel - done ? to_page : kMostKeptByKernel - done;
      if (!ReadByKernel(memory.pid, from + done, kept->bytes() + done, piece)) break;
      done += piece;
    }
    kept->size = done;
  }
  event.early = g_shared.early.NumberOf(kept);
  return true;
}

// Fills in the stack above `start`, which is this thread's. What cannot be followed with the tables
// there are is kept for later.
void UnwindInto(Event& event, const Registers& start) {
  const ThreadState& state = t_state;
  StackMemory memory = {.pid = g_shared.pid.load(std::memory_order_relaxed)};
  if (start.sp >= state.stack_low && start.sp < state.stack_high) {
    const std::uint64_t low = (start.sp & ~std::uint64_t{7}) - kRedZone;
    memory.low = low < state.stack_low ? state.stack_low : low;
    memory.high = state.stack_high;
  }
  const CodeMapSlots::Reader reader(*g_shared.code_maps);
  if (reader.get() == nullptr && KeepForLater(event, start, memory)) {
    event.depth = 0;
    event.end = StackEnd::kBroken;
    event.generation = 0;
    return;
  }
  UnwindWith(reader.get(), event, start, memory);
  // It may have come from a library that was loaded a moment ago.
  if (event.end == StackEnd::kBroken && reader.get() != nullptr) KeepForLater(event, start, memory);
}

void DropOwnFrames(Event& event) {
  int own = 0;
  for (int i = 0; i < event.depth && i < kMostOwnFrames; ++i) {
    if (IsHook(event.pcs[i])) own = i + 1;
  }
  // It broke before it came to the host: none of these is the host's.
  if (own == 0 && event.end == StackEnd::kBroken) own = event.depth;
  for (int i = own; i < event.depth; ++i) event.pcs[i - own] = event.pcs[i];
  event.depth = static_cast<std::uint16_t>(event.depth - own);
}

}  // namespace

void CaptureSignal(Event& event, const void* context) {
  UnwindInto(event, RegistersOf(context));
}

void TryEarly(Event& event) {
  const EarlyStacks::Kept& kept = g_shared.early.Get(event.early);
  const CodeMapSlots::Reader reader(*g_shared.code_maps);
  UnwindWith(reader.get(), event, kept.start,
             {.low = kept.from,
              .high = kept.from + kept.size,
              .copy = kept.bytes(),
              .pid = g_shared.pid.load(std::memory_order_relaxed),
              .only_code_outside = true});
}

void FollowEarly(Event& event) {
  TryEarly(event);
  event.early = 0;
  if (event.kind != EventKind::kCpu) DropOwnFrames(event);
}

void CaptureHere(Event& event) {
  event.tid = t_state.tid;
  UnwindInto(event, CaptureRegisters());
  DropOwnFrames(event);
}

void CaptureContext(Event& event) {
  wherefore_span_context span{};
  event.has_span = ReadThreadContext(&span) ? 1 : 0;
  if (event.has_span != 0) {
    __builtin_memcpy(event.trace, span.trace_id, sizeof event.trace);
    __builtin_memcpy(event.span, span.span_id, sizeof event.span);
  }
  event.label_bytes =
      static_cast<std::uint16_t>(ReadThreadLabels(event.labels, sizeof event.labels));
}

}  // namespace wherefore::sdk
