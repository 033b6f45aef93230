// The worker as a program, for the tests of this module; the server runs itself. symbols_worker
// [without-seccomp]: behaves as if something had forbidden seccomp.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "symbols/worker.h"

namespace {

void ForbidSeccomp() {
  constexpr auto kArgument = offsetof(seccomp_data, args);
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
                           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArgument),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_SECCOMP, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{sizeof program / sizeof program[0], program};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) ForbidSeccomp();
  return wherefore::symbols::RunWorker(0);
}
