// Shared by the files of changes.cc.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <span>

#include "program.h"

std::span<const Program> LimitPrograms();

[[noreturn]] inline void Fail(const char* what) {
  std::fprintf(stderr, "changes: %s\n", what);
  std::exit(1);
}
