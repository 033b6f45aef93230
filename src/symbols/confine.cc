#include "symbols/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <vector>

namespace wherefore::symbols {
namespace {

// Reading, memory, time, the existing socket, and exit.
constexpr std::uint32_t kAllowed[] = {
    SYS_read,           SYS_pread64,      SYS_readv,       SYS_write,
    SYS_close,          SYS_lseek,        SYS_fstat,       SYS_newfstatat,
    SYS_stat,           SYS_lstat,        SYS_statx,       SYS_fstatfs,
    SYS_readlink,       SYS_readlinkat,   SYS_access,      SYS_poll,
    SYS_ppoll,          SYS_recvfrom,     SYS_sendto,      SYS_brk,
    SYS_munmap,         SYS_mremap,       SYS_madvise,     SYS_futex,
    SYS_sched_yield,    SYS_getrandom,    SYS_sysinfo,     SYS_clock_gettime,
    SYS_gettimeofday,   SYS_getpid,       SYS_gettid,      SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall,
    SYS_exit,           SYS_exit_group};

// Calls allowed only with certain arguments.
struct Conditional {
  std::uint32_t call;
  unsigned argument;
  std::uint32_t refused_bits;
};
constexpr std::uint32_t kWriting = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
constexpr Conditional kConditional[] = {{SYS_openat, 2, kWriting},
                                        {SYS_open, 1, kWriting},
                                        {SYS_mmap, 2, PROT_EXEC},
                                        {SYS_mprotect, 2, PROT_EXEC},
                                        // F_DUPFD, F_GETFD, F_SETFD, F_GETFL: libelf checks its
                                        // descriptor. No locks or signals.
                                        {SYS_fcntl, 1, ~std::uint32_t{3}}};

sock_filter Load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter Return(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}
// Skips the next `skip` instructions unless the loaded word compares as given.
sock_filter Unless(std::uint16_t comparison, std::uint32_t with, std::uint8_t skip) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | comparison | BPF_K), with, 0, skip);
}

std::vector<sock_filter> Program() {
  constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  constexpr std::uint32_t kOtherAbi = 0x40000000;  // x32: same numbers, other calls
  std::vector<sock_filter> program = {
      Load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
      Return(SECCOMP_RET_KILL_PROCESS),  // 32-bit calls: nothing legitimate makes them here
      Load(offsetof(seccomp_data, nr)),
      Unless(BPF_JGE, kOtherAbi, 1),
      Return(kRefuse),
  };
  for (const std::uint32_t call : kAllowed) {
    program.push_back(Unless(BPF_JEQ, call, 1));
    program.push_back(Return(SECCOMP_RET_ALLOW));
  }
  for (const Conditional& c : kConditional) {
    program.push_back(Unless(BPF_JEQ, c.call, 4));
    program.push_back(Load(offsetof(seccomp_data, args) + c.argument * sizeof(std::uint64_t)));
    program.push_back(Unless(BPF_JSET, c.refused_bits, 1));
    program.push_back(Return(kRefuse));
    program.push_back(Return(SECCOMP_RET_ALLOW));
  }
  program.push_back(Return(kRefuse));
  return program;
}

}  // namespace

Result<> ConfineToReading() {
  std::vector<sock_filter> program = Program();
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    return Error(Code::kUnsupported,
                 "seccomp was refused: " + std::generic_category().message(errno));
  }
  return {};
}

}  // namespace wherefore::symbols
