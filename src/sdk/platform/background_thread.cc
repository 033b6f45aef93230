#include "sdk/platform/background_thread.h"

#include <sys/prctl.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>

#include "sdk/platform/log.h"
#include "sdk/platform/next_function.h"
#include "sdk/platform/thread_state.h"

namespace wherefore::sdk {
namespace {

// libssl and the demangler want a few hundred kilobytes, the host's thread-local variables theirs.
constexpr std::size_t kStackBytes = std::size_t{2} << 20U;

std::atomic<void (*)()> g_enter{nullptr};
std::atomic<void (*)()> g_leave{nullptr};

}  // namespace

struct BackgroundThread::Task {
  const char* name;
  void (*body)(void*);
  void* argument;
  bool detached = false;
};

constinit std::atomic<int> BackgroundThread::g_count{0};

void SetThreadHooks(void (*enter)(), void (*leave)()) {
  g_enter.store(enter);
  g_leave.store(leave);
}

void* BackgroundThread::Run(void* task) {
  const std::unique_ptr<Task> mine(static_cast<Task*>(task));
  // By the thread itself: from outside it takes a file of /proc, and having opened that makes
  // ending this process slow.
  prctl(PR_SET_NAME, mine->name);
  try {
    if (auto* const enter = g_enter.load()) enter();
    mine->body(mine->argument);
  } catch (...) {
    // The thread ends; the host program must not.
    Log(LogLevel::kError, "out of memory; a thread of the profiler ends");
  }
  if (auto* const leave = g_leave.load()) leave();
  if (mine->detached) g_count.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

bool BackgroundThread::Start(const char* name, void (*body)(void*), void* argument) {
  if (!Create(thread_, std::make_unique<Task>(Task{name, body, argument}))) return false;
  running_.store(true, std::memory_order_release);
  return true;
}

bool BackgroundThread::StartDetached(const char* name, void (*body)(void*), void* argument) {
  pthread_t thread{};
  if (!Create(thread, std::make_unique<Task>(Task{name, body, argument, true}))) return false;
  pthread_detach(thread);
  return true;
}

bool BackgroundThread::Create(pthread_t& thread, std::unique_ptr<Task> task) {
  const Busy busy;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // The real one: our hook would keep the sampling signal out of the mask.
  using Mask = NextFunction<"pthread_sigmask", false, int, int, const sigset_t*, sigset_t*>;
  Mask::Get()(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  g_count.fetch_add(1, std::memory_order_relaxed);
  int error = pthread_create(&thread, &attributes, &Run, task.get());
  // Where the host's thread-local variables alone are larger.
  if (error == EINVAL) error = pthread_create(&thread, nullptr, &Run, task.get());
  pthread_attr_destroy(&attributes);
  Mask::Get()(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    g_count.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  static_cast<void>(task.release());  // NOLINT(bugprone-unused-return-value): the thread has it
  return true;
}

void BackgroundThread::Join() {
  if (!running()) return;
  pthread_join(thread_, nullptr);
  g_count.fetch_sub(1, std::memory_order_relaxed);
  running_.store(false);
}

std::int64_t BackgroundThread::CpuTime() const {
  clockid_t clock = 0;
  timespec used{};
  if (!running() || pthread_getcpuclockid(thread_, &clock) != 0 || clock_gettime(clock, &used) != 0)
    return 0;
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

}  // namespace wherefore::sdk
