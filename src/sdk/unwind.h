// Unwind: the return addresses of a stack, from registers and tables, safe in a signal handler.
//
// No lock, no allocation, no library call, no errno, no fault: stack memory is read inside bounds
// the caller vouches for, and outside them only by asking the kernel (process_vm_readv on
// ourselves). Tables are copies of our own (CodeMap), so a library that was unloaded meanwhile is
// no danger. Any thread; a RuleCache belongs to one thread at a time.
#pragma once

#include <cstdint>

#include "sdk/code_map.h"

namespace wherefore::sdk {

inline constexpr std::uint64_t kRedZone = 128;  // of the stack pointer: no signal touches it
inline constexpr unsigned kGeneralRegisters = 16;

struct Registers {
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;
  std::uint64_t bp = 0;
  bool bp_known = true;  // false for another thread that sleeps in the kernel
  // All registers of a signal's ucontext (gregs), while it is there; hand-written code needs them.
  const std::uint64_t* general = nullptr;
};

// The registers of the function this is written in: for unwinding from ordinary code.
[[gnu::always_inline]] inline Registers CaptureRegisters() {
  Registers here;
  asm volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
               : "=r"(here.pc), "=r"(here.sp), "=r"(here.bp));
  return here;
}

// Where stack memory may be read. Three uses:
// - the own stack: {low, high, nullptr}: addresses in [low, high) are read where they are;
// - a copy of another thread's stack: {low, high, copy}: the bytes of [low, high) are at `copy`;
// - anything else (alternate stacks, coroutines with stacks of their own): pid != 0 allows reading
//   outside [low, high) through process_vm_readv, at about half a microsecond per 256 bytes.
struct StackMemory {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  const std::uint8_t* copy = nullptr;
  int pid = 0;  // this process
  bool only_code_outside = false;  // what is not in the copy has changed since, but for code
};

enum class UnwindEnd : std::uint8_t {
  kComplete,   // reached the outermost frame
  kTruncated,  // there was more than max_depth
  kBadMemory,  // a needed value is outside the memory that may be read
  kNoTable,    // code without unwind information, and frame pointers do not help
  kLoop        // the stack pointer did not grow: damaged stack or wrong information
};

// Rules of addresses seen lately, and what is called before return addresses that were looked at,
// direct mapped. 10 KiB, zero-initialised is empty.
struct RuleCache {
  static constexpr unsigned kSlotBits = 9;
  static constexpr unsigned kCallBits = 6;
  struct Slot {
    std::uint64_t pc;
    std::int32_t cfa;
    std::int16_t rbp;
    elf::RowKind kind;
  };
  struct Call {
    std::uint64_t next;
    std::uint64_t target;
    std::uint64_t jump;  // where what is called jumps to, in code without rows; 0: nowhere
  };
  std::uint64_t generation;
  Slot slots[1 << kSlotBits];
  Call calls[1 << kCallBits];
};

struct UnwindOptions {
  const CodeMap* map = nullptr;
  RuleCache* cache = nullptr;  // optional
  int max_depth = 256;
};

// Stands among `pcs` before a frame that was found by looking at the stack; no code is there.
inline constexpr std::uint64_t kRecoveredMark = 1;

// Fills `pcs` leaf first and gives their number, at least 1. Every address lies inside the
// instruction that was running: the interrupted pc itself, and for callers the return address
// minus 1. A signal frame on the way is listed like any other, and the code it interrupted after
// it.
//
// Where code outside of all modules has no table (a just-in-time compiler's) frame pointers are
// followed. Hand-written code of a module that has none is passed by looking at the stack: the first
// word that is a return address behind a call which may have led here, and from which the rest
// unwinds to the outermost frame, is taken for its caller. kRecoveredMark stands before it. A call of
// a function with rules may have led here if that ends by a jump to code without (a tail call).
// Bounded: 8 KiB of stack and 24 attempts, all together, and 256 bytes of code per call. Where a rule
// needs rbp and it is not known, the stack is searched upwards for a frame record: a slot that holds a higher address of this stack, followed by an address in known
// code, where the record it points to is of the same kind. What is found that way is a heuristic.
int Unwind(const Registers& start, const StackMemory& memory, const UnwindOptions& options,
           std::uint64_t* pcs, UnwindEnd* end);

// Memory of process `pid`, which is this one, through the kernel: what cannot be read is no fault. True
// when all of it was read.
bool ReadByKernel(int pid, std::uint64_t address, void* to, std::uint64_t size);

}  // namespace wherefore::sdk
