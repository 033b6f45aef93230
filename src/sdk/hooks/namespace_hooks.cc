// unshare and setns, as the host program calls them: the kernel refuses some of their uses in a
// process with threads (new user namespaces, other mount namespaces), and the host has none but
// ours. After others (another PID namespace for children) it refuses new threads.
//
// Always: what the kernel answers in a process without our threads is what the host gets. Only a
// refusal costs anything, and another PID namespace the start of a thread. Any thread.
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "sdk/api/runtime.h"
#include "sdk/platform/next_function.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/shared.h"

namespace wherefore::sdk {
namespace {

// Another process: a child of vfork, which has our memory but none of our threads.
bool IsOurs() {
  return g_shared.pid.load() == getpid();
}

template <Symbol Name, typename... Arguments>
int CallAlone(bool may_end_threads, Arguments... arguments) {
  const int before = errno;
  if (may_end_threads && IsOurs()) Runtime::Global().BeforeLastThread();
  errno = before;
  int result = CallNext<Name, int>(arguments...);
  if (result != -1 || errno != EINVAL || !IsOurs()) return result;
  int error = EINVAL;
  Runtime::Global().WithoutThreads([&] {
    // A thread that was joined is in the kernel's count a moment longer.
    constexpr int kTries = 20;
    constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 1'000'000};
    for (int i = 0; i < kTries && result == -1 && error == EINVAL; ++i) {
      if (i > 0) nanosleep(&kMoment, nullptr);
      result = CallNext<Name, int>(arguments...);
      error = errno;
    }
  });
  errno = result == -1 ? error : before;
  return result;
}

}  // namespace
}  // namespace wherefore::sdk

extern "C" {

WHEREFORE_HOOK int unshare(int flags) noexcept {
  return wherefore::sdk::CallAlone<"unshare">((flags & CLONE_NEWPID) != 0, flags);
}

WHEREFORE_HOOK int setns(int descriptor, int type) noexcept {
  const bool any = type == 0;  // the descriptor says
  return wherefore::sdk::CallAlone<"setns">(any || (type & CLONE_NEWPID) != 0, descriptor, type);
}

}  // extern "C"
