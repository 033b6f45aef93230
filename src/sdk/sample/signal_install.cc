#include <atomic>

#include "sdk/sample/signal_sampler.h"

namespace wherefore::sdk {
namespace {

std::atomic<int> g_signal{0};

bool IsFree(int signal) {
  struct sigaction now = {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

int PickSignal() {
  if (IsFree(SIGPROF)) return SIGPROF;
  for (int signal = SIGRTMAX; signal >= SIGRTMIN; --signal) {
    if (IsFree(signal)) return signal;
  }
  return 0;
}

}  // namespace

int SamplerSignal() {
  return g_signal.load(std::memory_order_relaxed);
}

int InstallSampler() {
  if (const int signal = SamplerSignal(); signal != 0) return signal;
  struct sigaction action = {};
  action.sa_sigaction = OnSamplerSignal;
  // Not blocked in its own handler: the kernel would hand a signal that waits, of a timer of the
  // host's that fired at the same tick, to another thread, whose system call then ends with EINTR.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER;
  const int signal = PickSignal();
  sigfillset(&action.sa_mask);
  sigdelset(&action.sa_mask, signal);
  if (signal == 0 || sigaction(signal, &action, nullptr) != 0) return 0;
  g_signal.store(signal, std::memory_order_relaxed);
  return signal;
}

}  // namespace wherefore::sdk
