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
  bool recovered;  // it has no rules: it is passed by looking at the stack
  int frames;      // of assembly
};

// All there are.
extern const AssemblyCase kAssemblyCases[];
extern const int kAssemblyCaseCount;

// Leaves old frames where the next call has its own, then calls the code.
void RunAssembly(Assembly code, Stop stop);

}  // namespace wherefore::sdk
