// Compiled without exceptions, stack protector and sanitizers; a test looks at the object file and
// fails on any call that is not on the list (tools/check_signal_safe.py).
#include "sdk/unwind.h"

#include <sys/syscall.h>

namespace wherefore::sdk {
namespace {

using elf::RowKind;
using elf::UnwindRule;

// Offsets into the ucontext that the kernel puts on the stack for a handler.
constexpr std::uint64_t kUcontextBp = 120;
constexpr std::uint64_t kUcontextSp = 160;
constexpr std::uint64_t kUcontextPc = 168;
constexpr std::uint64_t kWindow = 256;       // read through the kernel at once; divides a page
constexpr std::uint64_t kMaxScan = 16384;    // how far a frame record is looked for
constexpr std::uint64_t kLowestCode = 4096;  // page 0 is never mapped
constexpr std::uint64_t kHighestCode = std::uint64_t{1} << 47;

class Memory {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): window_ is read when window_start_ says so
  explicit Memory(const StackMemory& stack) : stack_(stack) {}

  [[nodiscard]] bool Read(std::uint64_t address, std::uint64_t* value) {
    if (address % 8 != 0) return false;
    if (address >= stack_.low && address < stack_.high && stack_.high - address >= 8) {
      const auto* const at = stack_.copy == nullptr
                                 // NOLINTNEXTLINE(performance-no-int-to-ptr): a stack address
                                 ? reinterpret_cast<const std::uint8_t*>(address)
                                 : stack_.copy + (address - stack_.low);
      *value = *reinterpret_cast<const std::uint64_t*>(at);
      return true;
    }
    return !stack_.only_code_outside && ReadCode(address, value);
  }
  // Not of the stack: no code is there, what led to it was wrong.
  [[nodiscard]] bool ReadCode(std::uint64_t address, std::uint64_t* value) {
    const bool in_stack = address >= stack_.low && address < stack_.high;
    return !in_stack && stack_.pid != 0 && ReadOutside(address, value);
  }

 private:
  bool ReadOutside(std::uint64_t address, std::uint64_t* value) {
    const std::uint64_t start = address & ~(kWindow - 1);
    if (start != window_start_ || start == 0) {
      window_start_ = 0;
      if (!ReadByKernel(stack_.pid, start, window_, kWindow)) return false;
      window_start_ = start;
    }
    *value = window_[(address - start) / 8];
    return true;
  }

  const StackMemory& stack_;
  std::uint64_t window_start_ = 0;
  std::uint64_t window_[kWindow / 8];
};

class Unwinder {
 public:
  Unwinder(const Registers& start, const StackMemory& stack, const UnwindOptions& options)
      : map_(options.map), cache_(options.cache), memory_(stack), at_(start) {
    if (cache_ != nullptr && map_ != nullptr && cache_->generation != map_->generation) {
      __builtin_memset(cache_->slots, 0, sizeof cache_->slots);
      cache_->generation = map_->generation;
    }
  }

  [[nodiscard]] std::uint64_t pc() const { return at_.pc; }

  // Goes to the caller; false when there is none or it cannot be found, end() says which.
  bool Step() {
    const UnwindRule rule = RuleOf(at_.pc);
    // A function that was not called but set up as the outermost one (makecontext's): its first
    // instruction is the return address, and nothing is before it.
    if (rule.kind == RowKind::kNone && !interrupted_ && IsEntryOfStack(at_.pc + 1)) {
      return Stop(UnwindEnd::kComplete);
    }
    switch (rule.kind) {
      case RowKind::kCfaRsp:
        return StepToCfa(at_.sp + static_cast<std::int64_t>(rule.cfa), rule.rbp);
      case RowKind::kCfaRbp:
        if (!at_.bp_known) return StepToScannedRecord();
        return StepToCfa(at_.bp + static_cast<std::int64_t>(rule.cfa), rule.rbp);
      case RowKind::kCfaRbpDeref:
        if (!at_.bp_known) return StepToScannedRecord();
        return StepRealigned(rule);
      case RowKind::kPlt: {
        const bool pushed = (at_.pc & 15) >= static_cast<std::uint64_t>(rule.cfa);
        return StepToCfa(at_.sp + (pushed ? 16 : 8), elf::kRbpUnchanged);
      }
      case RowKind::kSignal:
        return StepOverSignal();
      case RowKind::kEndOfStack:
        return Stop(UnwindEnd::kComplete);
      default:
        return StepWithoutTable();
    }
  }

  [[nodiscard]] UnwindEnd end() const { return end_; }

 private:
  bool Stop(UnwindEnd end) {
    end_ = end;
    return false;
  }

