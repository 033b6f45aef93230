#include "sdk/unwind/unwind_assembly.h"

#include "sdk/unwind/unwind_workload.h"

// NOLINTBEGIN(readability-identifier-naming): names of the assembler
asm(R"(
  .text
  .macro FUNCTION name
  .p2align 4
  .hidden \name
  .globl \name
  .type \name, @function
\name:
  .endm
  .macro SPIN
7: pause
  cmpb $0, (%rdi)
  je 7b
  .endm

# Without rules. A leaf that pushes nothing.
FUNCTION wf_leaf
  SPIN
  ret

# What the caller had in rbp is gone.
FUNCTION wf_pushes
  push %rbx
  push %rbp
  push %r12
  push %r13
  mov $0x1234, %rbp
  SPIN
  pop %r13
  pop %r12
  pop %rbp
  pop %rbx
  ret

# A frame of its own, aligned, not written to: old frames show.
FUNCTION wf_aligned
  push %rbp
  mov %rsp, %rax
  sub $0x300, %rsp
  and $-64, %rsp
  mov %rax, (%rsp)
  xor %ebp, %ebp
  SPIN
  mov (%rsp), %rsp
  pop %rbp
  ret

# One that calls another.
FUNCTION wf_nested
  push %rbx
  sub $0x88, %rsp
  call wf_pushes
  add $0x88, %rsp
  pop %rbx
  ret

# One that calls what has rules again.
FUNCTION wf_calls_back
  push %r12
  push %rbp
  sub $0x48, %rsp
  xor %ebp, %ebp
  call *%rsi
  add $0x48, %rsp
  pop %rbp
  pop %r12
  ret

# With rules, called by one that has them too, and leaves by a jump: no return address of it is there.
FUNCTION wf_jumps
  .cfi_startproc
  test %rdi, %rdi
  jmp wf_pushes
  .cfi_endproc

FUNCTION wf_calls_jumper
  .cfi_startproc
  sub $0x98, %rsp
  .cfi_def_cfa_offset 0xa0
  call wf_jumps
  add $0x98, %rsp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc

# With rules. CFA = *(rsp + 0x98) + 8, as in libcrypto.
FUNCTION wf_stored
  .cfi_startproc
  mov %rsp, %rax
  .cfi_def_cfa_register rax
  push %rbx
  .cfi_offset rbx, -16
  push %rbp
  .cfi_offset rbp, -24
  sub $0x120, %rsp
  and $-64, %rsp
  mov %rax, 0x98(%rsp)
  .cfi_escape 0x0f, 6, 0x77, 0x98, 0x01, 0x06, 0x23, 8
  mov $0x77, %eax
  mov $0x55, %ebp
  SPIN
  mov 0x98(%rsp), %rsi
  .cfi_def_cfa rsi, 8
  mov -16(%rsi), %rbp
  mov -8(%rsi), %rbx
  lea (%rsi), %rsp
  .cfi_def_cfa_register rsp
  ret
  .cfi_endproc

# The same, kept below rsp where no signal touches it.
FUNCTION wf_red_zone
  .cfi_startproc
  mov %rsp, %rax
  .cfi_def_cfa_register rax
  sub $0x100, %rsp
  and $-64, %rsp
  mov %rax, -8(%rsp)
  .cfi_escape 0x0f, 5, 0x77, 0x78, 0x06, 0x23, 8
  xor %eax, %eax
  SPIN
  mov -8(%rsp), %rsp
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc

# CFA in r11 all the time.
FUNCTION wf_register
  .cfi_startproc
  mov %rsp, %r11
  .cfi_def_cfa_register r11
  sub $0x200, %rsp
  and $-32, %rsp
  SPIN
  mov %r11, %rsp
  .cfi_def_cfa_register rsp
  ret
  .cfi_endproc

# CFA = *(rsp + 8 + r9 * 8) + 8
FUNCTION wf_indexed
  .cfi_startproc
  mov %rsp, %rax
  .cfi_def_cfa_register rax
  mov $16, %r9d
  sub $0x100, %rsp
  and $-64, %rsp
  mov %rax, 8(%rsp,%r9,8)
  .cfi_escape 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8
  xor %eax, %eax
  SPIN
  mov 8(%rsp,%r9,8), %rsp
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc

# As a compiler realigns a stack and keeps the CFA in r13 over calls: the return address is copied.
FUNCTION wf_realigned
  .cfi_startproc
  push %r13
  .cfi_def_cfa_offset 16
  .cfi_offset r13, -16
  lea 16(%rsp), %r13
  .cfi_def_cfa r13, 0
  and $-64, %rsp
  push -8(%r13)
  push %rbp
  mov %rsp, %rbp
  .cfi_escape 0x10, 6, 2, 0x76, 0
  sub $0x70, %rsp
  call *%rsi
  lea -16(%r13), %r10
  mov %rbp, %rsp
  pop %rbp
  .cfi_restore rbp
  .cfi_def_cfa r10, 16
  mov %r10, %rsp
  .cfi_def_cfa rsp, 16
  pop %r13
  .cfi_restore r13
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
)");

extern "C" {
void wf_leaf(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_pushes(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_aligned(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_nested(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_calls_back(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_calls_jumper(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_stored(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_red_zone(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_register(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_indexed(wherefore::sdk::Stop, wherefore::sdk::Back);
void wf_realigned(wherefore::sdk::Stop, wherefore::sdk::Back);
}
// NOLINTEND(readability-identifier-naming)

namespace wherefore::sdk {
namespace {

// A hundred frames with return addresses in them.
[[gnu::noinline]] int Dirty(int depth) {
  volatile char frame[56];
  frame[depth & 31] = static_cast<char>(depth);
  return depth == 0 ? 0 : Dirty(depth - 1) + frame[depth & 31];
}

}  // namespace

const AssemblyCase kAssemblyCases[] = {
    {"no rules: leaf", wf_leaf, "?r"},
    {"no rules: pushes", wf_pushes, "?r"},
    {"no rules: aligned frame", wf_aligned, "?r"},
    {"no rules: nested", wf_nested, "?r?"},
    {"no rules: calls back", wf_calls_back, "S?r"},
    {"no rules: jumped to", wf_calls_jumper, "?rA"},
    {"CFA stored", wf_stored, "A"},
    {"CFA stored below rsp", wf_red_zone, "A"},
    {"CFA in a register", wf_register, "A"},
    {"CFA stored, indexed", wf_indexed, "A"},
    {"CFA in r13 over a call", wf_realigned, "SA"},
};
const int kAssemblyCaseCount = static_cast<int>(sizeof kAssemblyCases / sizeof kAssemblyCases[0]);

[[gnu::noipa]] void RunAssembly(Assembly code, Stop stop) {
  volatile int sink = Dirty(100);
  code(stop, SpinUntilStop);
  sink = sink + 1;
}

}  // namespace wherefore::sdk
