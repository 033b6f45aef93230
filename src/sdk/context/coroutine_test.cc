#include "wherefore/coroutine.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace wherefore::sdk {
namespace {

SpanContext Ids(std::uint8_t number) {
  SpanContext span{};
  span.trace_id[15] = number;
  span.span_id[7] = number;
  span.flags = 1;
  return span;
}

// The last byte of this thread's span id, which is all that Ids() makes; 0: none.
int Now() {
  return CurrentSpan().span_id[7];
}

// One thread that runs what it is given, in order.
class Worker {
 public:
  ~Worker() {
    Submit(nullptr);
    thread_.join();
  }
  void Submit(std::function<void()> task) {
    const std::lock_guard hold(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }
  // Runs an unrelated task there, after everything before it: what does it work for?
  int Unrelated() {
    std::promise<int> seen;
    Submit([&] { seen.set_value(Now()); });
    return seen.get_future().get();
  }

 private:
  void Run() {
    for (;;) {
      std::unique_lock hold(mutex_);
      changed_.wait(hold, [this] { return !tasks_.empty(); });
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      hold.unlock();
      if (task == nullptr) return;
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_{[this] { Run(); }};  // last: it uses the others
};

// Goes on on another thread.
struct Hop {
  Worker& to;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) const {
    to.Submit([handle] { handle.resume(); });
  }
  void await_resume() const {}
};

// Starts at once and belongs to nobody; ends without a last suspension.
struct Detached {
  struct promise_type : CoroutineContext {  // NOLINT(readability-identifier-naming)
    Detached get_return_object() { return {}; }
    auto initial_suspend() noexcept { return Keep(std::suspend_never{}); }
    auto final_suspend() noexcept { return Keep(std::suspend_never{}); }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

// Starts when it is awaited, and then goes on with whoever awaited it.
class Lazy {
 public:
  struct promise_type : CoroutineContext {  // NOLINT(readability-identifier-naming)
    Lazy get_return_object() {
      return Lazy(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    auto initial_suspend() noexcept { return Keep(std::suspend_always{}); }
    auto final_suspend() noexcept { return Keep(Continue{}); }
    auto yield_value(int) noexcept { return Keep(std::suspend_always{}); }
    void return_value(int value) { result = value; }
    void unhandled_exception() { std::terminate(); }
    int result = -1;
    std::coroutine_handle<> continuation = std::noop_coroutine();
  };
  struct Continue {
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(
        std::coroutine_handle<promise_type> handle) const noexcept {
      return handle.promise().continuation;
    }
    void await_resume() const noexcept {}
  };
  struct Awaiter {
    std::coroutine_handle<promise_type> handle;
    bool await_ready() const { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> continuation) const {
      handle.promise().continuation = continuation;
      return handle;
    }
    int await_resume() const { return handle.promise().result; }
  };

  Lazy(Lazy&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Lazy(const Lazy&) = delete;
  ~Lazy() {
    if (handle_ != nullptr) handle_.destroy();
  }
  Awaiter operator co_await() const { return {handle_}; }
  void Resume() { handle_.resume(); }

 private:
  explicit Lazy(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

Detached InASpan(Worker& to, std::promise<int>& seen) {
  const SpanScope scope(Ids(7));
  co_await Hop{to};
  seen.set_value(Now());
}

TEST(Coroutine, TakesItsSpanAlongAndLeavesItOnNoThread) {
  Worker worker;
  const SpanScope outer(Ids(1));
  std::promise<int> seen;
  InASpan(worker, seen);
  EXPECT_EQ(Now(), 1) << "it is suspended inside its span";
  EXPECT_EQ(seen.get_future().get(), 7);
  EXPECT_EQ(worker.Unrelated(), 0);
  EXPECT_EQ(Now(), 1);
}

Lazy Child(Worker& to, std::vector<int>& seen) {
  seen.push_back(Now());
  const SpanScope scope(Ids(3));
  co_await Hop{to};
  seen.push_back(Now());
  co_return 42;
}

Detached Parent(Worker& first, Worker& second, std::promise<std::vector<int>>& done) {
  static const LabelKey kJob("coroutine_test.job");
  std::vector<int> seen;
  const SpanScope scope(Ids(2));
  const LabelScope label(kJob, "parent");
  co_await Hop{first};
  seen.push_back(Now());
  {
    const SpanScope inner(Ids(5));
    co_await Hop{second};
    seen.push_back(Now());
  }
  seen.push_back(Now());  // a scope of another thread has ended
  const Lazy child = Child(first, seen);
  {
    const SpanScope elsewhere(Ids(6));  // the child began outside of it
    seen.push_back(co_await child);
    seen.push_back(Now());
  }
  seen.push_back(Now());
  wherefore_context context{};
  wherefore_context_save(&context);
  seen.push_back(std::string_view(reinterpret_cast<const char*>(context.bytes), sizeof(context))
                             .find("parent") != std::string_view::npos
                     ? 1
                     : 0);
  done.set_value(seen);
}

TEST(Coroutine, NestedOnesThatMoveBetweenThreadsKeepEachTheirOwn) {
  Worker first;
  Worker second;
  const SpanScope outer(Ids(1));
  std::promise<std::vector<int>> done;
  Parent(first, second, done);
  EXPECT_EQ(Now(), 1);
  EXPECT_EQ(done.get_future().get(), (std::vector<int>{2, 5, 2, 2, 3, 42, 6, 2, 1}));
  EXPECT_EQ(first.Unrelated(), 0);
  EXPECT_EQ(second.Unrelated(), 0);
  EXPECT_EQ(Now(), 1);
}

Lazy Steps(std::vector<int>& seen) {
  seen.push_back(Now());
  const SpanScope scope(Ids(4));
  co_yield 1;
  seen.push_back(Now());
  co_yield 2;
  co_return 0;
}

TEST(Coroutine, BeginsWithWhatItsCallerWorkedFor) {
  std::vector<int> seen;
  std::unique_ptr<Lazy> steps;
  {
    const SpanScope caller(Ids(1));
    steps = std::make_unique<Lazy>(Steps(seen));
  }
  const SpanScope later(Ids(2));
  for (int i = 0; i < 2; ++i) {
    steps->Resume();
    EXPECT_EQ(Now(), 2);
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 4}));
}

TEST(Coroutine, DestroyedWhereItIsSuspendedItChangesNothing) {
  std::vector<int> seen;
  auto steps = std::make_unique<Lazy>(Steps(seen));
  steps->Resume();
  const SpanScope other(Ids(9));
  steps.reset();  // ends the scope inside
  EXPECT_EQ(Now(), 9);
}

struct NotSuspended {
  bool throws;
  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<>) const {
    if (throws) throw std::runtime_error("no");
    return false;
  }
  void await_resume() const {}
};

Detached Stays(std::vector<int>& seen) {
  const SpanScope scope(Ids(8));
  co_await NotSuspended{.throws = false};
  seen.push_back(Now());
  try {
    co_await NotSuspended{.throws = true};
  } catch (const std::runtime_error&) {
    seen.push_back(Now());
  }
  co_await std::suspend_never{};
  seen.push_back(Now());
}

TEST(Coroutine, ThatIsNotSuspendedAfterAllStaysWhereItIs) {
  std::vector<int> seen;
  const SpanScope outer(Ids(1));
  Stays(seen);
  EXPECT_EQ(seen, (std::vector<int>{8, 8, 8}));
  EXPECT_EQ(Now(), 1);
}

// Somebody else's promise type, and an executor of ours: what context.h says of that.
struct Plain {
  struct promise_type {  // NOLINT(readability-identifier-naming)
    Plain get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};
struct BoundHop {
  Worker& to;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) const {
    to.Submit(BindContext([handle] { handle.resume(); }));
  }
  void await_resume() const {}
};

Plain Bound(Worker& to, std::promise<int>& seen) {
  co_await BoundHop{to};
  seen.set_value(Now());
}

TEST(Coroutine, ResumedUnderABoundContextLeavesNothingBehindEither) {
  Worker worker;
  const SpanScope outer(Ids(1));
  std::promise<int> seen;
  Bound(worker, seen);
  EXPECT_EQ(seen.get_future().get(), 1);
  EXPECT_EQ(worker.Unrelated(), 0);
}

}  // namespace
}  // namespace wherefore::sdk
