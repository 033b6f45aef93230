// OwnThread: a thread of the profiler inside the host program.
//
// Blocks all signals, so that none of the host's is ever delivered here; is listed as ours, so that
// it is not profiled; and its hooks are off. In a forked child it is simply not there (Forget).
#pragma once

#include <pthread.h>

#include <cstdint>

namespace wherefore::sdk {

class ThreadRegistry;

class OwnThread {
 public:
  // Runs `body(argument)`. False: the system gave no thread.
  bool Start(ThreadRegistry& registry, const char* name, void (*body)(void*), void* argument);
  // Waits for it to end.
  void Join();
  void Forget() { running_ = false; }
  [[nodiscard]] bool running() const { return running_; }
  // CPU time it has used so far, in nanoseconds.
  [[nodiscard]] std::int64_t CpuTime() const;

 private:
  struct Task;
  pthread_t thread_ = {};
  bool running_ = false;
};

}  // namespace wherefore::sdk
