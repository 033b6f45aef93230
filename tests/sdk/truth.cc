// Programs whose profile is known: they measure themselves and print the truth as one line of JSON,
// {"function": number, ...}. tests/native_test.py compares it with what the profiler saw.
//
//   truth WHAT SECONDS
//
// The lists at the end of truth_*.cc say WHAT.
#include "truth.h"

#include <cstdlib>

int main(int argc, char** argv) {
  const Program* const program =
      ChosenProgram({argv, static_cast<std::size_t>(argc)},
                    {CpuPrograms(), MemoryPrograms(), WaitPrograms(), EdgePrograms()});
  if (program == nullptr) return 2;
  program->run(std::atof(argv[2]));
}
