// Compiled without exceptions, stack protector and sanitizers; a test looks at the object file and
// fails on any call that is not on the list (tools/check_signal_safe.py).
#include "sdk/unwind/unwind.h"

#include <sys/syscall.h>

#include "sdk/platform/arch.h"
#include "sdk/unwind/arch.h"
#include "sdk/unwind/stack_reader.h"

namespace wherefore::sdk {
namespace {

using elf::RowKind;
using elf::UnwindRule;

constexpr std::uint64_t kMaxScan = 16384;     // how far a frame record is looked for
constexpr std::uint64_t kMaxRealigned = 256;  // how far realigning can move a frame
// How much a stack is searched for return addresses, all attempts of an unwind together.
constexpr int kMaxWords = 1024;
constexpr int kMaxAttempts = 24;
constexpr int kMaxNested = 8;
constexpr std::uint64_t kMaxJump = 256;      // how far into a function its last jump is looked for
constexpr std::uint64_t kLowestCode = 4096;  // page 0 is never mapped

// What is followed from frame to frame.
struct Place {
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;
  std::uint64_t bp = 0;
  bool bp_known = true;
};

class Unwinder {
 public:
  Unwinder(const Registers& start, const StackMemory& stack, const UnwindOptions& options)
      : map_(options.map),
        cache_(options.cache),
        memory_(stack),
        at_{start.pc, start.sp, start.bp, start.bp_known},
        general_(start.general) {
    if (cache_ != nullptr && map_ != nullptr && cache_->generation != map_->generation) {
      __builtin_memset(cache_->slots, 0, sizeof cache_->slots);
      __builtin_memset(cache_->calls, 0, sizeof cache_->calls);
      cache_->generation = map_->generation;
    }
  }

  // Writes the frames from the one we are in up to the outermost; gives how many there are then.
  int Follow(std::uint64_t* pcs, int count, int max_depth) {
    while (true) {
      if (count == max_depth) {
        if (Step()) end_ = UnwindEnd::kTruncated;
        return count;
      }
      pcs[count++] = at_.pc;
      if (Step()) continue;
      if (end_ != UnwindEnd::kNoTable || Recover(pcs, &count, max_depth) || !StepByFramePointer())
        return count;
    }
  }

  [[nodiscard]] UnwindEnd end() const { return end_; }

 private:
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
      case RowKind::kExpression:
        return StepByExpression(rule);
      default:
        return StepWithoutTable();
    }
  }

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
  bool IsEntryOfStack(std::uint64_t pc) {
    return IsKnownCode(pc) && RuleOf(pc).kind != RowKind::kNone;
  }

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

  // A register by DWARF's number. Those that a call may change are known where code was
  // interrupted; of the others rbp alone is followed from frame to frame.
  [[nodiscard]] bool ValueOf(std::uint8_t reg, std::uint64_t* value) {
    if (reg == kDwarfSp || reg == kDwarfBp) {
      *value = reg == kDwarfSp ? at_.sp : at_.bp;
      return reg == kDwarfSp || at_.bp_known;
    }
    if (!interrupted_) return false;
    if (context_ != 0)
      return memory_.Read(context_ + kUcontextGeneral + std::uint64_t{8} * kGeneralPlaces[reg],
                          value);
    if (general_ == nullptr) return false;
    *value = general_[kGeneralPlaces[reg]];
    return true;
  }

  bool StepByExpression(const UnwindRule& rule) {
    const CodeRange* const range = map_->Find(at_.pc);
    if (range == nullptr) return Stop(UnwindEnd::kNoTable);
    const elf::CfaExpression& e = range->rows.expressions[rule.cfa];
    std::uint64_t cfa = 0, index = 0, return_address = 0, bp = at_.bp;
    if (!ValueOf(e.base, &cfa) || (e.index != elf::kNoRegister && !ValueOf(e.index, &index)))
      return StepToCopiedReturn(e);
    cfa += index * 8 + static_cast<std::int64_t>(e.offset);
    if (e.stored && !memory_.Read(cfa, &cfa)) return Stop(UnwindEnd::kBadMemory);
    cfa += static_cast<std::int64_t>(e.plus);
    const bool in_register = e.return_register != elf::kNoRegister;
    if (cfa < at_.sp || (cfa == at_.sp && !in_register)) return Stop(UnwindEnd::kLoop);
    if (in_register
            ? !ValueOf(e.return_register, &return_address)
            : !memory_.Read(cfa + static_cast<std::int64_t>(e.return_address), &return_address))
      return Stop(UnwindEnd::kBadMemory);
    using Rbp = elf::CfaExpression::Rbp;
    bool known = at_.bp_known && e.rbp_place != Rbp::kLost;
    if (e.rbp_place != Rbp::kUnchanged && e.rbp_place != Rbp::kLost) {
      const std::uint64_t from = e.rbp_place == Rbp::kAtCfa   ? cfa
                                 : e.rbp_place == Rbp::kAtRsp ? at_.sp
                                                              : at_.bp;
      known = (known || e.rbp_place != Rbp::kAtRbp) &&
              memory_.Read(from + static_cast<std::int64_t>(e.rbp), &bp);
    }
    return GoToCaller(return_address, cfa, bp, known);
  }

