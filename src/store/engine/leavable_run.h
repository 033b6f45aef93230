// Runs something that may not come back when it should, on a thread of its own. Who waits for it
// can leave it; what it uses must live until it has ended.
//
// Threads: the one that made it calls everything; `work` runs on the other.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"

namespace wherefore::store {

class LeavableRun {
 public:
  using Work = std::function<Result<std::string>()>;

  explicit LeavableRun(Work work) : state_(std::make_shared<State>()) {
    std::thread([state = state_, work = std::move(work)] {
      {
        MutexLock lock(state->mutex);
        state->thread = gettid();
      }
      Result<std::string> answer = work();
      MutexLock lock(state->mutex);
      state->answer = std::move(answer);
      state->ended = true;
      state->changed.NotifyAll();
    }).detach();
  }

  // True when it ended. False when it did not within `grace_ns` after the token was cancelled or
  // its time was over; from then on it gives way to everything else on the machine.
  [[nodiscard]] bool WaitFor(const CancelToken& cancel, std::int64_t grace_ns) {
    std::int64_t leave_ns = INT64_MAX;
    MutexLock lock(state_->mutex);
    while (!state_->ended && MonotonicNs() < leave_ns) {
      if (leave_ns == INT64_MAX && cancel.cancelled()) leave_ns = MonotonicNs() + grace_ns;
      state_->changed.WaitUntil(state_->mutex,
                                std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
    }
    constexpr int kLowest = 19;
    if (!state_->ended && state_->thread != 0)
      setpriority(PRIO_PROCESS, static_cast<id_t>(state_->thread), kLowest);
    return state_->ended;
  }
  [[nodiscard]] bool ended() const {
    MutexLock lock(state_->mutex);
    return state_->ended;
  }
  // Once it ended.
  [[nodiscard]] Result<std::string> TakeAnswer() {
    MutexLock lock(state_->mutex);
    return std::move(state_->answer);
  }

 private:
  struct State {
    Mutex mutex;
    CondVar changed;
    pid_t thread GUARDED_BY(mutex) = 0;
    bool ended GUARDED_BY(mutex) = false;
    Result<std::string> answer GUARDED_BY(mutex) = std::string();
  };
  const std::shared_ptr<State> state_;
};

}  // namespace wherefore::store
