// sigaction and the signal masks, as the host program calls them: so that our signal keeps its
// handler and reaches threads that block "everything".
//
// Always: the host sees its own actions and gets its own signals. Until the sampler is installed
// everything passes straight through. Any thread.
#include <csignal>
#include <cstring>

#include "sdk/platform/next_function.h"
#include "sdk/platform/thread_state.h"
#include "sdk/sample/capture.h"
#include "sdk/sample/signal_sampler.h"

namespace wherefore::sdk {
namespace {

// Sets the mask without our signal, and remembers whether the host wanted it blocked: then it is
// told so, and a signal that somebody else sends waits as it would (OnHostSignal in
// signal_sampler.cc).
template <Symbol Name>
int SetMask(int how, const sigset_t* set, sigset_t* old) {
  const int signal = SamplerSignal();
  if (signal == 0) return CallNext<Name, int>(how, set, old);
  const bool blocked = t_state.host_blocks;
  const bool named = set != nullptr && sigismember(set, signal) == 1;
  sigset_t copy;
  if (named && how != SIG_UNBLOCK) {
    copy = *set;
    sigdelset(&copy, signal);
  }
  // Before the call when it unblocks: what waits is delivered inside it.
  const bool wanted = set == nullptr       ? blocked
                      : how == SIG_SETMASK ? named
                      : named              ? how == SIG_BLOCK
                                           : blocked;
  t_state.host_blocks = wanted;
  const int error = CallNext<Name, int>(how, named && how != SIG_UNBLOCK ? &copy : set, old);
  if (error != 0) t_state.host_blocks = blocked;
  if (!t_state.host_blocks && t_state.cpu_timer_off) SwitchCpuTimer(true);
  if (error == 0 && old != nullptr && blocked) sigaddset(old, signal);
  return error;
}

}  // namespace
}  // namespace wherefore::sdk

using wherefore::sdk::CallNext;

extern "C" {

WHEREFORE_HOOK int sigaction(int signal, const struct sigaction* action,
                             struct sigaction* old) noexcept {
  if (signal == 0 || signal != wherefore::sdk::SamplerSignal()) {
    return CallNext<"sigaction", int>(signal, action, old);
  }
  const struct sigaction before = wherefore::sdk::ExchangeHostAction(action);
  if (old != nullptr) *old = before;
  return 0;
}

WHEREFORE_HOOK sighandler_t signal(int number, sighandler_t handler) noexcept {
  if (number == 0 || number != wherefore::sdk::SamplerSignal()) {
    return CallNext<"signal", sighandler_t>(number, handler);
  }
  struct sigaction action = {};
  action.sa_handler = handler;
  return wherefore::sdk::ExchangeHostAction(&action).sa_handler;
}

WHEREFORE_HOOK int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return wherefore::sdk::SetMask<"pthread_sigmask">(how, set, old);
}

WHEREFORE_HOOK int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return wherefore::sdk::SetMask<"sigprocmask">(how, set, old);
}

}  // extern "C"