  [[nodiscard]] RuleCache::Slot* SlotOf(std::uint64_t pc) const {
    if (cache_ == nullptr) return nullptr;
    return &cache_->slots[(pc * 0x9e3779b97f4a7c15U) >> (64 - RuleCache::kSlotBits)];
  }

  void Remember(std::uint64_t pc, const UnwindRule& rule) {
    RuleCache::Slot* const slot = SlotOf(pc);
    const bool fits = rule.rbp == static_cast<std::int16_t>(rule.rbp);
    if (slot != nullptr && fits) {
      *slot = {pc, rule.cfa, static_cast<std::int16_t>(rule.rbp), rule.kind};
    }
  }

  UnwindRule RuleOf(std::uint64_t pc) {
    if (map_ == nullptr) return {};
    const RuleCache::Slot* const slot = SlotOf(pc);
    if (slot != nullptr && slot->pc == pc) return {slot->cfa, slot->rbp, slot->kind};
    const CodeRange* const range = map_->Find(pc);
    if (range == nullptr) return {};
    const UnwindRule rule =
        elf::FindRule(range->rows, static_cast<std::uint32_t>(pc - range->base));
    Remember(pc, rule);
    return rule;
  }

  // Whether code without a caller can begin here: known, and not in the middle of a function.
  bool IsEntryOfStack(std::uint64_t pc) { return IsKnownCode(pc) && RuleOf(pc).kind != RowKind::kNone; }

  [[nodiscard]] bool IsKnownCode(std::uint64_t pc) const {
    return map_ != nullptr && map_->Find(pc) != nullptr;
  }

  bool StepToCfa(std::uint64_t cfa, std::int32_t rbp_rule) {
    if (cfa <= at_.sp) return Stop(UnwindEnd::kLoop);
    std::uint64_t return_address = 0;
    if (!memory_.Read(cfa - 8, &return_address)) return Stop(UnwindEnd::kBadMemory);
    std::uint64_t bp = at_.bp;
    bool bp_known = at_.bp_known;
    if (rbp_rule == elf::kRbpLost) {
      bp_known = false;
    } else if (rbp_rule != elf::kRbpUnchanged) {
      bp_known = memory_.Read(cfa + static_cast<std::int64_t>(rbp_rule), &bp);
    }
    return GoToCaller(return_address, cfa, bp, bp_known);
  }

  bool StepRealigned(const UnwindRule& rule) {
    std::uint64_t cfa = 0, bp = 0, return_address = 0;
    if (!memory_.Read(at_.bp + static_cast<std::int64_t>(rule.cfa), &cfa) ||
        !memory_.Read(at_.bp + static_cast<std::int64_t>(rule.rbp), &bp) ||
        !memory_.Read(cfa - 8, &return_address)) {
      return Stop(UnwindEnd::kBadMemory);
    }
    if (cfa <= at_.sp) return Stop(UnwindEnd::kLoop);
    return GoToCaller(return_address, cfa, bp, true);
  }

  bool GoToCaller(std::uint64_t return_address, std::uint64_t sp, std::uint64_t bp, bool bp_known) {
    if (return_address == 0) return Stop(UnwindEnd::kComplete);
    at_ = {return_address - 1, sp, bp, bp_known};
    interrupted_ = false;
    return true;
  }

  // The handler may have run on another stack, so sp may go anywhere here; the depth bounds it.
  bool StepOverSignal() {
    Registers before{.bp_known = true};
    if (!memory_.Read(at_.sp + kUcontextPc, &before.pc) ||
        !memory_.Read(at_.sp + kUcontextSp, &before.sp) ||
        !memory_.Read(at_.sp + kUcontextBp, &before.bp)) {
      return Stop(UnwindEnd::kBadMemory);
    }
    if (before.pc == 0) return Stop(UnwindEnd::kComplete);
    at_ = before;
    interrupted_ = true;
    return true;
  }

  bool StepWithoutTable() {
    const bool in_module = IsKnownCode(at_.pc);
    std::uint64_t return_address = 0;
    // Interrupted in hand-written code of a library: mostly leaf functions that push nothing.
    if (interrupted_ && in_module && memory_.Read(at_.sp, &return_address) &&
        IsKnownCode(return_address - 1)) {
      return GoToCaller(return_address, at_.sp + 8, at_.bp, at_.bp_known);
    }
    UnwindRule rule;
    if (!interrupted_ && !in_module && ReadWayOut(at_.pc + 1, &rule)) {
      Remember(at_.pc, rule);
      return StepToCfa(at_.sp + static_cast<std::int64_t>(rule.cfa), rule.rbp);
    }
    std::uint64_t bp = 0;
    if (!at_.bp_known || at_.bp < at_.sp || !memory_.Read(at_.bp, &bp) ||
        !memory_.Read(at_.bp + 8, &return_address)) {
      return Stop(UnwindEnd::kNoTable);
    }
    // Code of a just-in-time compiler may call more of its kind, which we do not know either.
    const bool plausible =
        IsKnownCode(return_address - 1) || (!in_module && return_address > kLowestCode &&
                                            return_address < kHighestCode && bp > at_.bp);
    if (!plausible) return Stop(UnwindEnd::kNoTable);
    return GoToCaller(return_address, at_.bp + 16, bp, true);
  }

