// unshare and setns, as the host program calls them: the kernel refuses some of their uses in a
// process with threads (new user namespaces, other mount namespaces), and the host has none but
// ours.
//
// Always: what the kernel answers in a process without our threads is what the host gets. Only a
// refusal costs anything. Any thread.
#include <sched.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/capture.h"
#include "sdk/next_function.h"
#include "sdk/runtime.h"
#include "sdk/shared.h"

namespace wherefore::sdk {
namespace {

template <Symbol Name, typename... Arguments>
int CallAlone(Arguments... arguments) {
  const int before = errno;
  int result = CallNext<Name, int>(arguments...);
  // Another process: a child of vfork, which has our memory but none of our threads.
  if (result != -1 || errno != EINVAL || g_shared.pid.load() != getpid()) return result;
  int error = EINVAL;
  Runtime::Global().WithoutThreads([&] {
    result = CallNext<Name, int>(arguments...);
    error = errno;
  });
  errno = result == -1 ? error : before;
  return result;
}

}  // namespace
}  // namespace wherefore::sdk

extern "C" {

WHEREFORE_HOOK int unshare(int flags) noexcept {
  return wherefore::sdk::CallAlone<"unshare">(flags);
}

WHEREFORE_HOOK int setns(int descriptor, int type) noexcept {
  return wherefore::sdk::CallAlone<"setns">(descriptor, type);
}

}  // extern "C"
