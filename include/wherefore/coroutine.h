// coroutine.h: coroutines that carry their span and labels with them. C++20; empty before that.
//
// A promise type that derives from CoroutineContext gives its coroutine a context of its own: the
// span and labels of its caller, then whatever scopes inside it set. The context applies while the
// coroutine runs, on whichever thread; when it is suspended, ends or is destroyed, the thread gets
// back the context it had before:
//
//     struct promise_type : wherefore::CoroutineContext {
//       auto initial_suspend() noexcept { return Keep(std::suspend_always{}); }
//       auto final_suspend() noexcept { return Keep(std::suspend_always{}); }
//       ...
//     };
//
// co_await is handled by await_transform; a promise that has its own returns Keep(...) from it.
// What initial_suspend, final_suspend and yield_value return must go through Keep, as above. Then,
// and only then, a Span, SpanScope or LabelScope may live across a co_await. Suspending and
// resuming costs about 70 ns, and the promise grows by 513 bytes.
//
// If the promise type is not yours: resume with the context of the place where the coroutine was
// suspended, `executor.Submit(wherefore::BindContext([handle] { handle.resume(); }))`, and end
// scopes before co_await.
//
// A coroutine, and so these functions, run on one thread at a time. None of them throws by itself.
#pragma once

#if defined(__cpp_impl_coroutine) && __cpp_impl_coroutine >= 201902L

#include <coroutine>
#include <utility>

#include "wherefore/context.h"

namespace wherefore {

class CoroutineContext;

namespace internal {

// What co_await would ask: the awaitable's own operator, a free one, or the awaitable itself.
template <typename Awaitable>
decltype(auto) GetAwaiter(Awaitable&& awaitable) {
  if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); }) {
    return std::forward<Awaitable>(awaitable).operator co_await();
  } else if constexpr (requires { operator co_await(std::forward<Awaitable>(awaitable)); }) {
    return operator co_await(std::forward<Awaitable>(awaitable));
  } else {
    return std::forward<Awaitable>(awaitable);
  }
}

// `Held` is how the awaitable is kept: a value, or a reference to what outlives the co_await.
template <typename Held>
class KeptAwaiter {
  using Awaiter = decltype(GetAwaiter(std::declval<Held>()));

 public:
  KeptAwaiter(CoroutineContext& context, Held&& awaitable)
      : context_(context),
        held_(std::forward<Held>(awaitable)),
        awaiter_(GetAwaiter(static_cast<Held&&>(held_))) {}
  KeptAwaiter(const KeptAwaiter&) = delete;
  KeptAwaiter& operator=(const KeptAwaiter&) = delete;
  // Still away: the coroutine is destroyed while suspended, or suspending it threw. Its locals are
  // destroyed in its own context.
  ~KeptAwaiter();

  decltype(auto) await_ready() noexcept(noexcept(std::declval<Awaiter&>().await_ready())) {
    return awaiter_.await_ready();
  }
  // Nothing of ours is touched after the handle is passed on: another thread may already run the
  // coroutine.
  template <typename Promise>
  decltype(auto) await_suspend(std::coroutine_handle<Promise> handle) noexcept(
      noexcept(std::declval<Awaiter&>().await_suspend(handle)));
  decltype(auto) await_resume() noexcept(noexcept(std::declval<Awaiter&>().await_resume()));

 private:
  CoroutineContext& context_;
  Held held_;
  Awaiter awaiter_;
  bool away_ = false;
};

}  // namespace internal

class CoroutineContext {
 public:
  CoroutineContext() noexcept = default;
  CoroutineContext(const CoroutineContext&) = delete;
  CoroutineContext& operator=(const CoroutineContext&) = delete;
  // It ended without a final suspension: control goes back to whoever resumed it.
  ~CoroutineContext() {
    if (inside_now_) outside_.Restore();
  }

  template <typename Awaitable>
  auto await_transform(Awaitable&& awaitable) {
    return internal::KeptAwaiter<Awaitable&&>(*this, std::forward<Awaitable>(awaitable));
  }
  template <typename Awaitable>
  auto Keep(Awaitable&& awaitable) {
    return internal::KeptAwaiter<Awaitable>(*this, std::forward<Awaitable>(awaitable));
  }

 private:
  template <typename Held>
  friend class internal::KeptAwaiter;

  void Enter() noexcept {
    outside_ = SavedContext::Capture();
    inside_.Restore();
    inside_now_ = true;
  }
  void Leave() noexcept {
    inside_ = SavedContext::Capture();
    outside_.Restore();
    inside_now_ = false;
  }

  SavedContext outside_ = SavedContext::Capture();  // of whoever runs the coroutine
  SavedContext inside_;                             // its own, while it is suspended
  bool inside_now_ = true;
};

namespace internal {

template <typename Held>
KeptAwaiter<Held>::~KeptAwaiter() {
  if (away_) context_.Enter();
}

template <typename Held>
template <typename Promise>
decltype(auto) KeptAwaiter<Held>::await_suspend(std::coroutine_handle<Promise> handle) noexcept(
    noexcept(std::declval<Awaiter&>().await_suspend(handle))) {
  away_ = true;
  context_.Leave();
  return awaiter_.await_suspend(handle);
}

template <typename Held>
decltype(auto) KeptAwaiter<Held>::await_resume() noexcept(
    noexcept(std::declval<Awaiter&>().await_resume())) {
  if (away_) context_.Enter();
  away_ = false;
  return awaiter_.await_resume();
}

}  // namespace internal
}  // namespace wherefore

#endif
