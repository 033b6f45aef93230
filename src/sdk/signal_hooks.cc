// sigaction and the signal masks, as the host program calls them: so that our signal keeps its
// handler and reaches threads that block "everything".
//
// Always: the host sees its own actions and gets its own signals. Until the sampler is installed
// everything passes straight through. Any thread.
#include <csignal>

#include <cstring>

#include "sdk/capture.h"
#include "sdk/next_function.h"
#include "sdk/signal_sampler.h"

namespace wherefore::sdk {
namespace {

// `set` without our signal, in `copy` where that makes a difference.
const sigset_t* WithoutOurs(int how, const sigset_t* set, sigset_t& copy) {
  const int signal = SamplerSignal();
  if (signal == 0 || set == nullptr || how == SIG_UNBLOCK || sigismember(set, signal) != 1) return set;
  copy = *set;
  sigdelset(&copy, signal);
  return &copy;
}

}  // namespace
}  // namespace wherefore::sdk

using wherefore::sdk::CallNext;

extern "C" {

WHEREFORE_HOOK int sigaction(int signal, const struct sigaction* action, struct sigaction* old) noexcept {
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
  sigset_t copy;
  return CallNext<"pthread_sigmask", int>(how, wherefore::sdk::WithoutOurs(how, set, copy), old);
}

WHEREFORE_HOOK int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  sigset_t copy;
  return CallNext<"sigprocmask", int>(how, wherefore::sdk::WithoutOurs(how, set, copy), old);
}

}  // extern "C"
