// One executable that is many programs, `NAME WHAT SECONDS`. For main(), which itself calls what
// was chosen: so it is on the stack.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <span>
#include <string_view>

struct Program {
  std::string_view what;
  void (*run)(double seconds);
};

// The program the arguments choose; null, after printing the usage, if they choose none.
inline const Program* ChosenProgram(std::span<char*> arguments,
                                    std::initializer_list<std::span<const Program>> lists) {
  for (const std::span<const Program> list : lists) {
    for (const Program& program : list) {
      if (arguments.size() == 3 && program.what == arguments[1]) return &program;
    }
  }
  std::fprintf(stderr, "usage: %s WHAT SECONDS; WHAT is", arguments[0]);
  for (const std::span<const Program> list : lists) {
    for (const Program& program : list) std::fprintf(stderr, " %s", program.what.data());
  }
  std::fprintf(stderr, "\n");
  return nullptr;
}
