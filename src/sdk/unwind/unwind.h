// Unwind: the return addresses of a stack, from registers and tables, safe in a signal handler.
//
// No lock, no allocation, no library call, no errno, no fault: stack memory is read inside bounds
// the caller vouches for, and outside them only by asking the kernel (process_vm_readv on
// ourselves). Tables are copies of our own (CodeMap), so a library that was unloaded meanwhile is
// no danger. Any thread; a RuleCache belongs to one thread at a time.
#pragma once

#include <cstdint>

#include "sdk/platform/arch.h"
#include "sdk/unwind/code_map.h"
#include "sdk/unwind/stack_memory.h"

namespace wherefore::sdk {

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
// followed. Hand-written code of a module that has none is passed by looking at the stack: the
// first word that is a return address behind a call which may have led here, and from which the
// rest unwinds to the outermost frame, is taken for its caller. kRecoveredMark stands before it. A
// call of a function with rules may have led here if that ends by a jump to code without (a tail
// call). Bounded: 8 KiB of stack and 24 attempts, all together, and 256 bytes of code per call.
// Where a rule needs rbp and it is not known, the stack is searched upwards for a frame record: a
// slot that holds a higher address of this stack, followed by an address in known code, where the
// record it points to is of the same kind. That is a heuristic.
int Unwind(const Registers& start, const StackMemory& memory, const UnwindOptions& options,
           std::uint64_t* pcs, UnwindEnd* end);

}  // namespace wherefore::sdk