  // Generated code without frame pointers, seen from a call in it: the instructions that follow say
  // where its frame ends, if they do nothing else. CPython's trampolines (-X perf) are of this kind.
  bool ReadWayOut(std::uint64_t next, UnwindRule* rule) {
    constexpr unsigned kLength = 16;
    std::uint64_t words[kLength / 8 + 1];
    for (unsigned i = 0; i < sizeof words / 8; ++i) {
      if (!memory_.ReadCode((next & ~std::uint64_t{7}) + std::uint64_t{8} * i, &words[i])) return false;
    }
    const auto* const code = reinterpret_cast<const std::uint8_t*>(words) + next % 8;
    std::int32_t size = 0;
    std::int32_t rbp_at = -1;
    for (unsigned i = 0; i < kLength - 4;) {
      const bool wide = code[i] == 0x41;  // r8 to r15
      const std::uint8_t low = code[i + (wide ? 1 : 0)];
      if (code[i] == 0x48 && code[i + 1] == 0x83 && code[i + 2] == 0xc4 && code[i + 3] < 0x80) {
        size += code[i + 3];  // add rsp, code[i + 3]
        i += 4;
      } else if (low >= 0x58 && low <= 0x5f && (wide || low != 0x5c)) {
        if (!wide && low == 0x5d) rbp_at = size;  // pop rbp
        size += 8;
        i += wide ? 2 : 1;
      } else if (code[i] == 0xc3) {
        *rule = {size + 8, rbp_at < 0 ? elf::kRbpUnchanged : rbp_at - size - 8, RowKind::kCfaRsp};
        return size % 8 == 0;
      } else {
        return false;
      }
    }
    return false;
  }

  [[nodiscard]] bool IsRecord(std::uint64_t slot, std::uint64_t* bp, std::uint64_t* address) {
    return memory_.Read(slot, bp) && memory_.Read(slot + 8, address) && *bp > slot &&
           *bp % 8 == 0 && IsKnownCode(*address - 1) && RuleOf(*address - 1).kind != RowKind::kNone;
  }

  // See unwind.h. The function we are in has its record at or above sp.
  bool StepToScannedRecord() {
    for (std::uint64_t slot = at_.sp; slot < at_.sp + kMaxScan; slot += 8) {
      std::uint64_t bp = 0, return_address = 0, next_bp = 0, next_address = 0;
      if (!memory_.Read(slot, &bp)) break;
      if (!IsRecord(slot, &bp, &return_address)) continue;
      // Its caller's record: of the same kind, or the outermost one, whose saved rbp may be
      // anything.
      const bool next = IsRecord(bp, &next_bp, &next_address) ||
                        (memory_.Read(bp + 8, &next_address) && IsKnownCode(next_address - 1));
      if (next) return GoToCaller(return_address, slot + 16, bp, true);
    }
    return Stop(UnwindEnd::kNoTable);
  }

  const CodeMap* map_;
  RuleCache* cache_;
  Memory memory_;
  Registers at_;
  bool interrupted_ = true;  // at_.pc is where an instruction was about to run
  UnwindEnd end_ = UnwindEnd::kComplete;
};

}  // namespace

// process_vm_readv without libc, whose wrapper would set errno.
bool ReadByKernel(int pid, std::uint64_t address, void* to, std::uint64_t size) {
  struct {
    std::uint64_t base;
    std::uint64_t length;
  } const local{reinterpret_cast<std::uint64_t>(to), size}, remote{address, size};
  long result = SYS_process_vm_readv;
  register const void* from asm("r10") = &remote;
  register long from_count asm("r8") = 1;
  register long flags asm("r9") = 0;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(static_cast<long>(pid)), "S"(&local), "d"(1L), "r"(from), "r"(from_count),
                 "r"(flags)
               : "rcx", "r11", "memory");
  return result == static_cast<long>(size);
}

int Unwind(const Registers& start, const StackMemory& memory, const UnwindOptions& options,
           std::uint64_t* pcs, UnwindEnd* end) {
  Unwinder unwinder(start, memory, options);
  int count = 0;
  do {
    pcs[count++] = unwinder.pc();
  } while (count < options.max_depth && unwinder.Step());
  if (count == options.max_depth && unwinder.Step()) {
    *end = UnwindEnd::kTruncated;
  } else {
    *end = unwinder.end();
  }
  return count;
}

}  // namespace wherefore::sdk
