// CancelToken: how "the client went away" reaches a running query.
//
// Copies share one state. Cancel() may be called from any thread, more than once; callbacks
// registered with OnCancel run once, on the cancelling thread (at once if already cancelled). They
// must be short.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"

namespace wherefore {

class CancelToken {
 public:
  CancelToken() : state_(std::make_shared<State>()) {}

  void Cancel() const {
    std::vector<std::function<void()>> callbacks;
    {
      MutexLock lock(state_->mutex);
      if (state_->cancelled) return;
      state_->cancelled = true;
      for (auto& [id, callback] : state_->callbacks) callbacks.push_back(std::move(callback));
      state_->callbacks.clear();
    }
    for (auto& callback : callbacks) callback();
  }
  // True after Cancel(), and once a deadline has passed.
  [[nodiscard]] bool cancelled() const {
    if (MonotonicNs() > state_->deadline_ns.load(std::memory_order_relaxed)) return true;
    MutexLock lock(state_->mutex);
    return state_->cancelled;
  }
  // Work that asks cancelled() stops after this moment (MonotonicNs); callbacks do not run by it.
  void SetDeadline(std::int64_t monotonic_ns) const {
    state_->deadline_ns.store(monotonic_ns, std::memory_order_relaxed);
  }
  // kCancelled, or kLimit when it was the deadline; a value while work may go on.
  [[nodiscard]] Result<> Check() const {
    if (MonotonicNs() > state_->deadline_ns.load(std::memory_order_relaxed)) {
      return Error(Code::kLimit,
                   "the question took longer than it may; narrow it, or raise --query-timeout");
    }
    if (cancelled()) return Error(Code::kCancelled, "the client went away");
    return {};
  }

  // Runs `callback` on Cancel() for as long as the returned guard lives.
  class Guard;
  [[nodiscard]] Guard OnCancel(std::function<void()> callback) const;

 private:
  struct State {
    Mutex mutex;
    std::atomic<std::int64_t> deadline_ns{INT64_MAX};
    bool cancelled GUARDED_BY(mutex) = false;
    std::uint64_t next_id GUARDED_BY(mutex) = 1;
    std::vector<std::pair<std::uint64_t, std::function<void()>>> callbacks GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_;
};

class CancelToken::Guard {
 public:
  Guard() = default;
  Guard(std::shared_ptr<State> state, std::uint64_t id) : state_(std::move(state)), id_(id) {}
  Guard(Guard&& other) noexcept = default;
  Guard& operator=(Guard&& other) = delete;
  ~Guard() {
    if (!state_) return;
    MutexLock lock(state_->mutex);
    std::erase_if(state_->callbacks, [&](const auto& entry) { return entry.first == id_; });
  }

 private:
  std::shared_ptr<State> state_;
  std::uint64_t id_ = 0;
};

inline CancelToken::Guard CancelToken::OnCancel(std::function<void()> callback) const {
  {
    MutexLock lock(state_->mutex);
    if (!state_->cancelled) {
      const std::uint64_t id = state_->next_id++;
      state_->callbacks.emplace_back(id, std::move(callback));
      return {state_, id};
    }
  }
  callback();
  return {};
}

}  // namespace wherefore
