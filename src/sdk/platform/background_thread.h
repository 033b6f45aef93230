// BackgroundThread: a thread of ours at the library's edge (exporter, pprof server, tracer).
//
// It blocks every signal before it runs its first instruction, so none meant for the host program
// is ever delivered to it. The collector learns of it through the two functions of SetThreadHooks,
// called on the thread itself, and then neither profile it nor count what it does. In a forked
// child it is simply not there (Forget).
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace wherefore::sdk {

// Either may be null. Set once, before the first thread starts.
void SetThreadHooks(void (*enter)(), void (*leave)());

class BackgroundThread {
 public:
  // Runs `body(argument)`; `name`, a constant of at most 15 characters. False: the system gave no
  // thread.
  [[nodiscard]] bool Start(const char* name, void (*body)(void*), void* argument);
  // The same for a thread that is never joined.
  [[nodiscard]] static bool StartDetached(const char* name, void (*body)(void*), void* argument);
  // Waits for it to end.
  void Join();
  void Forget() { running_.store(false); }
  // How many of them run in this process. A forked child has none: it calls ForgetAll().
  [[nodiscard]] static int count() { return g_count.load(std::memory_order_relaxed); }
  static void ForgetAll() { g_count.store(0, std::memory_order_relaxed); }
  // This and CpuTime() may be called while another thread starts it.
  [[nodiscard]] bool running() const { return running_.load(std::memory_order_acquire); }
  // CPU time it has used so far, in nanoseconds; 0 when it does not run.
  [[nodiscard]] std::int64_t CpuTime() const;

 private:
  struct Task;
  static void* Run(void* task);
  static bool Create(pthread_t& thread, std::unique_ptr<Task> task);
  static constinit std::atomic<int> g_count;

  pthread_t thread_ = {};
  std::atomic<bool> running_{false};  // then `thread_` is valid
};

}  // namespace wherefore::sdk
