// Hand-written code for the unwinder's tests: some with rules that only people write, some without
// any. Each spins until `*stop`, or calls `back(stop)`, which does.
#pragma once

#include <atomic>

namespace wherefore::sdk {

using Stop = const std::atomic<bool>*;
using Back = void (*)(Stop stop);
using Assembly = void (*)(Stop stop, Back back);

struct AssemblyCase {
  const char* name;
  Assembly code;
  // The frames from the leaf to RunAssembly: '?' a function without rules, 'r' the mark before what
  // was found by looking at the stack, 'S' what was called back, 'A' another function with rules.
  const char* way;
};

// All there are.
extern const AssemblyCase kAssemblyCases[];
extern const int kAssemblyCaseCount;

// Leaves old frames where the next call has its own, then calls the code.
void RunAssembly(Assembly code, Stop stop);

}  // namespace wherefore::sdk
