// StackMemory: which memory an unwind may look at, and how it is read safely. Any context.
#pragma once

#include <cstdint>

namespace wherefore::sdk {

// Where stack memory may be read. Three uses:
// - the own stack: {low, high, nullptr}: addresses in [low, high) are read where they are;
// - a copy of another thread's stack: {low, high, copy}: the bytes of [low, high) are at `copy`;
// - anything else (alternate stacks, coroutines with stacks of their own): pid != 0 allows reading
//   outside [low, high) through process_vm_readv, at about half a microsecond per 256 bytes.
struct StackMemory {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  const std::uint8_t* copy = nullptr;
  int pid = 0;                     // this process
  bool only_code_outside = false;  // outside the copy only code may be read: the rest has changed
};

// Reads memory of process `pid`, which is this one, through the kernel, so that unreadable memory
// is not a fault. True when all of it was read.
bool ReadByKernel(int pid, std::uint64_t address, void* to, std::uint64_t size);

}  // namespace wherefore::sdk
