// QuietSignals: while one lives, what this thread writes to pipes and files cannot raise SIGPIPE or
// SIGXFSZ in the host; the call that failed says so instead. Ordinary context, for a few calls.
#pragma once

#include <csignal>
#include <ctime>

namespace wherefore::sdk {

class QuietSignals {
 public:
  QuietSignals() {
    sigset_t mine;
    sigemptyset(&mine);
    for (const int signal : kSignals) sigaddset(&mine, signal);
    sigpending(&pending_);
    pthread_sigmask(SIG_BLOCK, &mine, &before_);
  }
  ~QuietSignals() {
    for (const int signal : kSignals) {
      if (sigismember(&pending_, signal) == 1) continue;  // was there before us: the host's
      sigset_t one;
      sigemptyset(&one);
      sigaddset(&one, signal);
      const timespec now = {};
      sigtimedwait(&one, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietSignals(const QuietSignals&) = delete;
  QuietSignals& operator=(const QuietSignals&) = delete;

 private:
  static constexpr int kSignals[] = {SIGPIPE, SIGXFSZ};
  sigset_t pending_ = {};
  sigset_t before_ = {};
};

}  // namespace wherefore::sdk