  // A function that realigned its stack and keeps the CFA in a register we do not know. It begins
  // with a copy of its return address, so that rbp points at a record: the CFA is behind the
  // original.
  bool StepToCopiedReturn(const elf::CfaExpression& e) {
    std::uint64_t copy = 0, bp = 0;
    if (e.rbp_place != elf::CfaExpression::Rbp::kAtRbp || e.rbp != 0 || !at_.bp_known ||
        at_.bp < at_.sp || !memory_.Read(at_.bp, &bp) || !memory_.Read(at_.bp + 8, &copy)) {
      return Stop(UnwindEnd::kNoTable);
    }
    for (std::uint64_t slot = at_.bp + 16; slot < at_.bp + 16 + kMaxRealigned; slot += 8) {
      std::uint64_t word = 0;
      if (!memory_.Read(slot, &word)) break;
      if (word == copy && IsKnownCode(copy - 1)) return GoToCaller(copy, slot + 8, bp, true);
    }
    return Stop(UnwindEnd::kNoTable);
  }

  // The handler may have run on another stack, so sp may go anywhere here; the depth bounds it.
  bool StepOverSignal() {
    Place before;
    if (!memory_.Read(at_.sp + kUcontextPc, &before.pc) ||
        !memory_.Read(at_.sp + kUcontextSp, &before.sp) ||
        !memory_.Read(at_.sp + kUcontextBp, &before.bp)) {
      return Stop(UnwindEnd::kBadMemory);
    }
    if (before.pc == 0) return Stop(UnwindEnd::kComplete);
    context_ = at_.sp;
    at_ = before;
    interrupted_ = true;
    return true;
  }

  bool StepWithoutTable() {
    UnwindRule rule;
    std::uint64_t return_address = 0;
    if (IsKnownCode(at_.pc)) {
      if (map_->whole) return Stop(UnwindEnd::kNoTable);  // Recover() is next
      // Perhaps its rows were not read. Interrupted in hand-written code of a library: mostly leaf
      // functions that push nothing.
      if (interrupted_ && memory_.Read(at_.sp, &return_address) && IsKnownCode(return_address - 1))
        return GoToCaller(return_address, at_.sp + 8, at_.bp, at_.bp_known);
    } else if (!interrupted_ && ReadWayOut(memory_, at_.pc + 1, &rule)) {
      Remember(at_.pc, rule);
      return StepToCfa(at_.sp + static_cast<std::int64_t>(rule.cfa), rule.rbp);
    }
    return StepByFramePointer();
  }

  bool StepByFramePointer() {
    std::uint64_t bp = 0, return_address = 0;
    if (!at_.bp_known || at_.bp < at_.sp || !memory_.Read(at_.bp, &bp) ||
        !memory_.Read(at_.bp + 8, &return_address)) {
      return Stop(UnwindEnd::kNoTable);
    }
    // Code of a just-in-time compiler may call more of its kind, which we do not know either.
    const bool plausible =
        IsKnownCode(return_address - 1) || (!IsKnownCode(at_.pc) && return_address > kLowestCode &&
                                            return_address < kHighestCode && bp > at_.bp);
    if (!plausible) return Stop(UnwindEnd::kNoTable);
    return GoToCaller(return_address, at_.bp + 16, bp, true);
  }

