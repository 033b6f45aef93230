#include "sdk/own_thread.h"

#include <csignal>
#include <ctime>

#include "sdk/next_function.h"
#include "sdk/thread_state.h"
#include "sdk/thread_registry.h"

namespace wherefore::sdk {

struct OwnThread::Task {
  ThreadRegistry* registry;
  void (*body)(void*);
  void* argument;
};

bool OwnThread::Start(ThreadRegistry& registry, const char* name, void (*body)(void*), void* argument) {
  const Busy busy;
  auto* start = new Task{.registry = &registry, .body = body, .argument = argument};
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // The real ones: ours would keep the sampling signal out of the mask, and count the thread.
  CallNext<"pthread_sigmask", int>(SIG_SETMASK, static_cast<const sigset_t*>(&all), &before);
  const int error = CallNext<"pthread_create", int>(
      &thread_, static_cast<const pthread_attr_t*>(nullptr), static_cast<void* (*)(void*)>([](void* given) -> void* {
        const Busy always;
        const Task mine = *static_cast<Task*>(given);
        delete static_cast<Task*>(given);
        mine.registry->EnterOwnThread();
        mine.body(mine.argument);
        mine.registry->LeaveThisThread();
        return nullptr;
      }),
      static_cast<void*>(start));
  CallNext<"pthread_sigmask", int>(SIG_SETMASK, static_cast<const sigset_t*>(&before), static_cast<sigset_t*>(nullptr));
  if (error != 0) {
    delete start;
    return false;
  }
  pthread_setname_np(thread_, name);
  running_ = true;
  return true;
}

void OwnThread::Join() {
  if (!running_) return;
  pthread_join(thread_, nullptr);
  running_ = false;
}

std::int64_t OwnThread::CpuTime() const {
  clockid_t clock = 0;
  timespec used{};
  if (!running_ || pthread_getcpuclockid(thread_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return (used.tv_sec * 1'000'000'000LL) + used.tv_nsec;
}

}  // namespace wherefore::sdk
