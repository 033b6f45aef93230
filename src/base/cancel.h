// CancelToken: tells a running query that its client went away, and how much time and memory it may
// use.
//
// Memory: code that builds something large for a query claims the bytes first (MemoryClaim, or
// Charge for what lives as long as the answer). Over the limit the claim fails and the query ends
// with an error. Small allocations are not counted. All queries together take from the process's
// budget (memory_budget.h).
//
// Copies share one state. Cancel() may be called from any thread, more than once. A callback
// registered with OnCancel runs once, on the cancelling thread (immediately if already cancelled),
// and must be short.
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

// kLimit; the message says what to do about it.
[[nodiscard]] Error MemoryError(std::int64_t limit_bytes);

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
  // After this moment (MonotonicNs) cancelled() is true. Callbacks do not run.
  void SetDeadline(std::int64_t monotonic_ns) const {
    state_->deadline_ns.store(monotonic_ns, std::memory_order_relaxed);
  }
  // kCancelled after Cancel(), kLimit after the deadline, else success.
  [[nodiscard]] Result<> Check() const {
    if (MonotonicNs() > state_->deadline_ns.load(std::memory_order_relaxed)) {
      return Error(Code::kLimit, "the query ran out of time; narrow it, or raise --query-timeout");
    }
    if (cancelled()) return Error(Code::kCancelled, "the client went away");
    return {};
  }

  // 0: no limit.
  void SetMemoryLimit(std::int64_t bytes) const {
    state_->memory_limit.store(bytes, std::memory_order_relaxed);
  }
  // Counts bytes held for this query. kLimit when they exceed the query's limit, kUnavailable when
  // the process has no room for them now; in both cases nothing is counted.
  [[nodiscard]] Result<> Charge(std::size_t bytes) const;
  void Release(std::size_t bytes) const;
  [[nodiscard]] std::int64_t memory_used() const {
    return state_->memory_used.load(std::memory_order_relaxed);
  }
  // The part of memory_used() that no MemoryClaim holds.
  [[nodiscard]] std::int64_t memory_unclaimed() const {
    return memory_used() - state_->memory_claimed.load(std::memory_order_relaxed);
  }

  // Runs `callback` on Cancel() for as long as the returned guard lives.
  class Guard;
  [[nodiscard]] Guard OnCancel(std::function<void()> callback) const;

 private:
  struct State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();
    Mutex mutex;
    std::atomic<std::int64_t> deadline_ns{INT64_MAX};
    std::atomic<std::int64_t> memory_limit{0};
    std::atomic<std::int64_t> memory_used{0};
    std::atomic<std::int64_t> memory_claimed{0};
    bool cancelled GUARDED_BY(mutex) = false;
    std::uint64_t next_id GUARDED_BY(mutex) = 1;
    std::vector<std::pair<std::uint64_t, std::function<void()>>> callbacks GUARDED_BY(mutex);
  };
  friend class MemoryClaim;
  void AddClaimed(std::int64_t bytes) const {
    state_->memory_claimed.fetch_add(bytes, std::memory_order_relaxed);
  }

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

// Bytes held for a query; released when it goes out of scope. The token must outlive it.
class MemoryClaim {
 public:
  explicit MemoryClaim(const CancelToken& token) : token_(token) {}
  MemoryClaim(const MemoryClaim&) = delete;
  MemoryClaim& operator=(const MemoryClaim&) = delete;
  ~MemoryClaim() {
    token_.Release(bytes_);
    Keep();
  }

  // Sets the size of the claim to `bytes`. On error it stays as it was.
  [[nodiscard]] Result<> Resize(std::size_t bytes) {
    if (bytes > bytes_) WHEREFORE_RETURN_IF_ERROR(token_.Charge(bytes - bytes_));
    if (bytes < bytes_) token_.Release(bytes_ - bytes);
    SetBytes(bytes);
    return {};
  }
  // Leaves the bytes charged until the query ends.
  void Keep() { SetBytes(0); }

 private:
  void SetBytes(std::size_t bytes) {
    token_.AddClaimed(static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(bytes_));
    bytes_ = bytes;
  }

  const CancelToken& token_;
  std::size_t bytes_ = 0;
};

// Releases, at the end of its scope, what was charged inside it and belongs to no claim. For a
// query that runs on one thread.
class MemoryScope {
 public:
  explicit MemoryScope(const CancelToken& token)
      : token_(token), before_(token.memory_unclaimed()) {}
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;
  ~MemoryScope() {
    const std::int64_t left = token_.memory_unclaimed() - before_;
    if (left > 0) token_.Release(static_cast<std::size_t>(left));
  }

 private:
  const CancelToken& token_;
  const std::int64_t before_;
};

}  // namespace wherefore
