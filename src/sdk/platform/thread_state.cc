#include "sdk/platform/thread_state.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>
#include <ctime>

namespace wherefore::sdk {

thread_local constinit ThreadState t_state [[gnu::tls_model("initial-exec")]] = {};

std::int64_t ExponentialStep(double mean) {
  if (t_state.random == 0) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    t_state.random = (static_cast<std::uint64_t>(now.tv_nsec) << 32) ^
                     reinterpret_cast<std::uintptr_t>(&t_state) ^ CurrentTid();
  }
  return static_cast<std::int64_t>(-mean * std::log(NextUnit(t_state.random))) + 1;
}

std::uint32_t CurrentTid() {
  if (t_state.tid == 0) t_state.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return t_state.tid;
}

}  // namespace wherefore::sdk
