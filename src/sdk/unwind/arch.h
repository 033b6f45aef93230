// Instructions, as far as an unwind reads them: past code that has no unwind table. One
// arch_<processor>.cc for each processor (see platform/arch.h); CMakeLists.txt chooses.
//
// Signal-safe like unwind.h. Code is read through the unwind's StackReader: nothing faults.
#pragma once

#include <cstdint>

#include "elf/unwind_rows.h"
#include "sdk/unwind/stack_reader.h"

namespace wherefore::sdk {

// What an instruction calls, beside an address.
inline constexpr std::uint64_t kNoCall = 1;
inline constexpr std::uint64_t kIndirectCall = 2;

// What the instruction before `next` calls; behind a stub of .plt what that jumps to.
// kIndirectCall also when it cannot be read: it may be one.
[[nodiscard]] std::uint64_t ReadCall(StackReader& memory, std::uint64_t next);

// What a jump at this address, if there is one, jumps to; kNoCall when there is none. False: the
// code cannot be read.
bool ReadJump(StackReader& memory, std::uint64_t at, std::uint64_t* to);

// Generated code without frame pointers, seen from a call in it: the instructions that follow
// `next` say where its frame ends, if they do nothing else. CPython's trampolines (-X perf) are of
// this kind.
bool ReadWayOut(StackReader& memory, std::uint64_t next, elf::UnwindRule* rule);

}  // namespace wherefore::sdk
