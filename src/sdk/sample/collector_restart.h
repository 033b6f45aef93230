// After fork the child has no collector thread. A signal handler may not start one, and neither
// should every child that is about to exec: the first CPU tick of the child marks it due
// (signal_sampler.cc), the next hooked call starts it here, in ordinary context. A child that
// starts a thread, or asks for its profiles, is not about to exec: it does not wait for its first
// tick, which is of the thread that forked.
#pragma once

#include "sdk/sample/shared.h"

namespace wherefore::sdk {

void RestartCollector();     // collector_fork.cc
void RestartCollectorNow();  // the same, due or not

inline void RestartCollectorIfDue() {
  if (g_shared.restart_due.load(std::memory_order_relaxed)) [[unlikely]]
    RestartCollector();
}

}  // namespace wherefore::sdk