  // See unwind.h. True when it led to the outermost frame; nothing has changed when not.
  bool Recover(std::uint64_t* pcs, int* count, int max_depth) {
    if (map_ == nullptr || !map_->whole || !IsKnownCode(at_.pc) || nested_ == kMaxNested)
      return false;
    const Place from = at_;
    const bool interrupted = interrupted_;
    ++nested_;
    bool found = false;
    for (std::uint64_t slot = from.sp; !found; slot += 8) {
      std::uint64_t word = 0;
      if (++words_ > kMaxWords || attempts_ >= kMaxAttempts) break;
      if (!memory_.Read(slot, &word)) break;
      if (!IsKnownCode(word - 1) || !CanHaveCalled(word)) continue;
      for (const bool bp_known : {true, false}) {
        if (found || (bp_known && !from.bp_known)) continue;
        ++attempts_;
        found = Attempt({word - 1, slot + 8, from.bp, bp_known}, pcs, count, max_depth);
        at_ = found ? at_ : from;
      }
    }
    --nested_;
    if (found) return true;
    interrupted_ = interrupted;
    end_ = UnwindEnd::kNoTable;
    return false;
  }

  bool Attempt(const Place& caller, std::uint64_t* pcs, int* count, int max_depth) {
    int reached = *count;
    // Once in a row of such frames.
    const bool marked = reached >= 2 && pcs[reached - 2] == kRecoveredMark;
    if (!marked && reached < max_depth) pcs[reached++] = kRecoveredMark;
    at_ = caller;
    interrupted_ = false;
    reached = Follow(pcs, reached, max_depth);
    // A stack is full of zeros: only a function that says it is the outermost one proves it.
    const bool proven =
        end_ == UnwindEnd::kTruncated ||
        (end_ == UnwindEnd::kComplete && RuleOf(at_.pc).kind == RowKind::kEndOfStack);
    if (proven) *count = reached;
    return proven;
  }

  // Whether the instruction before `next` is a call, and may be one of the code we are in, which
  // has no rows. Stale return addresses mostly belong to calls of something else.
  bool CanHaveCalled(std::uint64_t next) {
    const RuleCache::Call call = CallBefore(next);
    if (call.target == kNoCall || call.target == kIndirectCall) return call.target == kIndirectCall;
    const CodeRange* const range = map_->Find(at_.pc);
    const auto here = [range](std::uint64_t target) {
      return target >= range->start && target < range->end;
    };
    if (RuleOf(at_.pc).kind != RowKind::kNone) return here(call.target) && call.target <= at_.pc;
    return here(call.jump) || (here(call.target) && RuleOf(call.target).kind == RowKind::kNone);
  }

  RuleCache::Call CallBefore(std::uint64_t next) {
    RuleCache::Call unshared = {};
    RuleCache::Call& slot =
        cache_ == nullptr
            ? unshared
            : cache_->calls[(next * 0x9e3779b97f4a7c15U) >> (64 - RuleCache::kCallBits)];
    if (slot.next != next) {
      const std::uint64_t target = ReadCall(memory_, next);
      slot = {next, target, FindJump(target)};
    }
    return slot;
  }

  // Where a function that has rows leaves by a jump for code that has none: the return address of
  // its caller is all that is left of it. Every byte is taken for the beginning of one: hardly any
  // other leads there.
  std::uint64_t FindJump(std::uint64_t function) {
    if (RuleOf(function).kind == RowKind::kNone) return 0;
    for (std::uint64_t at = function; at < function + kMaxJump; ++at) {
      std::uint64_t to = 0;
      if (!ReadJump(memory_, at, &to)) return 0;
      if (to != kNoCall && IsKnownCode(to) && RuleOf(to).kind == RowKind::kNone) return to;
    }
    return 0;
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
  StackReader memory_;
  Place at_;
  const std::uint64_t* const general_;
  std::uint64_t context_ = 0;  // of the signal frame that was passed last
  bool interrupted_ = true;    // at_.pc is where an instruction was about to run
  int nested_ = 0;             // of Recover(), as the next two
  int words_ = 0;
  int attempts_ = 0;
  UnwindEnd end_ = UnwindEnd::kComplete;
};

}  // namespace

// process_vm_readv without libc, whose wrapper would set errno.
bool ReadByKernel(int pid, std::uint64_t address, void* to, std::uint64_t size) {
  struct {
    std::uint64_t base;
    std::uint64_t length;
  } const local{reinterpret_cast<std::uint64_t>(to), size}, remote{address, size};
  return RawSyscall6(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0) ==
         static_cast<long>(size);
}

int Unwind(const Registers& start, const StackMemory& memory, const UnwindOptions& options,
           std::uint64_t* pcs, UnwindEnd* end) {
  Unwinder unwinder(start, memory, options);
  const int count = unwinder.Follow(pcs, 0, options.max_depth);
  *end = unwinder.end();
  return count;
}

}  // namespace wherefore::sdk
