// What differs from processor to processor: ticks, system calls, registers. One header for each,
// with the same names in it; the other half, the instructions an unwind reads, is unwind/arch.h.
//
// Another processor also needs rows of its own: those of elf/unwind_rows.h, and the steps of
// unwind.cc that follow them, assume that a call pushes its return address.
#pragma once

#if defined(__x86_64__)
#include "sdk/platform/arch_x86_64.h"
#else
#error "no sdk/platform/arch_*.h for this processor yet"
#endif
