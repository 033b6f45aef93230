// x86-64: see arch.h. Everything may run in a signal handler and is inlined wherever it is called:
// what runs in handlers is compiled with flags of its own.
#pragma once

#include <ucontext.h>
#include <x86intrin.h>

#include <cstdint>

namespace wherefore::sdk {

// A counter that goes at the same pace on every core; how fast, Cost knows (cost.h).
[[gnu::always_inline]] inline std::uint64_t Ticks() {
  return __rdtsc();
}

// System calls without libc, whose wrappers would set errno. They give what the kernel gives: an
// error is a negative number.
[[gnu::always_inline]] inline long RawSyscall(long number, long a = 0, long b = 0,
                                              const void* c = nullptr, long d = 0) {
  long result = number;
  register long fourth asm("r10") = d;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(fourth)
               : "rcx", "r11", "memory");
  return result;
}
[[gnu::always_inline]] inline long RawSyscall6(long number, long a, const void* b, long c,
                                               const void* d, long e, long f) {
  long result = number;
  register const void* fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  register long sixth asm("r9") = f;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
}

inline constexpr std::uint64_t kRedZone = 128;  // below the stack pointer: no signal touches it
inline constexpr std::uint64_t kHighestCode = std::uint64_t{1} << 47;  // of addresses of a process
inline constexpr unsigned kGeneralRegisters = 16;

// Where an unwind begins.
struct Registers {
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;
  std::uint64_t bp = 0;
  bool bp_known = true;  // false for another thread that sleeps in the kernel
  // All registers of a signal's ucontext, while it is there; hand-written code needs them.
  const std::uint64_t* general = nullptr;
};

// The registers of the function this is written in: for unwinding from ordinary code.
[[gnu::always_inline]] inline Registers CaptureRegisters() {
  Registers here;
  asm volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
               : "=r"(here.pc), "=r"(here.sp), "=r"(here.bp));
  return here;
}

// Of the code that a signal interrupted; `context` is the handler's third argument.
[[gnu::always_inline]] inline Registers RegistersOf(const void* context) {
  const greg_t* const all = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  return {.pc = static_cast<std::uint64_t>(all[REG_RIP]),
          .sp = static_cast<std::uint64_t>(all[REG_RSP]),
          .bp = static_cast<std::uint64_t>(all[REG_RBP]),
          .general = reinterpret_cast<const std::uint64_t*>(all)};
}
// The third argument of a function that was interrupted before its first instruction.
[[gnu::always_inline]] inline std::uint64_t ThirdArgumentOf(const void* context) {
  return static_cast<std::uint64_t>(
      static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RDX]);
}

// The ucontext that the kernel puts on the stack for a handler: offsets in it.
inline constexpr std::uint64_t kUcontextGeneral = 40;
inline constexpr std::uint64_t kUcontextBp = 120;
inline constexpr std::uint64_t kUcontextSp = 160;
inline constexpr std::uint64_t kUcontextPc = 168;
// By DWARF's number of a register: its place among the general ones.
inline constexpr std::uint8_t kGeneralPlaces[] = {13, 12, 14, 11, 9, 8, 10, 15,
                                                  0,  1,  2,  3,  4, 5, 6,  7};
inline constexpr std::uint8_t kDwarfBp = 6;
inline constexpr std::uint8_t kDwarfSp = 7;

}  // namespace wherefore::sdk
