// Shared by the files of truth.cc; each has programs about one subject.
#pragma once

#include <span>

#include "program.h"

std::span<const Program> CpuPrograms();
std::span<const Program> MemoryPrograms();
std::span<const Program> WaitPrograms();
std::span<const Program> EdgePrograms();

// SECONDS of CPU time, then the end.
[[gnu::noinline]] void Brief(double seconds);
